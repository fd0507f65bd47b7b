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
			cell:    func(o *Opts, r *ops.Adapter) (string, Role) { return o.dotted(nextTry(o.Now, r)) },
			compare: func(a, b *ops.Adapter) int { return oldestFirst(a.NextAttemptAt, b.NextAttemptAt) },
		},
		{
			name: "error", title: "LAST ERROR", least: 20, drop: 2,
			cell: func(o *Opts, r *ops.Adapter) (string, Role) { return adapterNote(o, r), Plain },
		},
	},
	pages: []page[ops.Adapter]{{name: "details", lines: adapterDetails}, logPage[ops.Adapter]()},
	empty: func(*Screen) string {
		return "No adapters. Enable one in the config, for instance [adapters.api] with enabled = true."
	},
}

func nextTry(now time.Time, r *ops.Adapter) string {
	if r.NextAttemptAt.IsZero() {
		return ""
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

// adapterDetails answer whether the platform is up, what it waits for and what it can do.
func adapterDetails(s *Screen, r *ops.Adapter, p pane) []string {
	facts := []Fact{
		{"state", s.inFull(adapterBadges.of(r.State), string(r.State)) + after(" since ", spanSince(s.Now, r.Since))},
		{"waits for", adapterWaits(s, r)},
		{"error", r.LastError},
	}
	if r.Conflicts > 0 {
		facts = append(facts, Fact{"conflict", count(r.Conflicts, "answer") + " in a row that another consumer holds this credential"})
	}
	traffic := []Fact{{"last in", when(s.Now, r.LastInboundAt)}, {"queue", "nothing to send"}}
	if r.Queue != 0 {
		traffic[1].Text = number(r.Queue) + " to send"
	}
	var can []Fact
	if r.Listen != "" {
		can = []Fact{{"listens", r.Listen}}
	}
	if len(r.Abilities) > 0 {
		can = append(can, Fact{"can", strings.Join(r.Abilities, ", ")})
	}
	lines := s.told(p, facts, traffic, can)
	if rows := platformSessions(s, r.Name); len(rows) > 0 {
		lines = append(append(lines, "", s.heading("sessions of "+r.Name)), rows...)
	}
	return lines
}

// adapterWaits is what has to happen before the adapter is connected, or sends again.
func adapterWaits(s *Screen, r *ops.Adapter) string {
	switch {
	case r.State == ops.AdapterNeedsCredentials:
		return "a credential: set it, then C reconnects"
	case r.State == ops.AdapterPaused:
		return "a person: c resumes it"
	case !r.NextAttemptAt.IsZero():
		return fmt.Sprintf("attempt %s, %s", number(r.Attempt), nextTry(s.Now, r))
	case r.RateLimitedUntil.After(s.Now):
		return "its rate limit, for " + clock(r.RateLimitedUntil.Sub(s.Now)) + " more"
	}
	return ""
}

// platformSessions are the sessions of a platform, as far as they are listed.
func platformSessions(s *Screen, platform string) []string {
	const most = 50
	var lines []string
	for i := range s.Snap.Sessions {
		r := &s.Snap.Sessions[i]
		if r.Platform != platform || platform == "" {
			continue
		}
		if len(lines) == most {
			return append(lines, s.more(s.Snap.Counts.Sessions-most))
		}
		b := sessionBadge(s.Now, r)
		text, role := s.dotted(spanSince(s.Now, r.TurnStartedAt))
		lines = append(lines, "   "+s.cell(b.role, s.badge(b), 14)+s.right(role, text, 7)+"  "+s.clean(r.Key, maxShown))
	}
	return lines
}
