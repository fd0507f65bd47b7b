package main

import (
	"context"
	"log/slog"

	"gatewaytui/core/adapter/api"
	"gatewaytui/core/config"
	"gatewaytui/core/control"
	"gatewaytui/core/gateway"
	"gatewaytui/core/ops"
)

// scraper is the metrics listener of [metrics]. Its zero value is one that is not configured.
type scraper struct {
	scrape *control.Scrape
	cancel context.CancelFunc
	ended  chan struct{}
}

// serve listens as c says, until close. key is the one of the api adapter.
func (s *scraper) serve(g *gateway.Gateway, c config.Metrics, key string, log *slog.Logger) {
	if c.Listen == "" {
		return
	}
	s.scrape = control.NewScrape(control.ScrapeOptions{
		Console: g, Gatherer: g.Metrics(), Listen: c.Listen, Key: key, Log: log,
		OwnHost: func(host string) bool { return api.OwnHost(host, c.Listen) },
	})
	// Its end is a step of the shutdown plan, and of no other context.
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel, s.ended = cancel, make(chan struct{})
	go func() {
		defer close(s.ended)
		s.scrape.Run(ctx)
	}()
}

// state is where it listens, and what is wrong with it.
func (s *scraper) state() (addr string, trouble ops.Warning) {
	trouble, _ = s.scrape.Warning()
	return s.scrape.Addr(), trouble
}

// close ends the listener and waits for it, or for ctx. It may be called more than once.
func (s *scraper) close(ctx context.Context) error {
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
