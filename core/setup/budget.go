package setup

import (
	"context"
	"strconv"
	"strings"
)

// maxMoney bounds a limit of a budget, as the config does.
const maxMoney = 1e12

// askBudget asks what a day may cost.
func (s *setup) askBudget(ctx context.Context) error {
	if s.result.Scripted {
		s.say("  A script costs nothing.")
		return nil
	}
	c := s.now.Config
	name := c.Agent.Budget
	b := c.BudgetsByName()[name]
	if b == nil {
		return nil
	}
	s.say("  A turn stops at %s %s, and a day at %d tokens of models whose price is not known.", money(b.PerTurn), shown(c.Budget.Currency), b.TokensPerDay)
	for {
		line, err := s.ask(ctx, "most for a day, in "+shown(c.Budget.Currency)+" (0: no limit)", money(b.PerDay))
		if err != nil {
			return err
		}
		n, err := strconv.ParseFloat(strings.Replace(line, ",", ".", 1), 64)
		if err != nil || !(n >= 0 && n <= maxMoney) {
			s.say("  Type an amount, such as 5 or 2.50.")
			continue
		}
		if n != b.PerDay {
			s.set(n, "budgets", name, "per_day")
		}
		if n > 0 && b.PerMonth > 0 && n > b.PerMonth {
			s.say("  A month stops at %s in any case (budgets.%s.per_month).", money(b.PerMonth), shown(name))
		}
		return nil
	}
}

func money(n float64) string { return strconv.FormatFloat(n, 'f', 2, 64) }
