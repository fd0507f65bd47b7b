package environment

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"gatewaytui/core/bound"
)

// probe is what is known of one driver. detail, err and took are written before done is closed.
type probe struct {
	driver Driver
	begin  sync.Once
	done   chan struct{}
	detail string
	err    error
	took   time.Duration
}

// run asks the driver. A driver that hangs or panics has failed.
func (p *probe) run(ctx context.Context) {
	defer close(p.done)
	began := time.Now()
	detail, abandoned, err := bound.Call(ctx, probeMost, p.driver.Probe, nil)
	p.detail, p.err, p.took = detail, err, time.Since(began)
	if abandoned {
		p.err = fmt.Errorf("its probe did not end within %v", probeMost)
	}
}

// Finding is the result of the probe of one kind, for doctor, the status and the log.
type Finding struct {
	Kind Kind
	// Detail is what was found; Err is why the kind does not work here; nil: it works.
	Detail string
	Err    error
	// Took is how long the probe took.
	Took time.Duration
}

// Findings probes every kind and returns the results, in the order of the drivers. It fails when ctx ends.
func (s *Set) Findings(ctx context.Context) ([]Finding, error) {
	for _, p := range s.probes {
		s.probe(p)
	}
	var all []Finding
	for _, p := range s.probes {
		if err := p.wait(ctx); err != nil {
			return nil, err
		}
		all = append(all, Finding{p.driver.Kind(), p.detail, p.err, p.took})
	}
	return all, nil
}

// probe begins a probe, once.
func (s *Set) probe(p *probe) {
	p.begin.Do(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.closed {
			p.err = ErrClosed
			close(p.done)
			return
		}
		s.tasks.Go(func() { p.run(s.ctx) })
	})
}

func (p *probe) wait(ctx context.Context) error {
	select {
	case <-p.done: // also when ctx has ended
		return nil
	default:
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the probe of %s: %w", p.driver.Kind(), context.Cause(ctx))
	}
}

// works waits for the probe of kind and returns why the kind cannot be used; nil: it can.
func (s *Set) works(ctx context.Context, kind Kind) error {
	if kind == KindLocal {
		return nil
	}
	for _, p := range s.probes {
		if p.driver.Kind() != kind {
			continue
		}
		s.probe(p)
		if err := p.wait(ctx); err != nil {
			return err
		}
		return p.err
	}
	return fmt.Errorf("this program has no environment of the kind %s", kind)
}

// Resolve says where the commands of an agent run. It waits for the probes of the kinds that the agent's definition may mean. The error says why the agent's
// commands are refused, and what to do.
func (s *Set) Resolve(ctx context.Context, agent string) (Place, error) {
	return s.resolve(ctx, s.definition(agent))
}

func (s *Set) resolve(ctx context.Context, def Definition) (Place, error) {
	at := func(kind Kind, why error) (Place, error) {
		place := Place{Name: def.Name, Kind: kind}
		if why != nil {
			place.Why = why.Error()
		}
		return place, nil
	}
	first := def.Kind
	if def.Kind == KindAuto {
		first = KindSandbox
	}
	why := s.works(ctx, first)
	if why == nil || ctx.Err() != nil {
		place, _ := at(first, nil)
		return place, why
	}
	if def.Kind == KindAuto || def.Kind == KindSandbox && def.Fallback {
		partial := s.works(ctx, KindPartial)
		if partial == nil {
			return at(KindPartial, why)
		}
		if def.Kind == KindAuto {
			return at(KindLocal, fmt.Errorf("%w; %w", why, partial))
		}
		why = fmt.Errorf("%w; its fallback: %w", why, partial)
	}
	return Place{Name: def.Name, Kind: first}, fmt.Errorf("the environment %q cannot be used here: %w", cmp.Or(def.Name, string(first)), why)
}
