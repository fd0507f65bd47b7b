package views

import (
	"fmt"
	"strings"
	"time"

	"gatewaytui/core/filter"
	"gatewaytui/core/ops"
)

var adapterList = &list[ops.Adapter]{
	noun:   "adapters",
	first:  "adapter",
	rows:   func(s *ops.Snapshot) *[]ops.Adapter { return &s.Adapters },
	key:    func(r *ops.Adapter) string { return r.Name },
	tie:    func(a, b *ops.Adapter) int { return strings.Compare(a.Name, b.Name) },
	fields: filter.Adapters,
	columns: []column[ops.Adapter]{
		named("adapter", 12, 0, func(r *ops.Adapter) string { return r.Name }),
		inState(15, func(_ *Opts, r *ops.Adapter) badge { return adapterBadges.of(r.State) }, func(r *ops.Adapter) int { return adapterBadges.rank(r.State) }),
		happened("since", 7, 4, func(r *ops.Adapter) ops.Time { return r.Since }),
		happened("last-in", 8, 3, func(r *ops.Adapter) ops.Time { return r.LastInboundAt }),
		counted("queue", 7, 5, number, func(r *ops.Adapter) int { return r.Queue }),
		{
			name: "retry", width: 8, drop: 1, right: true,
			cell:    func(o *Opts, r *ops.Adapter) (string, Role) { return nextTry(o.Now, r), Plain },
			compare: func(a, b *ops.Adapter) int { return oldestFirst(a.NextAttemptAt, b.NextAttemptAt) },
		},
		{
			name: "error", title: "LAST ERROR", least: 20, drop: 2,
			cell: func(o *Opts, r *ops.Adapter) (string, Role) { return adapterNote(o, r), Plain },
		},
	},
	pages: []page[ops.Adapter]{{name: "details", lines: adapterDetails}},
	empty: func(*Screen) string {
		return "No adapters. Enable one in the config, for instance [adapters.api] with enabled = true."
	},
}

func nextTry(now time.Time, r *ops.Adapter) string {
	if r.NextAttemptAt.IsZero() {
		return "-"
	}
	in := r.NextAttemptAt.Sub(now)
	switch {
	case in <= 0:
		return "now"
	case in > 365*24*time.Hour:
		return unknown
	}
	return "in " + clock(in)
}

// adapterNote is what an operator should know first of an adapter.
func adapterNote(o *Opts, r *ops.Adapter) string {
	switch {
	case r.Conflicts > 0:
		return "another consumer holds the same credential: " + r.LastError
	case r.RateLimitedUntil.After(o.Now):
		return "rate limited for " + clock(r.RateLimitedUntil.Sub(o.Now)) + " more"
	}
	return r.LastError
}

func adapterDetails(s *Screen, r *ops.Adapter, p pane) []string {
	retry := "none planned"
	if !r.NextAttemptAt.IsZero() {
		retry = fmt.Sprintf("attempt %s, next %s", number(r.Attempt), nextTry(s.Now, r))
	}
	facts := []Fact{
		{"adapter", or(r.Name, unknown)},
		{"state", s.inFull(adapterBadges.of(r.State), string(r.State))},
		{"since", when(s.Now, r.Since)},
		{"last in", when(s.Now, r.LastInboundAt)},
		{"retry", retry},
		{"queue", number(r.Queue) + " to send"},
	}
	if len(r.Abilities) > 0 {
		facts = append(facts, Fact{"can", strings.Join(r.Abilities, ", ")})
	}
	if !r.RateLimitedUntil.IsZero() {
		facts = append(facts, Fact{"limited", "until " + timeOfDay(s.Now, r.RateLimitedUntil)})
	}
	if r.Conflicts > 0 {
		facts = append(facts, Fact{"conflict", count(r.Conflicts, "answer") + " that another consumer holds this credential"})
	}
	return s.pairs(p, append(facts, Fact{"error", or(r.LastError, "none")}))
}
