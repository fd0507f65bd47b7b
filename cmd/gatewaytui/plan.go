package main

import (
	"context"

	"github.com/spf13/cobra"

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
			p.lines().Plan(plan)
			return nil
		}),
	})
	p.tableFlag(c)
	return c
}
