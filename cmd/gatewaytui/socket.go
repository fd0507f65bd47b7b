package main

import (
	"context"
	"log/slog"

	"gatewaytui/core/control"
	"gatewaytui/core/term"
)

// socket is the control server while it serves.
type socket struct{ serving }

// serve makes the socket and answers it until close.
func (s *socket) serve(opts control.Options, log *slog.Logger) error {
	server := control.NewServer(opts)
	if err := server.Listen(); err != nil {
		return err
	}
	s.begin(func(ctx context.Context) {
		if err := server.Serve(ctx); err != nil {
			log.Warn("control socket", "error", term.Clean(err.Error(), maxLine))
		}
	})
	return nil
}
