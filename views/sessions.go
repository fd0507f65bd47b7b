package views

import (
	"cmp"
	"strings"

	"gatewaytui/core/ops"
)

// sign is how a state is told: a glyph, a word and a role that repeats them.
type sign struct {
	glyph glyph
	word  string
	role  Role
}

var unknownSign = sign{glyphUnknown, unknown, Slow}

func (o *Opts) sign(s sign) string { return o.glyph(s.glyph) + " " + s.word }

// inFull is a state as the details tell it: with the gateway's own word where it is not one of ours.
func (o *Opts) inFull(s sign, wire string) string {
	if s == unknownSign && wire != "" && wire != unknown {
		return o.sign(s) + " (" + o.clean(wire, maxWord) + ")"
	}
	return o.sign(s)
}

// sessionSigns go from what needs someone to what does not; a list sorted by state is in this order.
var sessionSigns = []struct {
	state ops.SessionState
	sign
}{
	{ops.SessionStalled, sign{glyphBad, "stalled", Bad}},
	{ops.SessionWaitingApproval, sign{glyphAsk, "asks", Slow}},
	{ops.SessionSuspended, sign{glyphFail, "suspended", Bad}},
	{ops.SessionInterrupted, sign{glyphSlow, "interrupted", Slow}},
	{ops.SessionRunning, sign{glyphRun, "running", Busy}},
	{ops.SessionQueued, sign{glyphSlow, "queued", Busy}},
	{ops.SessionIdle, sign{glyphIdle, "idle", Muted}},
}

func sessionRank(st ops.SessionState) int {
	for i := range sessionSigns {
		if sessionSigns[i].state == st {
			return i
		}
	}
	return len(sessionSigns)
}

func sessionSign(st ops.SessionState) sign {
	if i := sessionRank(st); i < len(sessionSigns) {
		return sessionSigns[i].sign
	}
	return unknownSign
}

var sessionList = &list[ops.Session]{
	noun:  "sessions",
	first: "last",
	rows:  func(s *ops.Snapshot) *[]ops.Session { return &s.Sessions },
	key:   func(r *ops.Session) string { return r.Key },
	tie:   func(a, b *ops.Session) int { return strings.Compare(a.Key, b.Key) },
	search: func(r *ops.Session, t *needle) bool {
		return t.in(r.Key) || t.in(r.User) || t.in(r.Doing) || t.in(sessionSign(r.State).word) || t.in(string(r.State)) ||
			t.in(r.Platform)
	},
	columns: []column[ops.Session]{
		{
			name: "session", least: 22, tail: true,
			cell:    func(_ *Opts, r *ops.Session) (string, Role) { return or(r.Key, unknown), Plain },
			text:    func(r *ops.Session) string { return r.Key },
			compare: func(a, b *ops.Session) int { return strings.Compare(a.Key, b.Key) },
		},
		{
			name: "adapter", width: 9, drop: 6,
			cell:    func(_ *Opts, r *ops.Session) (string, Role) { return or(r.Platform, unknown), Plain },
			text:    func(r *ops.Session) string { return r.Platform },
			compare: func(a, b *ops.Session) int { return strings.Compare(a.Platform, b.Platform) },
		},
		{
			name: "state", width: 13,
			cell: func(o *Opts, r *ops.Session) (string, Role) {
				s := sessionSign(r.State)
				return o.sign(s), s.role
			},
			text:    func(r *ops.Session) string { return sessionSign(r.State).word + " " + string(r.State) },
			compare: func(a, b *ops.Session) int { return cmp.Compare(sessionRank(a.State), sessionRank(b.State)) },
		},
		{
			name: "turn", width: 8, drop: 1, right: true,
			cell:    func(o *Opts, r *ops.Session) (string, Role) { return clockSince(o.Now, r.TurnStartedAt), Plain },
			compare: func(a, b *ops.Session) int { return oldestFirst(a.TurnStartedAt, b.TurnStartedAt) },
			down:    true,
		},
		{
			name: "tokens", width: 7, drop: 4, right: true,
			cell: func(_ *Opts, r *ops.Session) (string, Role) { return sessionTokens(r), Plain },
			compare: func(a, b *ops.Session) int {
				return cmp.Compare(b.TokensIn+b.TokensOut, a.TokensIn+a.TokensOut)
			},
			down: true,
		},
		{
			name: "procs", width: 7, drop: 3, right: true,
			cell:    func(_ *Opts, r *ops.Session) (string, Role) { return number(r.Processes), Plain },
			compare: func(a, b *ops.Session) int { return cmp.Compare(b.Processes, a.Processes) },
			down:    true,
		},
		{
			name: "queue", width: 7, drop: 5, right: true,
			cell:    func(_ *Opts, r *ops.Session) (string, Role) { return number(r.Queued), Plain },
			compare: func(a, b *ops.Session) int { return cmp.Compare(b.Queued, a.Queued) },
			down:    true,
		},
		{
			name: "last", width: 7, drop: 2, right: true,
			cell:    func(o *Opts, r *ops.Session) (string, Role) { return sinceText(o.Now, r.LastActivityAt), Plain },
			compare: func(a, b *ops.Session) int { return b.LastActivityAt.Compare(a.LastActivityAt.Time) },
		},
		{
			name: "user", width: 14, drop: 8,
			cell:    func(_ *Opts, r *ops.Session) (string, Role) { return r.User, Plain },
			text:    func(r *ops.Session) string { return r.User },
			compare: func(a, b *ops.Session) int { return strings.Compare(a.User, b.User) },
		},
		{
			name: "doing", width: 28, wide: true, drop: 7,
			cell: func(_ *Opts, r *ops.Session) (string, Role) { return r.Doing, Plain },
			text: func(r *ops.Session) string { return r.Doing },
		},
	},
	tabs: []tab[ops.Session]{
		{"details", sessionDetails},
		{"run", func(s *Screen, r *ops.Session, w int) []string { return turnDetails(s, r, w) }},
		{"procs", func(s *Screen, r *ops.Session, w int) []string { return sessionProcesses(s, r.Key, w) }},
	},
	empty: func(s *Screen) string {
		return "No sessions yet. " + firstMessage(s)
	},
}

// oldestFirst orders moments, those that never were last.
func oldestFirst(a, b ops.Time) int {
	if a.IsZero() || b.IsZero() {
		return cmp.Compare(btoi(a.IsZero()), btoi(b.IsZero()))
	}
	return a.Compare(b.Time)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func sessionTokens(r *ops.Session) string {
	if r.TokensIn < 0 || r.TokensOut < 0 {
		return unknown
	}
	return short(r.TokensIn + r.TokensOut)
}

// firstMessage says what would bring the first session.
func firstMessage(s *Screen) string {
	if s.Snap.State == ops.StateDraining || s.Snap.Drain != nil {
		return "The gateway drains: it takes no new work."
	}
	var up []string
	for i := range s.Snap.AdapterRow {
		if a := &s.Snap.AdapterRow[i]; a.State == ops.AdapterConnected {
			up = append(up, s.clean(a.Name, maxWord))
		}
	}
	if len(up) == 0 {
		return "No adapter is connected, so none can come: see 5 adapters."
	}
	return "A session appears with the first message on: " + names(up, 5) + ". (" + count(len(up), "adapter") + " up)"
}

func sessionDetails(s *Screen, r *ops.Session, w int) []string {
	agent := "none cached"
	if a := agentOf(s, r.Key); a != nil {
		agent = s.inFull(agentSign(a), a.State) + ", " + or(a.Model, "model "+unknown) + ", " + size(a.Bytes)
	} else if r.Cached {
		agent = "cached"
	}
	return s.facts(w, []Fact{
		{"session", or(r.Key, unknown)},
		{"state", s.inFull(sessionSign(r.State), string(r.State))},
		{"user", or(r.User, unknown) + " on " + or(r.Platform, unknown)},
		{"active", when(s.Now, r.LastActivityAt)},
		{"agent", agent},
		{"waiting", count(max(r.Queued, 0), "message")},
		{"tokens", short(r.TokensIn) + " in, " + short(r.TokensOut) + " out"},
		{"procs", number(r.Processes)},
		{"id", or(r.ID, unknown)},
	})
}

// turnDetails tells of a session's running turn.
func turnDetails(s *Screen, r *ops.Session, w int) []string {
	if r.Turn == "" && r.TurnStartedAt.IsZero() {
		return []string{" No turn runs."}
	}
	return s.facts(w, []Fact{
		{"turn", or(r.Turn, unknown)},
		{"state", s.inFull(sessionSign(r.State), string(r.State))},
		{"started", when(s.Now, r.TurnStartedAt)},
		{"running", clockSince(s.Now, r.TurnStartedAt)},
		{"doing", or(r.Doing, unknown)},
		{"progress", when(s.Now, r.LastProgressAt)},
		{"waiting", count(max(r.Queued, 0), "message")},
	})
}
