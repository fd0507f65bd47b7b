package main

import (
	"cmp"
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"gatewaytui/core/follow"
	"gatewaytui/core/ops"
	"gatewaytui/core/remote"
	"gatewaytui/views/lines"
)

func watchVerb(p *program) *cobra.Command {
	var after uint64
	c := p.verb(&cobra.Command{
		Use: "watch", Short: "follow events and shutdown phases as lines, until interrupted or until the gateway is gone",
		Example: "  gatewaytui watch\n  gatewaytui watch --json | jq -r .type",
	})
	c.RunE = p.asking(func(ctx context.Context, g *remote.Gateway, _ []string) error {
		ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
		return p.watch(ctx, g, after, c.Flags().Changed("after"))
	})
	c.Flags().Uint64Var(&after, "after", 0, "start after event `N` (0: the oldest kept; default: new events only)")
	return c
}

// watch prints events until ctx ends or the gateway does; both are its purpose and no failure.
func (p *program) watch(ctx context.Context, g *remote.Gateway, after uint64, given bool) error {
	s, err := g.Snapshot(ctx)
	if err != nil {
		return err
	}
	if !given {
		after = s.Seq
	}
	p.note("following %s, ctrl+c ends", s.Home)
	f := follow.Start(ctx, g, after)
	defer f.Close()
	f.Stopping = s.State == ops.StateStopping
	err = f.Each(ctx, func(ev ops.Event) {
		if p.json {
			p.writeJSON(p.out, ev)
			return
		}
		line, ok := lines.ShutdownEvent(ev)
		if !ok {
			line = cmp.Or(ev.Subject, "-")
			if ev.Text != "" {
				line += "  " + ev.Text
			}
		}
		p.say("%s  %-24s  %s", ev.At.Local().Format("15:04:05.000"), string(ev.Type), line)
	}, p.waits())
	life, settled := g.Settle(ctx, err)
	switch {
	case err == nil || ctx.Err() != nil:
		return nil
	case remote.Gone(settled):
		p.note("the gateway is gone")
		return nil
	case life != "" && life != s.Life, !remote.Unreachable(err) && ops.HasCode(err, ops.CodeUnavailable):
		p.note("the gateway is gone; another life of it answers now")
		return nil
	}
	return err
}
