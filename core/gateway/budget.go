package gateway

import (
	"time"

	"gatewaytui/core/budget"
	"gatewaytui/core/config"
	"gatewaytui/core/ops"
)

// newBudget is the budgets of the config. What they say goes to the log, to operators, and to the chat whose conversation or person
// it is about.
func (g *Gateway) newBudget() *budget.Ledger {
	cfg := g.config()
	return budget.New(budget.Options{
		Limits: budgetLimits(cfg), Currency: cfg.Budget.Currency, Zone: budgetZone(cfg), Said: g.budgetSaid, Log: g.opts.Log,
		Free: func(model string) bool { return g.now().free[model] },
	})
}

// freeOf reports whether a model costs nothing: the scripted one calls no endpoint. It counts in tokens_per_day where the config sets
// that, and by its prices where it has some.
func freeOf(cfg config.Config, name string) bool {
	m, known := cfg.ModelsByName()[name]
	if !known || m.Provider != config.Scripted || m.PriceIn > 0 || m.PriceCached > 0 || m.PriceOut > 0 {
		return false
	}
	standard := config.Default().BudgetsByName()[config.DefaultName].TokensPerDay
	for _, b := range cfg.BudgetsByName() {
		if b.TokensPerDay != standard {
			return false
		}
	}
	return true
}

// budgetZone is where days and months of budgets begin. The config was validated.
func budgetZone(cfg config.Config) *time.Location {
	zone, err := time.LoadLocation(cfg.Budget.Zone)
	if err != nil {
		return time.UTC
	}
	return zone
}

// budgetSaid passes on what is said about a budget. It does not wait.
func (g *Gateway) budgetSaid(n budget.Notice) {
	event, used, limit := ops.EventBudgetWarned, budget.Money(n.Used).Float(), budget.Money(n.Limit).Float()
	if n.Kind == budget.KindTokens {
		used, limit = float64(n.Used), float64(n.Limit)
	}
	if n.Percent >= 100 {
		event = ops.EventBudgetRefused
	}
	change := ops.BudgetChange{Budget: n.Budget, Limit: limit, Percent: n.Percent, Turn: n.Who.Turn, Used: used, Window: string(n.Kind)}
	if !n.Renews.IsZero() {
		change.RenewsAt = ops.At(n.Renews)
	}
	g.opts.Log.Warn(n.Text, "event", string(event), "session", n.Who.Key, "turn", n.Who.Turn, "budget", n.Budget, "window", string(n.Kind), "percent", n.Percent)
	g.events.Emit(event, n.Who.Key, n.Text, change)
	if n.Percent < 100 && (n.Kind == budget.KindSession || n.Kind == budget.KindPerson) { // a refusal is the answer of its turn
		g.outbox.Notice(n.Who.Key, n.Who.Target, n.Text)
	}
}
