package gateway

import (
	"gatewaytui/core/limit"
	"gatewaytui/core/session"
)

// addBounds adds the gateway's own bounds to the set (HF5, HF9).
func (g *Gateway) addBounds() {
	l := g.cfg.Limits
	g.bounds = map[string]*limit.Bound{}
	for _, spec := range []limit.Spec{
		{
			Name: limit.Turns, Most: int64(l.Turns), Hint: "interrupt a turn",
			Used: func() int64 { _, turns := g.table.Len(); return int64(turns) }, Waiting: g.table.InLine,
		},
		{
			Name: limit.ModelCalls, Most: int64(l.ModelCalls), Hint: "interrupt a turn",
			Used: func() int64 { return int64(g.slots.Used()) }, Waiting: g.slots.Waiting,
		},
		{
			Name: limit.CallsPerTurn, Per: "turn", Most: int64(l.CallsPerTurn), Hint: "look at what the session asked for",
			Used: func() int64 { return int64(g.table.MostCalls()) },
		},
		{
			Name: limit.Background, Per: "session", Most: int64(l.Background), Hint: "interrupt a task: its session's key has " + session.BackgroundInfix,
			Used: func() int64 { return int64(g.background.Most(backgroundTurn)) },
		},
		{
			Name: limit.Processes, Per: "session", Most: int64(l.Processes), Hint: "kill processes of the session that has the most",
			Used: func() int64 { most, _ := g.procs.Held(); return int64(most) },
		},
		{
			Name: limit.ProcessesTotal, Most: int64(l.ProcessesTotal), Hint: "kill processes",
			Used: func() int64 { _, total := g.procs.Held(); return int64(total) },
		},
		{
			Name: limit.QueuedBytes, Bytes: true, Most: int64(l.QueuedBytes), Hint: "reset a session that has many waiting messages",
			Used: g.table.QueuedBytes,
		},
	} {
		g.bounds[spec.Name] = g.limits.Add(spec)
	}
}

// limitReached counts that something waits for one of the gateway's own bounds, or was refused for it. It never blocks.
func (g *Gateway) limitReached(name string) { g.bounds[name].Reached() }

// fill begins the turns that wait for a slot, as far as slots are free and turns are taken. It is called where a slot may
// have become free other than by a turn's own end.
func (g *Gateway) fill() {
	if g.holding() {
		return
	}
	for _, t := range g.table.Resume(g.turns) {
		g.begin(t)
	}
}
