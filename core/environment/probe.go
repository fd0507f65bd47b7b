package environment

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"gatewaytui/core/bound"
)

// probe is what is known of one driver. err is written before done is closed.
type probe struct {
	driver Driver
	begin  sync.Once
	done   chan struct{}
	err    error
}

// run asks the driver. A driver that hangs or panics has failed.
func (p *probe) run(ctx context.Context) {
	defer close(p.done)
	_, abandoned, err := bound.Call(ctx, probeMost, p.driver.Probe, nil)
	if p.err = err; abandoned {
		p.err = fmt.Errorf("its probe did not end within %v", probeMost)
	}
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
	return s.resolve(ctx, s.setup.Load().definition(agent))
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
