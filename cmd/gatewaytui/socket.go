package main

import (
	"context"
	"log/slog"

	"gatewaytui/core/control"
	"gatewaytui/core/term"
)

// socket is the control server while it serves.
type socket struct {
	cancel context.CancelFunc
	served chan struct{}
}

// serve makes the socket and answers it until close.
func (s *socket) serve(opts control.Options, log *slog.Logger) error {
	server := control.NewServer(opts)
	if err := server.Listen(); err != nil {
		return err
	}
	// Its end is a step of the shutdown plan, and of no other context.
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel, s.served = cancel, make(chan struct{})
	go func() {
		defer close(s.served)
		if err := server.Serve(ctx); err != nil {
			log.Warn("control socket", "error", term.Clean(err.Error(), maxLine))
		}
	}()
	return nil
}

// close ends the server and waits for it, or for ctx. It may be called more than once.
func (s *socket) close(ctx context.Context) error {
	if s.cancel == nil {
		return nil
	}
	s.cancel()
	select {
	case <-s.served:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
