package main

import (
	"log/slog"
	"time"

	"gatewaytui/core/adapter/api"
	"gatewaytui/core/config"
	"gatewaytui/core/control"
	"gatewaytui/core/gateway"
	"gatewaytui/core/ops"
)

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

// state is where it listens, and what is wrong with it.
func (s *scraper) state() (addr string, trouble ops.Warning) {
	trouble, _ = s.scrape.Warning()
	return s.scrape.Addr(), trouble
}
