package views

import (
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/shutdown"
)

// standard is the plan of the standard phases, with the budgets of a small home and the rules of the core's plan.
var standard = withRules([]ops.PlanPhase{
	{Name: "mark", BudgetMS: 500, Bound: "fixed: a marker and one commit"},
	{Name: "notify", BudgetMS: 5000, Bound: "shutdown.notify_timeout"},
	{Name: "drain", BudgetMS: 20_000, Bound: "shutdown.drain_timeout"},
	{Name: "interrupt", BudgetMS: 5000, Bound: "shutdown.interrupt_grace"},
	{Name: "reap", BudgetMS: 3000, Bound: "process.kill_grace and 1s to verify"},
	{Name: "agents", BudgetMS: 5000, Bound: "shutdown.agent_timeout"},
	{Name: "adapters", BudgetMS: 15_000, Bound: "shutdown.adapter_timeout"},
	{Name: "background", BudgetMS: 5000, Bound: "shutdown.background_timeout"},
	{Name: "release", BudgetMS: 0, Bound: "fixed: memory only"},
	{Name: "sweep", BudgetMS: 3000, Bound: "process.kill_grace and 1s to verify"},
	{Name: "stores", BudgetMS: 10_000, Bound: "shutdown.store_timeout", Critical: true},
	{Name: "surrender", BudgetMS: 500, Bound: "fixed: socket, pid file, lock"},
})

func withRules(phases []ops.PlanPhase) []ops.PlanPhase {
	for i, p := range shutdown.Standard(shutdown.Budgets{}).Rows(0).Phases {
		phases[i].PhaseRules = p.PhaseRules
	}
	return phases
}

func somePlan() ops.Plan {
	p := ops.Plan{Phases: standard, DrainMS: 20_000, SupervisorBudgetMS: 90_000, Fits: true}
	for _, f := range standard {
		p.WorstCaseMS += f.BudgetMS
	}
	return p
}

// stopBuilder records a stop as the core would report it.
type stopBuilder struct {
	sd ops.Shutdown
	// at is how much of the stop has gone by.
	at time.Duration
}

func newStop(mode ops.Mode, limit time.Duration) *stopBuilder {
	b := &stopBuilder{sd: ops.Shutdown{
		ID: "01KST", Life: "01KAK", Mode: mode, Reason: "SIGTERM", By: "signal, uid 0", Outcome: ops.ShutdownRunning,
	}}
	for _, f := range standard {
		b.sd.Phases = append(b.sd.Phases, ops.Phase{Name: f.Name, State: ops.StepPending, BudgetMS: f.BudgetMS, PhaseRules: f.PhaseRules})
	}
	if limit > 0 {
		b.sd.KillAt = ops.At(time.Time{}.Add(limit)) // from the beginning; see frame
	}
	return b
}

func (b *stopBuilder) phase(name string) *ops.Phase {
	for i := range b.sd.Phases {
		if b.sd.Phases[i].Name == name {
			return &b.sd.Phases[i]
		}
	}
	panic("no phase " + name)
}

// ran ends a phase; ok ends one that had nothing to report.
func (b *stopBuilder) ran(name string, state ops.StepState, took time.Duration, detail string, items ...ops.Item) *stopBuilder {
	p := b.phase(name)
	p.State, p.ElapsedMS, p.Detail, p.Items = state, took.Milliseconds(), detail, items
	p.StartedAt = ops.At(time.Time{}.Add(b.at + 1))
	b.at += took
	return b
}

func (b *stopBuilder) ok(names ...string) *stopBuilder {
	for _, name := range names {
		b.ran(name, ops.StepDone, 40*time.Millisecond, "", ops.Item{Kind: "step", ID: name, State: ops.StepDone, ElapsedMS: 40})
	}
	return b
}

// runs begins a phase that runs for so long already.
func (b *stopBuilder) runs(name string, spent time.Duration, items ...ops.Item) *stopBuilder {
	return b.ran(name, ops.StepRunning, spent, "", items...)
}

// report is the stop as of noon.
func (b *stopBuilder) report() *ops.Shutdown {
	sd := b.sd
	start := noon.Add(-b.at)
	abs := func(t *ops.Time) {
		if !t.IsZero() {
			*t = ops.At(start.Add(t.Sub(time.Time{})))
		}
	}
	sd.StartedAt, sd.ElapsedMS = ops.At(start), b.at.Milliseconds()
	abs(&sd.KillAt)
	sd.Phases = append([]ops.Phase(nil), sd.Phases...)
	for i := range sd.Phases {
		abs(&sd.Phases[i].StartedAt)
	}
	if sd.Outcome != ops.ShutdownRunning {
		sd.EndedAt, sd.LeftBehind = ops.At(noon), &ops.LeftBehind{}
	}
	return &sd
}

func running(kind, id string, spent, of, quiet time.Duration, detail, next string) ops.Item {
	it := ops.Item{
		Kind: kind, ID: id, State: ops.StepRunning, ElapsedMS: spent.Milliseconds(), BudgetMS: of.Milliseconds(), Detail: detail,
		Next: next, NextInMS: max(of-spent, 0).Milliseconds(),
	}
	if quiet >= 0 {
		it.LastProgressAt = before(quiet)
	}
	return it
}

func over(kind, id string, state ops.StepState, took time.Duration, detail string) ops.Item {
	return ops.Item{Kind: kind, ID: id, State: state, ElapsedMS: took.Milliseconds(), Detail: detail}
}

const sec = time.Second

func afterDrain(limit time.Duration) *stopBuilder {
	b := newStop(ops.ModeGraceful, limit).ok("mark")
	b.ran("notify", ops.StepTimedOut, 5*sec, "1 of 2 did not end in time",
		over("notice", "telegram:dm:4412", ops.StepDone, 300*time.Millisecond, ""),
		over("notice", "feishu:oc_88f1", ops.StepTimedOut, 5*sec, "did not return within 5s"))
	b.ran("drain", ops.StepTimedOut, 20*sec, "2 of 3 did not end in time",
		over("turn", "telegram:dm:4412", ops.StepTimedOut, 20*sec, "did not return within 20s; last: terminal: pytest"),
		over("turn", "slack:C02", ops.StepTimedOut, 20*sec, "did not return within 20s; last: waits for an approval"),
		over("turn", "cli:local", ops.StepDone, 4*sec, ""))
	b.sd.NotAwaited = []ops.Item{{Kind: "turn", ID: "api:user:alice", State: ops.StepSkipped, Detail: "it asked for this stop"}}
	b.ran("interrupt", ops.StepDone, 400*time.Millisecond, "", over("turn", "telegram:dm:4412", ops.StepDone, 400*time.Millisecond, ""), over("turn", "slack:C02", ops.StepDone, 300*time.Millisecond, ""))
	return b
}

func adaptersStuck(limit, spent time.Duration) *stopBuilder {
	b := afterDrain(limit)
	b.ran("reap", ops.StepDone, 2100*time.Millisecond, "", over("processes", "all trees", ops.StepDone, 2100*time.Millisecond, ""))
	b.ok("agents")
	return b.runs("adapters", spent,
		over("adapter", "telegram", ops.StepDone, 800*time.Millisecond, ""),
		running("adapter", "feishu", spent, 15*sec, spent-100*time.Millisecond, "disconnect: websocket close sent, no answer", "abandoned"),
		running("adapter", "discord", spent, 15*sec, min(2*sec, spent), "cancel tasks: typing #3 still running", "abandoned"),
		over("adapter", "slack", ops.StepDone, 300*time.Millisecond, ""),
		over("adapter", "api", ops.StepDone, 100*time.Millisecond, ""))
}

// stopStates are the states in which the shutdown view is reviewed.
func stopStates() map[string]func() Screen {
	of := func(b *stopBuilder) Screen { return stopScreen(b.report()) }
	return map[string]func() Screen{
		"plan": func() Screen {
			sc := stopScreen(nil)
			sc.Snap.State, sc.Plan = ops.StateRunning, somePlan()
			return sc
		},
		"plan-short": func() Screen {
			sc := stopScreen(nil)
			sc.Snap.State, sc.Plan = ops.StateRunning, somePlan()
			sc.Plan.SupervisorBudgetMS, sc.Plan.Fits = 50_000, true
			sc.Plan.WorstCaseMS, sc.Plan.DrainMS = 48_000, 0
			sc.Plan.Shrunk = []ops.ShrunkPhase{{Name: "drain", WantedMS: 20_000, GotMS: 0}, {Name: "adapters", WantedMS: 15_000, GotMS: 11_000}}
			return sc
		},
		"starting": func() Screen {
			sc := stopScreen(nil)
			sc.Snap.State, sc.Snap.Counts = ops.StateStarting, ops.Counts{Adapters: 5, AdaptersConnected: 2}
			return sc
		},
		"normal": func() Screen {
			b := newStop(ops.ModeGraceful, 90*sec).ok("mark")
			b.ran("notify", ops.StepDone, 300*time.Millisecond, "", over("notice", "telegram:dm:4412", ops.StepDone, 300*time.Millisecond, ""))
			b.sd.NotAwaited = []ops.Item{
				{Kind: "turn", ID: "api:user:alice", State: ops.StepSkipped, Detail: "it asked for this stop"},
				{Kind: "turn", ID: "telegram:group:-100123:topic:7", State: ops.StepSkipped, Detail: "stalled: no output for 16:00: waiting for the model"},
			}
			b.runs("drain", 2500*time.Millisecond,
				running("turn", "telegram:dm:4412", 2500*time.Millisecond, 20*sec, 500*time.Millisecond, "terminal: pytest -q tests/gateway", "interrupted"),
				running("turn", "slack:C02/1718.22", 2500*time.Millisecond, 20*sec, time.Second, "waiting for the model 0:02", "interrupted"),
				over("turn", "cli:local", ops.StepDone, 1200*time.Millisecond, ""))
			return of(b)
		},
		"slow":    func() Screen { return of(adaptersStuck(90*sec, 4*sec)) },
		"stuck":   func() Screen { return of(adaptersStuck(90*sec, 10500*time.Millisecond)) },
		"killed":  func() Screen { return of(adaptersStuck(60*sec, 10500*time.Millisecond)) },
		"missed":  func() Screen { return of(adaptersStuck(30*sec, 10500*time.Millisecond)) },
		"unknown": func() Screen { return of(adaptersStuck(0, 10500*time.Millisecond)) },
		"late": func() Screen {
			return of(afterDrain(90*sec).runs("reap", 2500*time.Millisecond,
				running("processes", "all trees", 2500*time.Millisecond, 3*sec, -1, "", "abandoned")))
		},
		"tiny-budget": func() Screen {
			b := newStop(ops.ModeGraceful, 3*sec)
			for i, ms := range []int64{100, 300, 0, 200, 600, 200, 500, 100, 0, 100, 500, 100} {
				b.sd.Phases[i].BudgetMS = ms
			}
			b.ok("mark").ran("notify", ops.StepSkipped, 0, "no turn runs").ran("drain", ops.StepSkipped, 0, "cut short: fast, by signal")
			return of(b.ok("interrupt", "reap", "agents").runs("adapters", 400*time.Millisecond,
				running("adapter", "telegram", 400*time.Millisecond, 500*time.Millisecond, -1, "", "abandoned")))
		},
		"forced": func() Screen {
			b := adaptersStuck(90*sec, 10500*time.Millisecond)
			b.sd.Mode = ops.ModeImmediate
			p := b.phase("adapters")
			p.State, p.Detail = ops.StepSkipped, "cut short: immediate, by console, uid 0"
			for i := range p.Items {
				if p.Items[i].State == ops.StepRunning {
					p.Items[i].State, p.Items[i].Detail = ops.StepSkipped, p.Detail
				}
			}
			b.ran("background", ops.StepSkipped, 0, "not part of a stop of mode immediate").ran("release", ops.StepSkipped, 0, "not part of a stop of mode immediate")
			return of(b.ok("sweep").runs("stores", 600*time.Millisecond, running("store", "gateway.db", 600*time.Millisecond, 10*sec, -1, "", "abandoned")))
		},
		"gone": func() Screen {
			sc := of(adaptersStuck(90*sec, 10500*time.Millisecond))
			sc.Link = Link{State: LinkGone, At: noon.Add(-7 * sec), Err: "socket closed", Attached: true, Try: 3, NextTry: noon.Add(2 * sec)}
			return sc
		},
		"stale": func() Screen {
			sc := of(adaptersStuck(90*sec, 10500*time.Millisecond))
			sc.Link = Link{State: LinkStale, At: noon.Add(-6 * sec), Err: "the gateway does not answer"}
			return sc
		},
		"done": func() Screen {
			b := adaptersStuck(90*sec, 15*sec)
			p := b.phase("adapters")
			p.State, p.Detail = ops.StepTimedOut, "2 of 5 did not end in time"
			for i := range p.Items {
				if it := &p.Items[i]; it.State == ops.StepRunning {
					*it = over("adapter", it.ID, ops.StepTimedOut, 15*sec, "did not return within 15s; last: "+it.Detail)
				}
			}
			b.ok("background", "release", "sweep", "stores", "surrender")
			b.sd.Outcome = ops.ShutdownIncomplete
			sc := of(b)
			sc.Snap.Life, sc.Snap.State = "01KAL", ops.StateRunning
			return sc
		},
		"not-read": func() Screen {
			sc := stopScreen(nil)
			sc.Snap.State, sc.Plan = ops.StateStopping, somePlan()
			return sc
		},
		"clean": func() Screen {
			b := newStop(ops.ModeGraceful, 90*sec)
			for _, f := range standard {
				b.ok(f.Name)
			}
			b.sd.Outcome, b.sd.Restart, b.sd.ExitCode = ops.ShutdownClean, true, 75
			sc := of(b)
			sc.Snap.Life, sc.Snap.State = "01KAL", ops.StateRunning
			return sc
		},
		"cut-short": func() Screen {
			sc := of(adaptersStuck(60*sec, 10500*time.Millisecond))
			sc.Snap.Life, sc.Snap.State = "01KAL", ops.StateRunning
			return sc
		},
	}
}

// goneAfter is sc after the gateway has ended and its socket is closed.
func goneAfter(sc Screen) Screen {
	sc.Snap.Life, sc.Snap.State = sc.Stop.Life, ops.StateStopping
	sc.Link = Link{State: LinkGone, At: noon.Add(-2 * sec), Err: "socket closed", Attached: true, Try: 1, NextTry: noon.Add(sec)}
	return sc
}

// stopScreen is the shutdown view of sd as it was just read.
func stopScreen(sd *ops.Shutdown) Screen {
	snap := fiveRows()
	snap.Supervisor = ops.Supervisor{Name: "systemd", BudgetMS: 0, Source: "environment"}
	if sd != nil {
		snap.State, snap.Shutdown = ops.StateStopping, sd
	}
	return Screen{
		Opts: Opts{W: 80, H: 24, Now: noon}, View: Shutdown, Link: Link{State: LinkLive, At: noon},
		Snap: snap, Stop: sd, Events: someEvents(), Follow: true,
		Hints: []Hint{{"A", "abandon"}, {">", "next phase"}, {"+", "30s"}, {"d", "diagnose"}, {"F", "force"}, {":", "command"}, {"?", "help"}},
	}
}

func someEvents() []ops.Event {
	return []ops.Event{
		{Seq: 31, At: before(39 * sec), Type: ops.EventGatewayState, Subject: "gateway", Text: "stopping: SIGTERM by signal, uid 0"},
		{Seq: 32, At: before(33 * sec), Type: ops.EventShutdownItem, Subject: "notify", Text: "notice feishu:oc_88f1 timed_out"},
		{Seq: 33, At: before(33 * sec), Type: ops.EventShutdownPhase, Subject: "notify", Text: "phase notify timed_out"},
		{Seq: 34, At: before(20 * sec), Type: ops.EventTurnProgress, Subject: "telegram:dm:4412", Text: "terminal: pytest"},
		{Seq: 35, At: before(13 * sec), Type: ops.EventShutdownItem, Subject: "drain", Text: "turn telegram:dm:4412 timed_out"},
		{Seq: 36, At: before(13 * sec), Type: ops.EventShutdownPhase, Subject: "drain", Text: "phase drain timed_out"},
		{Seq: 37, At: before(11 * sec), Type: ops.EventProcessKilled, Subject: "4199", Text: "bash ignored SIGTERM for 2.0s: SIGKILL, reaped"},
		{Seq: 38, At: before(10 * sec), Type: ops.EventShutdownItem, Subject: "adapters", Text: "adapter telegram done"},
	}
}
