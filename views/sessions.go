package views

import (
	"cmp"
	"strings"
	"time"

	"gatewaytui/core/filter"
	"gatewaytui/core/ops"
)

var sessionList = &list[ops.Session]{
	noun:   "sessions",
	first:  "attention",
	rows:   func(s *ops.Snapshot) *[]ops.Session { return &s.Sessions },
	key:    func(r *ops.Session) string { return r.Key },
	tie:    func(a, b *ops.Session) int { return strings.Compare(a.Key, b.Key) },
	fields: filter.Sessions,
	columns: []column[ops.Session]{
		{
			name: "attention",
			at: func(now time.Time) func(a, b *ops.Session) int {
				return func(a, b *ops.Session) int { return compareAttention(a, b, now) }
			},
			urgent: (*ops.Session).NeedsAttention,
		},
		keyed(func(r *ops.Session) string { return r.Key }),
		named("adapter", 9, 12, func(r *ops.Session) string { return r.Platform }),
		inState(13, func(o *Opts, r *ops.Session) badge { return sessionBadge(o.Now, r) }, func(r *ops.Session) int { return sessionBadges.rank(r.State) }),
		{
			name: "turn", width: 8, drop: 1, right: true,
			cell:    func(o *Opts, r *ops.Session) (string, Role) { return o.dotted(spanSince(o.Now, r.TurnStartedAt)) },
			compare: func(a, b *ops.Session) int { return oldestFirst(a.TurnStartedAt, b.TurnStartedAt) },
			down:    true,
		},
		{
			name: "tokens", width: 7, drop: 6, right: true, down: true,
			cell: func(o *Opts, r *ops.Session) (string, Role) { return o.dotted(sessionTokens(r)) },
			compare: func(a, b *ops.Session) int {
				return cmp.Compare(b.TokensIn+b.TokensOut, a.TokensIn+a.TokensOut)
			},
		},
		counted("procs", 6, 7, number, func(r *ops.Session) int { return r.Processes }),
		counted("queue", 7, 10, number, func(r *ops.Session) int { return r.Queued }),
		happened("last", 7, 4, func(r *ops.Session) ops.Time { return r.LastActivityAt }),
		{
			name: "user", width: 14, drop: 11,
			cell:    func(_ *Opts, r *ops.Session) (string, Role) { return r.User, Plain },
			compare: func(a, b *ops.Session) int { return strings.Compare(a.User, b.User) },
		},
		worded("agent", 8, 5, func(r *ops.Session) string { return r.Agent }),
		worded("model", 14, 8, func(r *ops.Session) string { return r.Model }),
		{
			name: "context", width: 9, drop: 2, right: true, down: true,
			cell:    func(o *Opts, r *ops.Session) (string, Role) { return o.dotted(contextShare(r)) },
			compare: func(a, b *ops.Session) int { return cmp.Compare(b.ContextUsed, a.ContextUsed) },
		},
		{
			name: "cost", width: 7, drop: 3, right: true, down: true,
			cell:    func(o *Opts, r *ops.Session) (string, Role) { return o.dotted(costCell(r)) },
			compare: func(a, b *ops.Session) int { return cmp.Compare(costOf(b), costOf(a)) },
		},
		{
			name: "doing", width: 20, wide: true, drop: 9,
			cell: func(o *Opts, r *ops.Session) (string, Role) { return r.Activity(o.Now), Plain },
		},
		{
			name: "title", width: 24, drop: 13,
			cell:    func(_ *Opts, r *ops.Session) (string, Role) { return r.Title, Plain },
			compare: func(a, b *ops.Session) int { return strings.Compare(a.Title, b.Title) },
		},
	},
	pages: []page[ops.Session]{
		talkPage,
		{name: "timeline", lines: timelinePage, folds: true, second: PageTalk},
		{name: PageProcesses, lines: processesPage},
		{name: "details", lines: sessionDetails},
		logPage[ops.Session](),
	},
	empty: func(s *Screen) string {
		return "No sessions yet. " + firstMessage(s)
	},
}

// churning is how long a turn must have lasted, or a session must have been idle, to be sorted by it. Sessions that take
// short turns one after the other would change places all the time; until then they are sorted by key, below the long
// turns and above the idle sessions.
const churning = 5 * time.Second

// compareAttention is ops.CompareSessions made calm for a screen that is looked at all the time, with the turns that have
// been silent for too long among what needs attention.
func compareAttention(a, b *ops.Session, now time.Time) int {
	if c := cmp.Compare(calmGroup(a, now), calmGroup(b, now)); c != 0 {
		return c
	}
	if calmGroup(a, now) == calmChurn {
		return strings.Compare(a.Key, b.Key)
	}
	return ops.CompareSessions(a, b)
}

const (
	calmAttention = iota
	calmBusy
	calmChurn
	calmIdle
)

func calmGroup(r *ops.Session, now time.Time) int {
	switch {
	case r.NeedsAttention(now):
		return calmAttention
	case churns(r, now):
		return calmChurn
	case r.Group() == ops.GroupBusy:
		return calmBusy
	}
	return calmIdle
}

// churns reports whether a turn of the session began or ended a moment ago.
func churns(r *ops.Session, now time.Time) bool {
	since := r.LastActivityAt
	if r.Turn != "" {
		since = r.TurnStartedAt
	}
	d, ok := ago(now, since)
	return ok && d < churning
}

// oldestFirst orders moments, those that never were last.
func oldestFirst(a, b ops.Time) int {
	switch {
	case a.IsZero() == b.IsZero():
		return a.Compare(b.Time)
	case a.IsZero():
		return 1
	}
	return -1
}

func sessionTokens(r *ops.Session) string {
	if r.TokensIn < 0 || r.TokensOut < 0 {
		return unknown
	}
	return short(r.TokensIn + r.TokensOut)
}

func firstMessage(s *Screen) string {
	if s.Snap.State == ops.StateDraining || s.Snap.Drain != nil {
		return "The gateway drains: it takes no new work."
	}
	var up []string
	for i := range s.Snap.Adapters {
		if a := &s.Snap.Adapters[i]; a.State == ops.AdapterConnected {
			up = append(up, s.clean(a.Name, maxWord))
		}
	}
	if len(up) == 0 {
		return "No adapter is connected, so none can come: see 5 adapters."
	}
	return "A session appears with the first message on: " + names(up, 5) + ". (" + count(len(up), "adapter") + " up)"
}
