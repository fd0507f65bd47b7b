package host

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"gatewaytui/core/adapter/api"
	"gatewaytui/core/config"
	"gatewaytui/core/control"
	"gatewaytui/core/gateway"
	"gatewaytui/core/term"
)

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
			log.Warn("control socket", "error", term.Clean(err.Error(), maxLine))
		}
	})
	return nil
}

// scraper is the metrics listener of [metrics]. Its zero value is one that is not configured.
type scraper struct {
	serving
	scrape *control.Scrape
}

// serve listens as c says, until close. key is the one of the api adapter, and guard its bound on guesses.
func (s *scraper) serve(g *gateway.Gateway, c config.Metrics, key string, guard *api.Guard, log *slog.Logger) {
	if c.Listen == "" {
		return
	}
	s.scrape = control.NewScrape(control.ScrapeOptions{
		Console: g, Gatherer: g.Metrics(), Listen: c.Listen, Key: key, Log: log,
		OwnHost: func(host string) bool { return api.OwnHost(host, c.Listen) },
		Slow: func(from, key string, right bool) time.Duration {
			return guard.Check(api.SourceOf(from), key, right, time.Now())
		},
	})
	s.begin(s.scrape.Run)
}
