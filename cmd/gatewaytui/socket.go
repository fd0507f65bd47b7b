package main

import (
	"context"
	"log/slog"
	"sync/atomic"

	"gatewaytui/core/control"
	"gatewaytui/core/term"
	"gatewaytui/views/lines"
)

// socket is the control server while it serves.
type socket struct {
	serving
	server atomic.Pointer[control.Server] // from when it listens
}

// used is how many connections the socket has.
func (s *socket) used() int64 {
	if server := s.server.Load(); server != nil {
		return int64(server.Used())
	}
	return 0
}

// serve makes the socket and answers it until close.
func (s *socket) serve(opts control.Options, log *slog.Logger) error {
	server := control.NewServer(opts)
	if err := server.Listen(); err != nil {
		return err
	}
	s.server.Store(server)
	s.begin(func(ctx context.Context) {
		if err := server.Serve(ctx); err != nil {
			log.Warn("control socket", "error", term.Clean(err.Error(), lines.MaxLine))
		}
	})
	return nil
}
