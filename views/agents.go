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
		{
			name: "session", least: 22, tail: true,
			cell:    func(_ *Opts, r *ops.Agent) (string, Role) { return or(r.Session, unknown), Plain },
			compare: func(a, b *ops.Agent) int { return strings.Compare(a.Session, b.Session) },
		},
		{
			name: "state", width: 13,
			cell: func(o *Opts, r *ops.Agent) (string, Role) {
				s := agentBadge(r)
				return o.badge(s), s.role
			},
			compare: func(a, b *ops.Agent) int {
				return cmp.Compare(agentBadges.rank(agentState(a)), agentBadges.rank(agentState(b)))
			},
		},
		{
			name: "idle", width: 7, drop: 1, right: true,
			cell:    func(_ *Opts, r *ops.Agent) (string, Role) { return agentIdle(r), Plain },
			compare: func(a, b *ops.Agent) int { return cmp.Compare(idleMS(a), idleMS(b)) },
		},
		{
			name: "size", width: 8, drop: 2, right: true,
			cell:    func(_ *Opts, r *ops.Agent) (string, Role) { return size(r.Bytes), Plain },
			compare: func(a, b *ops.Agent) int { return cmp.Compare(b.Bytes, a.Bytes) },
			down:    true,
		},
		{
			name: "messages", width: 9, drop: 4, right: true,
			cell:    func(_ *Opts, r *ops.Agent) (string, Role) { return number(r.Messages), Plain },
			compare: func(a, b *ops.Agent) int { return cmp.Compare(b.Messages, a.Messages) },
			down:    true,
		},
		{
			name: "children", width: 9, drop: 3, right: true,
			cell:    func(_ *Opts, r *ops.Agent) (string, Role) { return number(r.Children), Plain },
			compare: func(a, b *ops.Agent) int { return cmp.Compare(b.Children, a.Children) },
			down:    true,
		},
		{
			name: "model", width: 20, wide: true, drop: 5,
			cell:    func(_ *Opts, r *ops.Agent) (string, Role) { return or(r.Model, unknown), Plain },
			compare: func(a, b *ops.Agent) int { return strings.Compare(a.Model, b.Model) },
		},
	},
	tabs: []tab[ops.Agent]{
		{"details", agentDetails},
		{"run", func(s *Screen, r *ops.Agent, w int) []string {
			if session := sessionOf(s, r.Session); session != nil {
				return turnDetails(s, session, w)
			}
			return []string{" Its session is not listed."}
		}},
		{"procs", func(s *Screen, r *ops.Agent, w int) []string { return sessionProcesses(s, r.Session, w) }},
	},
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
		return "-"
	}
	return ageText(r.IdleMS)
}

func agentDetails(s *Screen, r *ops.Agent, w int) []string {
	state := s.inFull(agentBadge(r), string(r.State))
	if !r.Busy && r.IdleMS >= 0 && r.State == ops.AgentIdle {
		state += " for " + ageText(r.IdleMS)
	}
	return s.pairs(w, []Fact{
		{"session", or(r.Session, unknown)},
		{"state", state},
		{"model", or(r.Model, unknown)},
		{"size", size(r.Bytes) + " in " + number(r.Messages) + " messages"},
		{"children", number(r.Children)},
		{"evict", evictable(r)},
	})
}

// evictable says what evicting the agent would do.
func evictable(r *ops.Agent) string {
	if r.Busy {
		return "not while it is busy"
	}
	return "drops it; the session, its history and its processes stay"
}
