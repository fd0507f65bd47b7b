package lines

import (
	"fmt"
	"strconv"

	"github.com/dustin/go-humanize"

	"gatewaytui/core/ops"
)

// Usage are the columns of what was used.
var Usage = []Column[ops.Usage]{
	{"GROUP", func(r ops.Usage) string { return r.Group }, 0},
	{"CALLS", func(r ops.Usage) string { return strconv.FormatInt(r.Calls, 10) }, 3},
	{"TOKENS IN", func(r ops.Usage) string { return humanize.Comma(r.TokensIn) }, 1},
	{"TOKENS OUT", func(r ops.Usage) string { return humanize.Comma(r.TokensOut) }, 1},
	{"CACHED", func(r ops.Usage) string { return humanize.Comma(r.Cached) }, 4},
	{"NO PRICE", func(r ops.Usage) string { return humanize.Comma(r.Unpriced) }, 2},
	{"COST", func(r ops.Usage) string {
		if r.Cost == nil {
			return "unknown"
		}
		return Cost(r.Cost) + " " + r.Currency
	}, 0},
	{"ESTIMATED", func(r ops.Usage) string { return yes(r.Estimated) }, 5},
}

// Budgets prints what is spent of each budget.
func (p Printer) Budgets(page ops.Page[ops.Budget]) {
	p.Hidden(Table(p, budgetColumns, budgetRows(page.Items)))
	for _, b := range page.Items {
		for _, r := range b.Raises {
			by := ops.Amount(r.Money) + " " + b.Currency
			if r.Tokens > 0 {
				by = humanize.Comma(r.Tokens) + " tokens"
			}
			p.Say("%s was raised by %s until %s, by %s", b.Name, by, r.Until.Format("2006-01-02 15:04 MST"), r.By)
		}
	}
}

// budgetRow is a limit of a budget, as one line.
type budgetRow struct {
	ops.BudgetWindow
	Name, Currency string
}

// budgetRows are the limits of budgets, without those that are not set and not counted.
func budgetRows(budgets []ops.Budget) []budgetRow {
	var rows []budgetRow
	for _, b := range budgets {
		for _, w := range b.Windows {
			if w.Limit > 0 || w.Spent != nil {
				rows = append(rows, budgetRow{w, b.Name, b.Currency})
			}
		}
	}
	return rows
}

// amount is n in the unit of the row, empty where there is none.
func (r budgetRow) amount(n *float64) string {
	switch {
	case n == nil:
		return ""
	case r.Window == "tokens":
		return humanize.Comma(int64(*n)) + " tokens"
	}
	return ops.Amount(*n) + " " + r.Currency
}

// budgetColumns are the columns of the limits of budgets.
var budgetColumns = []Column[budgetRow]{
	{"BUDGET", func(r budgetRow) string { return r.Name }, 0},
	{"PER", func(r budgetRow) string { return r.Window }, 0},
	{"SPENT", func(r budgetRow) string { return r.amount(r.Spent) }, 0},
	{"RESERVED", func(r budgetRow) string { return r.amount(r.Reserved) }, 3},
	{"LIMIT", func(r budgetRow) string {
		if r.Limit == 0 {
			return "none"
		}
		return r.amount(&r.Limit)
	}, 0},
	{"USED", func(r budgetRow) string {
		if r.Spent == nil || r.Limit == 0 {
			return ""
		}
		return fmt.Sprintf("%.0f %%", 100**r.Spent/r.Limit)
	}, 1},
	{"RENEWS", func(r budgetRow) string {
		if r.RenewsAt.IsZero() {
			return ""
		}
		return r.RenewsAt.Format("2006-01-02 15:04 MST")
	}, 2},
}
