package main

import (
	"context"

	"github.com/spf13/cobra"

	"gatewaytui/core/ops"
	"gatewaytui/core/remote"
)

func planVerb(p *program) *cobra.Command {
	c := p.verb(&cobra.Command{
		Use: "plan", Short: "show the shutdown as it would run now: phases, worst case, and whether it fits the service manager's limit",
		Example: "  gatewaytui plan\n  gatewaytui plan --json | jq .worst_case_ms",
		RunE: p.asking(func(ctx context.Context, g *remote.Gateway, _ []string) error {
			plan, err := g.Plan(ctx)
			if err != nil {
				return err
			}
			if p.json {
				p.writeJSON(p.out, plan)
				return nil
			}
			p.showPlan(plan)
			return nil
		}),
	})
	p.tableFlag(c)
	return c
}

var planColumns = []column[ops.PlanPhase]{
	{"PHASE", func(r ops.PlanPhase) string { return r.Name }, 0},
	{"AT MOST", func(r ops.PlanPhase) string { return millis(r.BudgetMS) }, 1},
	{"CRITICAL", func(r ops.PlanPhase) string { return yes(r.Critical) }, 3},
	{"SET BY", func(r ops.PlanPhase) string { return r.Bound }, 2},
}

func (p *program) showPlan(plan ops.Plan) {
	p.hidden(table(p, p.out, planColumns, plan.Phases))
	p.say("")
	p.say("worst case  %s, %s of it for running turns", millis(plan.WorstCaseMS), millis(plan.DrainMS))
	switch {
	case plan.SupervisorBudgetMS == 0:
		p.say("limit       none known: no service manager told one (shutdown.supervisor_budget sets it)")
	case plan.Fits:
		p.say("limit       %s: it fits", millis(plan.SupervisorBudgetMS))
	default:
		p.say("limit       %s: it does NOT fit; the service manager would kill the gateway before it is done", millis(plan.SupervisorBudgetMS))
	}
	for _, s := range plan.Shrunk {
		p.say("shortened   %s to %s, the config asks for %s", s.Name, millis(s.GotMS), millis(s.WantedMS))
	}
}
