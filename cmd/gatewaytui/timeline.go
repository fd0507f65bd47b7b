package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gatewaytui/core/ops"
	"gatewaytui/core/remote"
	"gatewaytui/tui/console"
	"gatewaytui/views"
)

// plainColumns is how wide bars are drawn where nothing says how wide the output is.
const plainColumns = 120

func timelineVerb(p *program) *cobra.Command {
	var turn string
	c := p.verb(&cobra.Command{
		Use: "timeline KEY", Short: "show what a session's running or last turn did, and where its time and money went",
		Example: "  gatewaytui timeline telegram:dm:4711\n  gatewaytui timeline cli:local --turn 01K9Z3\n  gatewaytui timeline cli:local --json | jq '.items[] | select(.kind == \"tool\")'",
		Long: `Draws the calls of a turn as bars on one axis: of models and tools, the waits, what a person was asked. KEY may be the id
of an earlier conversation. --turn takes the id of a turn, of which the end is enough if it is one of the last 100.`,
		Args: arguments("KEY"),
	})
	c.RunE = p.asking(func(ctx context.Context, g *remote.Gateway, args []string) error {
		t, err := timelineOf(ctx, g, args[0], turn)
		if err != nil {
			return err
		}
		p.show(t, func() {
			currency := ""
			if s, err := g.Status(ctx); err == nil && len(s.Budgets) > 0 { // without it the amount stands alone
				currency = s.Budgets[0].Currency
			}
			w := p.columns
			if w == 0 {
				w = plainColumns
			}
			for _, line := range views.TurnLines(views.Opts{Now: time.Now(), ASCII: !console.UnicodeLocale(p.getenv)}, t, currency, w, 0, true) {
				fmt.Fprintln(p.out, strings.TrimRight(line, " "))
			}
		})
		return nil
	})
	c.Flags().StringVar(&turn, "turn", "", "the turn with the id `TURN`; without it the running or last one")
	return c
}

// timelineOf is the timeline of a turn of a session: of the newest one, or of the one whose id ends so.
func timelineOf(ctx context.Context, g *remote.Gateway, key, turn string) (ops.Timeline, error) {
	page, err := g.Turns(ctx, key, ops.Query{})
	if err != nil {
		return ops.Timeline{}, err
	}
	if turn == "" {
		if len(page.Items) == 0 {
			return ops.Timeline{}, &ops.Error{Code: ops.CodeNotFound, Message: key + " has had no turn yet"}
		}
		turn = page.Items[0].ID
	}
	for _, t := range page.Items {
		if len(turn) >= 4 && strings.HasSuffix(t.ID, turn) {
			turn = t.ID
		}
	}
	return g.Timeline(ctx, turn)
}
