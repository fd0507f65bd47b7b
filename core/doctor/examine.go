package doctor

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/platforms"
)

// examineBound is how long a platform may take to answer doctor.
const examineBound = 4 * time.Second

// examined is what came of asking a platform.
type examined struct {
	findings []adapter.Finding
	err      error
}

// examine asks the enabled chat platforms about their settings, side by side.
func (c *checkup) examine(ctx context.Context) {
	made := platforms.Of(c.loaded.Config.Adapters, c.loaded.Config.Credentials(c.o.Getenv))
	results := make([]examined, len(made))
	ctx, cancel := context.WithTimeout(ctx, examineBound)
	defer cancel()
	var asked sync.WaitGroup
	for i, m := range made {
		if m.Err != nil {
			continue // the check of credentials has said so
		}
		if p, is := m.New(platforms.Host{Log: slog.New(slog.DiscardHandler)}).(adapter.Examiner); is {
			asked.Go(func() { results[i].findings, results[i].err = p.Examine(ctx) })
		}
	}
	asked.Wait() // each ends with ctx
	for i, m := range made {
		for _, f := range results[i].findings {
			if f.Fix == "" {
				c.ok("%s: %s", m.Name, f.Text)
				continue
			}
			c.warn(f.Fix, "%s: %s", m.Name, f.Text)
		}
		if err := results[i].err; err != nil {
			fix := "look whether this machine reaches it, and at its page of status"
			if _, refused := errors.AsType[*adapter.CredentialsError](err); refused {
				fix = "make a new credential and set it where the gateway is started"
			}
			c.warn(fix, "%s could not be asked: %v", m.Name, err)
		}
	}
}
