package main

import (
	"context"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"gatewaytui/core/filter"
	"gatewaytui/core/lessons"
	"gatewaytui/core/ops"
	"gatewaytui/core/remote"
	"gatewaytui/views/lines"
)

func replayVerb(p *program) *cobra.Command {
	var speed float64
	c := p.verb(&cobra.Command{
		Use: "replay [LIFE]", Short: "play a past stop back from its report, at its own pace or faster; without LIFE the newest",
		Example: "  gatewaytui replay\n  gatewaytui replay --speed 10\n  gatewaytui replay 01M82PRSVP83AK7RCKRZWYF2M5 --speed 0",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if speed < 0 {
				return wrongUsage("give 1 for its own pace, 10 for ten times as fast, 0 for all at once", "--speed is %g", speed)
			}
			life := ""
			if len(args) > 0 {
				life = args[0]
			}
			past, err := p.pastStops(cmd, args, life)
			if err != nil {
				return err
			}
			return p.replay(cmd.Context(), past, speed)
		},
	})
	c.Flags().Float64Var(&speed, "speed", 1, "how many seconds of the stop go by in `N` seconds of now: 10 is ten times as fast, 0 waits for nothing")
	return c
}

// pastStops are the lives with a report of their stop, the one that is called life first, or the newest one.
func (p *program) pastStops(cmd *cobra.Command, args []string, life string) ([]ops.Life, error) {
	q := ops.Query{Limit: ops.DefaultLimit}
	if life != "" {
		q.Filter = "life:" + filter.Quote(life)
	}
	var page ops.Page[ops.Life]
	err := p.asking(func(ctx context.Context, g *remote.Gateway, _ []string) (err error) {
		page, err = g.History(ctx, q)
		return err
	})(cmd, args)
	if past, down := p.past(err); err != nil && down {
		page, err = past.Page(q)
		for _, t := range past.Problems() {
			p.note("warning: %s", t)
		}
	}
	if err != nil {
		return nil, err
	}
	for i, l := range page.Items {
		if l.Shutdown != nil && l.Outcome != ops.OutcomeRunning {
			return page.Items[i:], nil
		}
	}
	what := "no life of this home"
	if life != "" {
		what = "no life that matches " + life
	}
	return nil, &ops.Error{Code: ops.CodeNotFound, Message: what + " left a report of its stop", Hint: "`gatewaytui history` lists the lives"}
}

// replay plays back the stop of the first of some lives until a signal ends it.
func (p *program) replay(ctx context.Context, past []ops.Life, speed float64) error {
	ctx, release := signal.NotifyContext(ctx, os.Interrupt)
	defer release()
	s := *past[0].Shutdown
	began := time.Now()
	wait := func(at time.Duration) error {
		if speed <= 0 {
			return ctx.Err()
		}
		select {
		case <-time.After(time.Until(began.Add(time.Duration(float64(at) / speed)))):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if p.asJSON() {
		for _, at := range s.Moments() {
			if wait(at) != nil {
				return nil
			}
			p.writeJSON(p.out, s.At(at))
		}
		return nil
	}
	p.note("REPLAY of the stop of life %s, began %s; ctrl+c ends", past[0].Life, s.StartedAt.Local().Format(time.DateTime))
	if err := p.lines().Replay(s, wait); err != nil {
		return nil // it was ended by hand
	}
	p.say("stopped     %s", lines.Stopped(s, s.ExitCode))
	p.lines().Lessons(s, lessons.Before(past[0].Life, past)...)
	return nil
}
