package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gatewaytui/core/control"
	"gatewaytui/core/ops"
	"gatewaytui/core/remote"
	"gatewaytui/views/lines"
)

func usageVerb(p *program) *cobra.Command {
	var q ops.UsageQuery
	c := p.verb(&cobra.Command{
		Use: "usage", Short: "show what model calls used and cost, by day, agent, person, model or session",
		Example: "  gatewaytui usage\n  gatewaytui usage --by model --since 2026-11-01\n  gatewaytui usage --by person --json | jq '.items[].cost'",
	})
	c.RunE = p.asking(func(ctx context.Context, g *remote.Gateway, _ []string) error {
		page, err := g.Usage(ctx, q)
		if err != nil {
			return err
		}
		p.show(page, func() { p.lines().Hidden(lines.Table(p.lines(), lines.Usage, page.Items)) })
		return nil
	})
	p.tableFlag(c)
	c.Flags().StringVar(&q.By, "by", "", "`GROUP` of the rows: "+strings.Join(ops.UsageGroups, ", ")+" (default day)")
	c.Flags().StringVar(&q.Since, "since", "", "from this `DATE` on, such as 2026-11-22 (default: the first day of the month)")
	return c
}

// budgetsVerb shows the budgets, and raises one.
func budgetsVerb(p *program) *cobra.Command {
	c := p.verb(&cobra.Command{
		Use: "budgets", Short: "show the budgets: what is spent and reserved of each limit, and when it renews",
		Example: "  gatewaytui budgets\n  gatewaytui budgets raise default --by 5 --until 18:00",
		RunE:    showing(p, (*remote.Gateway).Budgets, lines.Printer.Budgets),
	})
	p.tableFlag(c)
	return below(p, "budgets", c)
}

// raiseFlags are the flags that say by how much a budget is raised, and until when.
func raiseFlags(f *pflag.FlagSet, r *request) {
	f.StringVar(&r.Amount, "by", "", "how much more: `N` as money, such as 2.50, or as tokens, such as 500000tokens")
	f.StringVar(&r.Until, "until", "", "when it ends: a `TIME` such as 18:00, 2026-11-22 or 2h (default: the end of the day)")
}

// readRaise wants --by.
func readRaise(_ *program, r *request, args []string) error {
	if r.Target = args[0]; r.Amount == "" {
		return wrongUsage("gatewaytui budgets raise "+r.Target+" --by 5", "--by is missing")
	}
	return nil
}

func budgetNames(ctx context.Context, g *control.Client, _ *cobra.Command) (names []cobra.Completion) {
	page, err := g.Budgets(ctx)
	if err != nil {
		return nil
	}
	for _, b := range page.Items {
		names = append(names, offer(b.Name, b.Currency))
	}
	return names
}
