package views

import (
	"cmp"
	"strings"

	"gatewaytui/core/filter"
	"gatewaytui/core/ops"
)

var agentList = &list[ops.Agent]{
	noun:   "agents",
	first:  "idle",
	rows:   func(s *ops.Snapshot) *[]ops.Agent { return &s.Agents },
	key:    func(r *ops.Agent) string { return r.Session },
	tie:    func(a, b *ops.Agent) int { return strings.Compare(a.Session, b.Session) },
	fields: filter.Agents,
	columns: []column[ops.Agent]{
		keyed(func(r *ops.Agent) string { return r.Session }),
		inState(13, func(_ *Opts, r *ops.Agent) badge { return agentBadge(r) }, func(r *ops.Agent) int { return agentBadges.rank(agentState(r)) }),
		{
			name: "idle", width: 7, drop: 1, right: true,
			cell:    func(o *Opts, r *ops.Agent) (string, Role) { return o.dotted(agentIdle(r)) },
			compare: func(a, b *ops.Agent) int { return cmp.Compare(idleMS(a), idleMS(b)) },
		},
		counted("size", 8, 2, size, func(r *ops.Agent) int64 { return r.Bytes }),
		counted("messages", 9, 4, number, func(r *ops.Agent) int { return r.Messages }),
		counted("children", 9, 3, number, func(r *ops.Agent) int { return r.Children }),
		{
			name: "model", width: 20, wide: true, drop: 5,
			cell:    func(_ *Opts, r *ops.Agent) (string, Role) { return or(r.Model, unknown), Plain },
			compare: func(a, b *ops.Agent) int { return strings.Compare(a.Model, b.Model) },
		},
	},
	pages: pagesOf(agentDetails, func(r *ops.Agent) string { return r.Session }, " Its session is not listed."),
	empty: func(*Screen) string {
		return "No agents. One is built with a session's next message and stays cached while it is idle."
	},
}

// idleMS is 0 for a busy agent; the row may say otherwise.
func idleMS(r *ops.Agent) int64 {
	if r.Busy {
		return 0
	}
	return r.IdleMS
}

func agentIdle(r *ops.Agent) string {
	if r.Busy {
		return ""
	}
	return ageText(r.IdleMS)
}

// agentDetails answer what of an agent is in memory, and what an eviction would do.
func agentDetails(s *Screen, r *ops.Agent, p pane) []string {
	state := s.inFull(agentBadge(r), string(r.State))
	if !r.Busy && r.IdleMS >= 0 && r.State == ops.AgentIdle {
		state += " for " + ageText(r.IdleMS)
	}
	facts := []Fact{
		{"state", state},
		{"session", or(r.Session, unknown)},
		{"model", or(r.Model, unknown)},
		{"holds", size(r.Bytes) + " in " + number(r.Messages) + " messages"},
	}
	if r.Children > 0 {
		facts = append(facts, Fact{"children", count(r.Children, "child agent")})
	}
	facts = append(facts, Fact{"E evicts", evictable(r)})
	of := sessionOf(s, r.Session)
	if of == nil {
		return s.told(p, facts)
	}
	groups := append([][]Fact{facts, sessionWork(s, of)[1:]}, sessionRequests(s, of)...)
	return s.told(p, append(groups, []Fact{
		{"user", or(of.User, unknown) + " on " + or(of.Platform, unknown)},
		{"title", of.Title},
		{"context", sessionContext(of)},
		{"tokens", sessionUsage(of)},
		{"cost", sessionCost(of)},
	})...)
}

func evictable(r *ops.Agent) string {
	if r.Busy {
		return "it after an interrupt of the running turn"
	}
	return "it; the session, its history and its processes stay"
}
