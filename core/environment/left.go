package environment

import (
	"context"
	"sync"

	"gatewaytui/core/ops"
)

// Leaver is a Driver whose environments may outlive a failed close, or the gateway, such as containers. It removes them itself.
type Leaver interface {
	Driver
	// Recover lists what earlier lives left, and begins to remove it. It is called once, at the start, and returns when ctx ends.
	Recover(ctx context.Context)
	// Left are the environments that no session holds and that may still exist. It does no I/O.
	Left() []ops.Environment
}

// recover lets the drivers find what earlier lives left, also those of kinds that the config does not have any more.
func (s *Set) recover() {
	for _, p := range s.probes {
		if l, is := p.driver.(Leaver); is {
			s.tasks.Go(func() { l.Recover(s.ctx) })
		}
	}
}

// Left are the environments that no session holds and that may still exist, driver by driver. It does no I/O.
func (s *Set) Left() (all []ops.Environment) {
	for _, p := range s.probes {
		if l, is := p.driver.(Leaver); is {
			all = append(all, l.Left()...)
		}
	}
	return all
}

// Settle closes again what could not be closed before: a driver that removed something later calls it, so that its row goes. It returns when
// ctx ends.
func (s *Set) Settle(ctx context.Context) {
	var failed []*held
	s.mu.Lock()
	for _, h := range s.leaving {
		if h.state == ops.EnvironmentCloseFailed {
			failed = append(failed, h)
		}
	}
	s.mu.Unlock()
	var wg sync.WaitGroup
	for _, h := range failed {
		wg.Go(func() { _ = s.closeOne(ctx, h) }) // its row has the error
	}
	wg.Wait()
}
