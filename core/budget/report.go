package budget

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

// mostGroups is how many groups of usage are shown.
const mostGroups = 1000

// Usage is what was used since a day.
func (l *Ledger) Usage(ctx context.Context, q ops.UsageQuery) ([]ops.Usage, error) {
	by, since := q.By, q.Since
	if by == "" {
		by = ops.UsageGroups[0]
	}
	if !slices.Contains(ops.UsageGroups, by) {
		return nil, ops.UnknownName("group", by, ops.UsageGroups)
	}
	if since == "" {
		since = month(l.day(time.Now())) + "-01"
	}
	if _, err := time.Parse(time.DateOnly, since); err != nil {
		return nil, &ops.Error{Code: ops.CodeInvalid, Message: fmt.Sprintf("%.40q is not a day", since), Hint: "write it as 2026-11-22"}
	}
	groups, err := l.store.UsageBy(ctx, by, since, mostGroups)
	if err != nil {
		return nil, err
	}
	rows := make([]ops.Usage, len(groups))
	for i, g := range groups {
		rows[i] = ops.Usage{
			Group: g.Name, Calls: g.Calls, TokensIn: g.In, TokensOut: g.Out, Cached: g.Cached, Unpriced: g.Unpriced, Currency: l.o.Currency, Estimated: g.Estimated > 0,
		}
		if g.Priced > 0 {
			cost := Money(g.Cost).Float()
			rows[i].Cost = &cost
		}
	}
	return rows, nil
}

// Budgets are all budgets, in the order of their names.
func (l *Ledger) Budgets(ctx context.Context) ([]ops.Budget, error) {
	if err := l.load3(ctx); err != nil {
		return nil, err
	}
	now := time.Now()
	day := l.day(now)
	l.mu.Lock()
	defer l.mu.Unlock()
	rows := []ops.Budget{}
	for _, name := range l.Names() {
		row := ops.Budget{Name: name, Currency: l.o.Currency, Zone: l.o.Zone.String(), Raises: []ops.BudgetRaise{}}
		for _, k := range kinds {
			row.Windows = append(row.Windows, l.windowRow(name, k, day, now))
		}
		for _, r := range l.raises {
			if r.Budget == name && r.Until.After(now) {
				row.Raises = append(row.Raises, ops.BudgetRaise{Money: Money(r.Money).Float(), Tokens: r.Tokens, Until: ops.At(r.Until), By: r.By, At: ops.At(r.At)})
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// windowRow is a window for an operator. The caller holds mu.
func (l *Ledger) windowRow(name string, k Kind, day string, now time.Time) ops.BudgetWindow {
	show := func(n int64) float64 {
		if k == KindTokens {
			return float64(n)
		}
		return Money(n).Float()
	}
	row := ops.BudgetWindow{Window: string(k), Limit: show(l.limit(key{budget: name, kind: k}, now))}
	if renews := l.renews(k, now); !renews.IsZero() {
		row.RenewsAt = ops.At(renews)
	}
	if w := l.shown(name, k, day); w != nil {
		spent, reserved := show(w.spent), show(w.reserved)
		row.Spent, row.Reserved = &spent, &reserved
	}
	return row
}

// shown is the window of a day or a month; nil: the kind has many. The caller holds mu.
func (l *Ledger) shown(name string, k Kind, day string) *window {
	at := key{name, k, day}
	switch k {
	case KindMonth:
		at.period = month(day)
	case KindDay, KindTokens:
	default:
		return nil
	}
	if w := l.windows[at]; w != nil {
		return w
	}
	return &window{}
}

// load3 loads the windows of the day and the month of each budget.
func (l *Ledger) load3(ctx context.Context) error {
	day := l.day(time.Now())
	for _, name := range l.Names() {
		all, err := l.acquire(ctx, l.keys(Who{Budget: name}, day))
		if err != nil {
			return err
		}
		l.release(all)
	}
	return nil
}

// Today is what each budget has used today. It reads memory alone.
func (l *Ledger) Today() []ops.BudgetToday {
	now := time.Now()
	day := l.day(now)
	l.mu.Lock()
	defer l.mu.Unlock()
	var rows []ops.BudgetToday
	for _, name := range l.Names() {
		rows = append(rows, ops.BudgetToday{
			Name: name, Currency: l.o.Currency,
			Spent: Money(l.shown(name, KindDay, day).spent).Float(), Limit: Money(l.limit(key{name, KindDay, day}, now)).Float(),
			Tokens: l.shown(name, KindTokens, day).spent, TokensLimit: l.limit(key{name, KindTokens, day}, now),
		})
	}
	return rows
}

// Bounds of the notices that the inbox shows.
const (
	recentFor = 7 * 24 * time.Hour
	recentMax = 50
)

// Inbox is what was said about budgets in the last days. No row waits for an answer.
func (l *Ledger) Inbox() []ops.InboxItem {
	l.mu.Lock()
	defer l.mu.Unlock()
	var items []ops.InboxItem
	for _, n := range l.recent {
		state := ops.InboxNoted
		if n.Percent >= 100 {
			state = ops.InboxRefused
		}
		items = append(items, ops.InboxItem{
			ID:   fmt.Sprintf("%s-%s-%s-%d", n.Budget, n.Window, n.Period, n.Percent),
			Kind: ops.InboxBudget, State: state, AskedAt: ops.At(n.At), AnsweredAt: ops.At(n.At), Who: "the owner, with gatewaytui budgets raise " + n.Budget, Text: n.Text,
			Reasons: []string{}, Options: []string{},
		})
	}
	return items
}

// Answer implements the inbox, whose rows of budgets take no answer.
func (l *Ledger) Answer(context.Context, ops.Command) (string, error) {
	return "", &ops.Error{Code: ops.CodeInvalid, Message: "a budget takes no answer", Hint: "use `gatewaytui budgets raise NAME --by N`"}
}

// remember keeps a notice for the inbox, in the place of an earlier one about the same. The caller holds mu.
func (l *Ledger) remember(n store.Notice) {
	l.recent = slices.DeleteFunc(l.recent, func(o store.Notice) bool {
		return o.Budget == n.Budget && o.Window == n.Window && o.Period == n.Period && o.Percent == n.Percent || n.At.Sub(o.At) > recentFor
	})
	l.recent = append(l.recent, n)
	l.recent = l.recent[max(len(l.recent)-recentMax, 0):]
}
