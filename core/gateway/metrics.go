package gateway

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"gatewaytui/core/config"
	"gatewaytui/core/conversation"
	"gatewaytui/core/limit"
	"gatewaytui/core/metrics"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/session"
	"gatewaytui/core/term"
)

// newMetrics returns the metrics of g, which reads its gauges when it is asked for them.
func (g *Gateway) newMetrics(slots *model.Slots) *metrics.Metrics {
	names := slices.Collect(maps.Keys(g.opts.Broken))
	for _, p := range g.opts.Platforms {
		names = append(names, p.Name())
	}
	var models []string
	for _, m := range g.opts.Models.Models() {
		models = append(models, m.Label())
	}
	m := metrics.New(names, models, metrics.Gauges{
		Commits: func() float64 {
			if st := g.recovery.Store(); st != nil {
				return float64(st.Commits())
			}
			return 0
		},
		Ready: func() float64 {
			if g.health.LastReadiness(time.Now()) != nil {
				return 0
			}
			return 1
		},
		Lives: func() float64 { return float64(g.recovery.Begun()) }, Outbox: func() float64 { return float64(g.outbox.Waiting()) },
		Repeated:     func() float64 { return float64(g.outbox.Repeated()) },
		CallsWaiting: func() float64 { return float64(slots.Waiting()) },
		Limits:       g.opts.Limits,
		Events:       func() float64 { return float64(g.events.Newest()) }, EventsMissed: func() float64 { return float64(g.events.Missed()) },
	})
	m.CountAlso(g.opts.Platforms)
	return m
}

// Metrics is the gateway's own metrics, for the control socket to serve with the snapshot's.
func (g *Gateway) Metrics() prometheus.Gatherer { return g.metrics.Gatherer() }

// adapterChanged emits the state of an adapter, with the error that brought it there.
func (g *Gateway) adapterChanged(a ops.Adapter) {
	text, change := string(a.State), ops.AdapterChange{Attempt: a.Attempt, State: a.State}
	if cause := term.Clean(a.LastError, 300); cause != "" && a.State != ops.AdapterConnected {
		text, change.Error = text+": "+cause, cause
	}
	g.events.Emit(ops.EventAdapterState, a.Name, text, change)
}

// bounds are those that the gateway itself keeps, by name.
type bounds map[string]*limit.Bound

// add adds the gateway's own bounds to the set of all (HF5, HF9).
func (b bounds) add(g *Gateway) {
	most := func(of func(config.Limits) int64) func() int64 {
		return func() int64 { return of(g.config().Limits) }
	}
	for _, spec := range []limit.Spec{
		{
			Name: limit.Turns, Known: most(func(l config.Limits) int64 { return int64(l.Turns) }), Hint: "interrupt a turn",
			Used: func() int64 { c := g.table.Counts(); return int64(c.Turns - c.Parked) }, Waiting: func() int { return g.table.Counts().InLine },
		},
		{
			Name: limit.ModelCalls, Known: most(func(l config.Limits) int64 { return int64(l.ModelCalls) }), Hint: "interrupt a turn",
			Used: func() int64 { return int64(g.slots.Used()) }, Waiting: g.slots.Waiting,
		},
		{
			Name: limit.CallsPerTurn, Per: "turn", Known: most(func(l config.Limits) int64 { return int64(l.CallsPerTurn) }), Hint: "look at what the session asked for",
			Used: func() int64 { return int64(g.table.Counts().MostCalls) },
		},
		{
			Name: limit.Background, Per: "session", Known: most(func(l config.Limits) int64 { return int64(l.Background) }), Hint: "interrupt a task: its session's key has " + session.BackgroundInfix,
			Used: func() int64 { return int64(g.background.Most(conversation.BackgroundTask)) },
		},
		{
			Name: limit.Processes, Per: "session", Known: most(func(l config.Limits) int64 { return int64(l.Processes) }), Hint: "kill processes of the session that has the most",
			Used: func() int64 { most, _ := g.procs.Held(); return int64(most) },
		},
		{
			Name: limit.ProcessesTotal, Known: most(func(l config.Limits) int64 { return int64(l.ProcessesTotal) }), Hint: "kill processes",
			Used: func() int64 { _, total := g.procs.Held(); return int64(total) },
		},
		{
			Name: limit.QueuedBytes, Bytes: true, Known: most(func(l config.Limits) int64 { return int64(l.QueuedBytes) }), Hint: "reset a session that has many waiting messages",
			Used: func() int64 { return g.table.Counts().QueuedBytes },
		},
		{
			Name: limit.ToolsMemory, Bytes: true, Known: b.groupBound(g, func(p process.Bounds) uint64 { return p.Memory }), Hint: "kill processes",
			Used: func() int64 { memory, _ := g.procs.GroupUse(); return memory },
		},
		{
			Name: limit.ToolsProcesses, Known: b.groupBound(g, func(p process.Bounds) uint64 { return p.Processes }), Hint: "kill processes",
			Used: func() int64 { _, n := g.procs.GroupUse(); return n },
		},
		{
			Name: limit.TreeMemory, Per: "tree", Bytes: true, Known: b.groupBound(g, func(p process.Bounds) uint64 { return p.TreeMemory }), Hint: "look at what the command needs",
			Used: func() int64 { memory, _ := g.procs.LargestTree(); return memory },
		},
		{
			Name: limit.TreeProcesses, Per: "tree", Known: b.groupBound(g, func(p process.Bounds) uint64 { return p.TreeProcesses }), Hint: "look at what the command starts",
			Used: func() int64 { _, n := g.procs.LargestTree(); return n },
		},
	} {
		b[spec.Name] = g.opts.Limits.Add(spec)
	}
}

// groupBound is a bound of the control groups of tools, as it is in force.
func (b bounds) groupBound(g *Gateway, of func(process.Bounds) uint64) func() int64 {
	return func() int64 {
		b, _, _ := g.procs.Limits()
		return int64(min(of(b), math.MaxInt64))
	}
}

// reached counts that something waits for one of the gateway's own bounds, or was refused for it. It never blocks.
func (b bounds) reached(name string) { b[name].Reached() }
