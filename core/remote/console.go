package remote

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"gatewaytui/core/instance"
	"gatewaytui/core/lives"
	"gatewaytui/core/ops"
)

// Console is the gateway for a console that stays when the gateway has ended: then the report of its stop is read from the home,
// where it is complete.
type Console struct{ *Gateway }

// Shutdown implements ops.Console. Once the gateway has left the socket it waits until the report on disk is complete,
// which is a moment later, or until ctx or lastWord ends.
func (o Console) Shutdown(ctx context.Context) (ops.Shutdown, error) {
	s, err := o.Gateway.Shutdown(ctx)
	if !Unreachable(err) {
		return s, err
	}
	if report, found := o.lastReport(ctx); found {
		return report, nil
	}
	return s, err
}

// lastReport is the report of the life that answered last; false if it left none, or one that is not complete.
func (o Console) lastReport(ctx context.Context) (ops.Shutdown, bool) {
	report, found := o.report(ctx, o.Life(), func() bool { return false })
	return report, found && !report.EndedAt.IsZero()
}

// Complete is the report of the stop that a console saw, with all that the gateway wrote of it.
func (o Console) Complete(seen ops.Shutdown) ops.Shutdown {
	if report, found := o.lastReport(context.Background()); found && report.ID == seen.ID {
		return report
	}
	return seen
}

const (
	// statusEvery is how often a gateway is asked whether it still stops.
	statusEvery = 500 * time.Millisecond
	// lastMoments bounds the wait for a process whose control socket is closed. What is left of it is its last lines of log and
	// of its report.
	lastMoments = 10 * time.Second
	// lastWord bounds the wait for the report of a process that may have ended or not.
	lastWord = time.Second
)

// Over reports whether the life answers no more, given the error of the last request to it: no process answers, or another life
// does. Otherwise now says what became of the request; nil: the life answers.
func (g *Gateway) Over(ctx context.Context, life string, err error) (over bool, now error) {
	answers, now := g.Recheck(ctx, err)
	return Gone(now) || answers != "" && answers != life || now != nil && !Unreachable(now) && ops.HasCode(now, ops.CodeUnavailable), now
}

// AwaitOver asks for the status of the life until it answers no more, or until ctx ends.
func (g *Gateway) AwaitOver(ctx context.Context, life string) error {
	look := time.NewTicker(statusEvery)
	defer look.Stop()
	for {
		s, err := g.Status(ctx)
		over := err == nil && s.Life != life
		if err != nil {
			over, err = g.Over(ctx, life, err)
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case over:
			return nil
		case err != nil:
			return err
		}
		select {
		case <-look.C:
		case <-ctx.Done():
		}
	}
}

// AwaitEnd waits until the process of a life whose control socket is closed has ended. A process that lives for lastMoments
// more is an error.
func (g *Gateway) AwaitEnd(ctx context.Context, life string) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for began := time.Now(); !g.hasEnded(life); {
		select {
		case <-look.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if time.Since(began) > lastMoments {
			return &ops.Error{
				Code:    ops.CodeInternal,
				Message: fmt.Sprintf("the control socket is closed, and pid %d still lives %s later", g.Found.Record.PID, lastMoments),
				Hint:    fmt.Sprintf("kill -QUIT %d writes why into dumps/", g.Found.Record.PID),
			}
		}
	}
	return nil
}

// hasEnded reports whether the process of the life has ended. Where that is unknown, its pid file tells that it is about to:
// that is removed with the lock, a moment before the report is complete.
func (g *Gateway) hasEnded(life string) bool {
	if alive, known := instance.Alive(g.Found.Record); known {
		return !alive
	}
	now, err := instance.Locate(g.Home)
	return err != nil || now.Record.Life != life
}

// FinalReport is the report of the stop of a life that has ended, as far as the life wrote it; false if there is none.
func (g *Gateway) FinalReport(life string) (report ops.Shutdown, found bool) {
	return g.report(context.Background(), life, g.Ended)
}

// Earlier are the reports of the stops before that of life, newest first, at most so many, from the files of the home.
func (g *Gateway) Earlier(life string, most int) []ops.Shutdown {
	return lives.Files{Dir: filepath.Join(g.Home, "dumps")}.Earlier(life, most)
}

// report reads the report of the life's stop until it is complete, until nothing is added any more, or until ctx or lastWord ends.
// A report that cannot be read counts as none: the next start tells of it.
func (g *Gateway) report(ctx context.Context, life string, noMore func() bool) (report ops.Shutdown, found bool) {
	ctx, cancel := context.WithTimeout(ctx, lastWord)
	defer cancel()
	files := lives.Files{Dir: filepath.Join(g.Home, "dumps")}
	for {
		last := noMore()
		report, found, err := files.ReadReport(life)
		if last || err != nil || !report.EndedAt.IsZero() {
			return report, found
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return report, found
		}
	}
}
