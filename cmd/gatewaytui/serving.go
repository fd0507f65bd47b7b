package main

import "context"

// serving is a goroutine that serves until a step of the shutdown plan closes it. Its zero value was never begun.
type serving struct {
	cancel context.CancelFunc
	ended  chan struct{}
}

// begin runs serve, whose context ends with close and with no other context.
func (s *serving) begin(serve func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel, s.ended = cancel, make(chan struct{})
	go func() {
		defer close(s.ended)
		serve(ctx)
	}()
}

// close ends it and waits for it, or for ctx. It may be called more than once.
func (s *serving) close(ctx context.Context) error {
	if s.cancel == nil {
		return nil
	}
	s.cancel()
	select {
	case <-s.ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
