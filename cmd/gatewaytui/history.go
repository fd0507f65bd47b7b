package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"gatewaytui/core/control"
	"gatewaytui/core/ops"
)

func historyVerb(p *program) *cobra.Command {
	var shutdowns bool
	c := listing[ops.Life]{
		use: "history", short: "list the past lives, newest first, and how each ended",
		example: "  gatewaytui history\n  gatewaytui history --shutdowns --limit 1",
		ask:     (*control.Client).History,
		columns: []column[ops.Life]{
			{"LIFE", func(r ops.Life) string { return r.Life }},
			{"STARTED", func(r ops.Life) string { return moment(r.StartedAt) }},
			{"LASTED", lasted},
			{"OUTCOME", func(r ops.Life) string { return words(r.Outcome) }},
			{"PHASE", func(r ops.Life) string { return r.Phase }},
			{"OVERRAN", func(r ops.Life) string { return overran(r.Shutdown) }},
			{"BY", func(r ops.Life) string { return r.By }},
			{"REASON", func(r ops.Life) string { return r.Reason }},
		},
		show: func(lives []ops.Life) bool {
			if shutdowns {
				p.showShutdowns(lives)
			}
			return shutdowns
		},
	}.verb(p)
	c.Flags().BoolVar(&shutdowns, "shutdowns", false, "show each life's shutdown with its phases and what overran")
	return c
}

func lasted(l ops.Life) string {
	switch {
	case l.Outcome == ops.OutcomeRunning:
		return ago(l.StartedAt)
	case l.EndedAt.IsZero():
		return ""
	}
	return age(l.EndedAt.Sub(l.StartedAt.Time))
}

// overran counts the phases that were cut off at their budget.
func overran(s *ops.Shutdown) string {
	if s == nil {
		return ""
	}
	n := 0
	for _, ph := range s.Phases {
		if ph.State == ops.StepTimedOut {
			n++
		}
	}
	return fmt.Sprintf("%d of %d", n, len(s.Phases))
}

func (p *program) showShutdowns(lives []ops.Life) {
	for i, l := range lives {
		if i > 0 {
			p.say("")
		}
		p.say("life        %s, %s, from %s to %s", l.Life, words(l.Outcome), moment(l.StartedAt), or(moment(l.EndedAt), "now"))
		switch {
		case l.Shutdown != nil:
			p.showShutdown(*l.Shutdown)
		case l.Outcome == ops.OutcomeRunning:
			p.say("shutdown    none yet")
		default:
			p.say("shutdown    no report: it never began one, or was ended before the first phase")
		}
	}
}
