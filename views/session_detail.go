package views

import (
	"fmt"
	"strconv"

	"gatewaytui/core/ops"
)

// sessionDetails answer who talks, what the session does, what it waits for and what it has cost.
func sessionDetails(s *Screen, r *ops.Session, p pane) []string {
	groups := append([][]Fact{sessionWork(s, r)}, sessionRequests(s, r)...)
	lines := s.told(p, append(groups,
		[]Fact{
			{"user", or(r.User, unknown) + " on " + or(r.Platform, unknown)},
			{"caller", callerText(r)},
			{"title", r.Title},
			{"last", when(s.Now, r.LastActivityAt)},
		},
		[]Fact{
			{"agent", or(r.Agent, "not known yet")},
			{"model", or(r.Model, "not known yet")},
			{"cache", cachedAgent(s, r)},
		},
		[]Fact{
			{"context", sessionContext(r)},
			{"tokens", sessionUsage(r)},
			{"cost", sessionCost(r)},
		},
		[]Fact{
			{"runs in", or(r.Environment, "nothing yet: no command has run")},
			{"processes", s.dot(number(r.Processes))},
			{"turn", r.Turn},
			{"id", or(r.ID, unknown)},
		},
	)...)
	if rows := sessionHolds(s, r.Key); len(rows) > 0 {
		lines = append(append(lines, "", s.heading("holds")), rows...)
	}
	if procs := sessionProcesses(s, r.Key); r.Processes > 0 && len(procs) > 0 {
		lines = append(append(lines, "", s.heading("processes")), procs...)
	}
	return lines
}

// sessionHolds are the servers, browsers and external agents of a session.
func sessionHolds(s *Screen, key string) (lines []string) {
	for i := range s.Snap.Held {
		r := &s.Snap.Held[i]
		if r.Session != key || key == "" || r.Kind == KindJob {
			continue
		}
		b := heldBadges.of(r.State)
		lines = append(lines, " "+s.cell(Plain, shown(string(r.Kind)), 8)+" "+s.cell(Plain, shown(r.ID), 16)+" "+s.cell(b.role, s.badge(b), 13)+" "+s.clean(r.Detail, maxShown))
	}
	return lines
}

// sessionWork is what the session does now.
func sessionWork(s *Screen, r *ops.Session) []Fact {
	state := s.inFull(sessionBadge(s.Now, r), string(r.State))
	facts := []Fact{{"state", state}}
	if r.Attention != "" {
		facts = append(facts, Fact{"looping", r.AttentionReason + after(", for ", spanSince(s.Now, r.AttentionSince))})
	}
	if r.Turn != "" || !r.TurnStartedAt.IsZero() {
		facts[0].Text += ", turn of " + or(spanSince(s.Now, r.TurnStartedAt), unknown)
		facts = append(facts, Fact{"does", r.Activity(s.Now)}, Fact{"progress", when(s.Now, r.LastProgressAt)})
		if r.CallsLimit > 0 {
			facts = append(facts, Fact{"calls", number(r.Calls) + " of at most " + number(r.CallsLimit)})
		}
	}
	facts = append(facts, Fact{"waits for", r.WaitingFor}, Fact{"chat sees", r.Shows})
	if r.Queued != 0 {
		facts = append(facts, Fact{"queue", count(max(r.Queued, 0), "message") + " behind this turn"})
	}
	return facts
}

// sessionRequests are the requests of the session that wait for a person, a group each.
func sessionRequests(s *Screen, r *ops.Session) (groups [][]Fact) {
	for i := range s.Snap.Inbox {
		it := &s.Snap.Inbox[i]
		if it.State != ops.InboxWaiting || it.Session != r.Key || r.Key == "" {
			continue
		}
		ends := ""
		if left, _ := expiresCell(&s.Opts, it); left != "" {
			ends = ", ends in " + left
		}
		groups = append(groups, []Fact{
			{"asks", asksFor(it)},
			{"request", it.ID + ", " + howLongAgo(s.Now, it.AskedAt) + ends + "; i answers"},
		})
	}
	return groups
}

func callerText(r *ops.Session) string {
	if r.Caller == nil {
		return ""
	}
	return r.Caller.String()
}

// cachedAgent is what of the session's agent is in memory.
func cachedAgent(s *Screen, r *ops.Session) string {
	a := agentOf(s, r.Key)
	switch {
	case a == nil && r.Cached:
		return "cached"
	case a == nil:
		return "not cached"
	}
	text := s.inFull(agentBadge(a), string(a.State)) + ", " + size(a.Bytes) + " in " + count(max(a.Messages, 0), "message")
	if a.Children > 0 {
		text += ", " + count(a.Children, "child agent")
	}
	return text
}

// contextShare is sessionContext for a table.
func contextShare(r *ops.Session) string {
	switch {
	case r.ContextWindow <= 0 || r.ContextUsed == 0:
		return ""
	case r.ContextUsed < 0:
		return unknown
	}
	return strconv.Itoa(100*r.ContextUsed/r.ContextWindow) + "% " + briefly(int64(r.ContextUsed))
}

// costCell is sessionCost for a table, with a question mark for a cost that is not known.
func costCell(r *ops.Session) string {
	switch {
	case r.Cost == nil:
		return "?"
	case *r.Cost > 0 && *r.Cost < 0.005:
		return "<0.01"
	}
	return strconv.FormatFloat(*r.Cost, 'f', 2, 64)
}

// sessionContext is how much of its model's context the conversation uses, empty if that is not known.
func sessionContext(r *ops.Session) string {
	if r.ContextWindow <= 0 || r.ContextUsed < 0 {
		return ""
	}
	return fmt.Sprintf("%d%%, %s of %s tokens", 100*r.ContextUsed/r.ContextWindow, short(int64(r.ContextUsed)), short(int64(r.ContextWindow)))
}

// sessionUsage is what a session's model calls cost, in tokens.
func sessionUsage(r *ops.Session) string {
	in := short(r.TokensIn) + " in"
	if r.TokensCached > 0 {
		in += " (" + short(r.TokensCached) + " cached)"
	}
	return in + ", " + short(r.TokensOut) + " out"
}

func sessionCost(r *ops.Session) string {
	if r.Cost == nil {
		return unknown
	}
	return ops.Amount(*r.Cost)
}

// costOf is a cost to sort by: an unknown one comes last.
func costOf(r *ops.Session) float64 {
	if r.Cost == nil {
		return -1
	}
	return *r.Cost
}
