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

const (
	// statusEvery is how often a gateway is asked whether it still stops.
	statusEvery = 500 * time.Millisecond
	// lastMoments bounds the wait for a process whose control socket is closed. What is left of it is its last lines of log and
	// of its report.
	lastMoments = 10 * time.Second
	// lastWord bounds the wait for the report of a process of which it cannot be told whether it has ended.
	lastWord = time.Second
)

// Over reports whether the life answers no more, given the error of the last request to it: no process answers, or another life
// does. Otherwise settled says what became of the request; nil: the life answers.
func (g *Gateway) Over(ctx context.Context, life string, err error) (over bool, settled error) {
	now, settled := g.Settle(ctx, err)
	return Gone(settled) || now != "" && now != life || settled != nil && !Unreachable(settled) && ops.HasCode(settled, ops.CodeUnavailable), settled
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

// hasEnded reports whether the process of the life has ended. Where that cannot be told, its pid file tells that it is about to:
// that is removed with the lock, a moment before the report is complete.
func (g *Gateway) hasEnded(life string) bool {
	if alive, known := instance.Alive(g.Found.Record); known {
		return !alive
	}
	now, err := instance.Locate(g.Home)
	return err != nil || now.Record.Life != life
}

// FinalReport is the report of the stop of a life that has ended, as far as the life wrote it; false if there is none. A report
// that cannot be read counts as none: the next start tells of it.
func (g *Gateway) FinalReport(life string) (report ops.Shutdown, found bool) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	report, found, _ = g.reports().ReadReport(life)
	for began := time.Now(); report.EndedAt.IsZero() && !g.Ended() && time.Since(began) < lastWord; {
		<-look.C
		report, found, _ = g.reports().ReadReport(life)
	}
	return report, found
}

// reports are the files of the home's folder dumps, to read them.
func (g *Gateway) reports() lives.Files { return lives.Files{Dir: filepath.Join(g.Home, "dumps")} }
