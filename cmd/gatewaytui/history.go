package main

import (
	"github.com/spf13/cobra"

	"gatewaytui/core/control"
	"gatewaytui/core/filter"
	"gatewaytui/core/ops"
	"gatewaytui/views/lines"
)

func historyVerb(p *program) *cobra.Command {
	var shutdowns bool
	c := listing[ops.Life]{
		use: "history", short: "list the past lives, newest first, and how each ended",
		example: "  gatewaytui history\n  gatewaytui history --shutdowns --limit 1\n  gatewaytui history --filter crashed",
		ask:     (*control.Client).History, fields: filter.Lives,
		columns: lines.Lives,
		down: func(err error, q ops.Query) (page ops.Page[ops.Life], answered bool, _ error) {
			past, ok := p.past(err)
			if !ok {
				return page, false, nil
			}
			page, err = past.Page(q)
			if !p.json {
				p.note("no gateway runs here; this is read from the home's files")
			}
			for _, t := range past.Problems() {
				p.note("warning: %s", t)
			}
			return page, true, err
		},
		show: func(lives []ops.Life) bool {
			if shutdowns {
				p.lines().Shutdowns(lives)
			}
			return shutdowns
		},
	}.verb(p)
	c.Flags().BoolVar(&shutdowns, "shutdowns", false, "show each life's shutdown with its phases and what overran")
	return c
}
