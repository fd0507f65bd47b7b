package views

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/filter"
	"gatewaytui/core/ops"
)

// inboxList is what waits for a person, and what waited a short time ago (OP1).
var inboxList = &list[ops.InboxItem]{
	noun:   "requests",
	first:  "asked",
	rows:   func(s *ops.Snapshot) *[]ops.InboxItem { return &s.Inbox },
	key:    func(r *ops.InboxItem) string { return r.ID },
	tie:    func(a, b *ops.InboxItem) int { return strings.Compare(a.ID, b.ID) },
	fields: filter.Inbox,
	columns: []column[ops.InboxItem]{
		named("id", 8, 0, func(r *ops.InboxItem) string { return r.ID }),
		named("kind", 9, 3, func(r *ops.InboxItem) string { return string(r.Kind) }),
		inState(11, func(_ *Opts, r *ops.InboxItem) badge { return inboxBadges.of(r.State) }, func(r *ops.InboxItem) int { return inboxBadges.rank(r.State) }),
		{
			name: "session", width: 24, drop: 2, tail: true,
			cell:    func(o *Opts, r *ops.InboxItem) (string, Role) { return o.dotted(r.Session) },
			compare: func(a, b *ops.InboxItem) int { return strings.Compare(a.Session, b.Session) },
		},
		{
			name: "asks", least: 18,
			cell:    func(_ *Opts, r *ops.InboxItem) (string, Role) { return asksFor(r), Plain },
			compare: func(a, b *ops.InboxItem) int { return strings.Compare(asksFor(a), asksFor(b)) },
		},
		{
			name: "asked", width: 7, drop: 4, right: true,
			cell:    func(o *Opts, r *ops.InboxItem) (string, Role) { return sinceText(o.Now, r.AskedAt), Plain },
			compare: func(a, b *ops.InboxItem) int { return ops.CompareInbox(*a, *b) },
		},
		{
			name: "expires", width: 8, drop: 1, right: true,
			cell: func(o *Opts, r *ops.InboxItem) (string, Role) {
				if left, role := expiresCell(o, r); left != "" {
					return left, role
				}
				return o.dotted("")
			},
			compare: func(a, b *ops.InboxItem) int { return oldestFirst(a.Expires, b.Expires) },
		},
	},
	pages: []page[ops.InboxItem]{{name: "details", lines: inboxDetails}},
	empty: func(*Screen) string {
		return "Nothing waits for you. A request stands here when a command needs a person's consent, an agent asks a question, or an unknown person asks to come in."
	},
}

// asksFor is what a request asks for, in one line: the thing itself first.
func asksFor(r *ops.InboxItem) string { return or(cmp.Or(r.Command, r.Text), unknown) }

// expiresCell is how long a request still waits; empty for one that has ended or that waits without an end.
func expiresCell(o *Opts, r *ops.InboxItem) (string, Role) {
	in := r.Expires.Sub(o.Now)
	switch {
	case r.State != ops.InboxWaiting || r.Expires.IsZero():
		return "", Muted
	case in <= 0:
		return "now", Slow
	}
	return clock(in), Plain
}

// InboxFacts are what a person should know before an answer to a request: what would happen, where, and why it is asked.
func InboxFacts(o Opts, r *ops.InboxItem) []Fact {
	what := map[ops.InboxKind]string{ops.InboxCommand: "command", ops.InboxWrite: "write", ops.InboxHost: "host", ops.InboxTool: "tool"}[r.Kind]
	facts := []Fact{{cmp.Or(what, "about"), r.Command}, {"asks", r.Text}, {"in", place(r)}}
	facts = append(facts, Fact{"reasons", strings.Join(r.Reasons, "; ")}, Fact{"session", r.Session}, Fact{"who", after("may answer: ", r.Who)})
	when := "asked " + howLongAgo(o.Now, r.AskedAt)
	if left, _ := expiresCell(&o, r); left != "" {
		when += ", expires in " + left
	}
	if r.State != ops.InboxWaiting {
		when = o.inFull(inboxBadges.of(r.State), string(r.State)) + by(r.By) + after(" ", sinceEnd(o, r))
	}
	facts = append(facts, Fact{"state", when})
	shownFacts := facts[:0]
	for _, f := range facts {
		if f.Text != "" {
			shownFacts = append(shownFacts, f)
		}
	}
	return shownFacts
}

// inboxDetails answer what would happen after a yes, who asks, and which key says it.
func inboxDetails(s *Screen, r *ops.InboxItem, p pane) []string {
	groups := [][]Fact{InboxFacts(s.Opts, r)}
	if of := sessionOf(s, r.Session); of != nil {
		groups = append(groups, []Fact{
			{"user", or(of.User, unknown) + " on " + or(of.Platform, unknown)},
			{"title", of.Title},
			{"agent", after("", of.Agent) + after(" with ", of.Model)},
			{"turn does", of.Activity(s.Now)},
		})
	}
	groups = append(groups, []Fact{{"takes", strings.Join(r.Options, ", ")}})
	if r.State == ops.InboxWaiting && !s.Link.ReadOnly {
		groups = append(groups, []Fact{{"enter", inboxKeys(r)}})
	}
	return s.told(p, groups...)
}

// inboxKeys are the answers that a request takes, as its dialog has them.
func inboxKeys(r *ops.InboxItem) string {
	if r.Kind.Remedied() {
		var keys []string
		for i, option := range r.Options {
			keys = append(keys, RemedyKey(i, option)+" "+option)
		}
		return "then " + strings.Join(keys, " · ")
	}
	if r.Kind == ops.InboxQuestion {
		return "then a number for one of the answers, or w to write one"
	}
	keys := []string{"then y once"}
	for _, k := range []struct {
		scope ops.Scope
		text  string
	}{{ops.ScopeTurn, "u this turn"}, {ops.ScopeSession, "s this session"}, {ops.ScopeAlways, "a always"}} {
		if slices.Contains(r.Options, string(k.scope)) {
			keys = append(keys, k.text)
		}
	}
	keys = append(keys, "n no", "r no with a reason")
	if r.Session != "" {
		keys = append(keys, "t the conversation")
	}
	return strings.Join(keys, " · ")
}

// remedyKeys are the keys of what can be done about a state that needs a person, as the lists have them.
var remedyKeys = map[string]string{"resume": "c", "reset": "R", "interrupt": "I", "reconnect": "C", "dismiss": "y", "reload": "y", "restart": "R", "run": "t", "pause": "P"}

// RemedyKey is the key of an option of such a request, which is its ith one. One that only a newer gateway knows has its number.
func RemedyKey(i int, option string) string {
	return cmp.Or(remedyKeys[option], strconv.Itoa(i+1))
}

// place is where a command would run: its folder and its environment.
func place(r *ops.InboxItem) string {
	return strings.TrimPrefix(r.Folder+after(", ", r.Environment), ", ")
}

func sinceEnd(o Opts, r *ops.InboxItem) string {
	if r.AnsweredAt.IsZero() {
		return ""
	}
	return howLongAgo(o.Now, r.AnsweredAt)
}

// howLongAgo is how long ago a moment was, in words.
func howLongAgo(now time.Time, at ops.Time) string {
	d, ok := ago(now, at)
	if !ok {
		return "at an unknown time"
	}
	return span(d) + " ago"
}
