package shutdown

import (
	"time"

	"gatewaytui/core/ops"
)

// The phases of a gateway's stop, in order (DESIGN.md, 3).
const (
	PhaseMark       = "mark"
	PhaseNotify     = "notify"
	PhaseDrain      = "drain"
	PhaseInterrupt  = "interrupt"
	PhaseReap       = "reap"
	PhaseAgents     = "agents"
	PhaseAdapters   = "adapters"
	PhaseBackground = "background"
	PhaseRelease    = "release"
	PhaseSweep      = "sweep"
	PhaseStores     = "stores"
	PhaseSurrender  = "surrender"
)

// Budgets is the config of a stop (CONTRACT.md, 3). 0 means no time, except for Adapter.
type Budgets struct {
	Drain, Notify, InterruptGrace time.Duration
	// KillGrace is from TERM to KILL. Phases that kill may take Verify more.
	KillGrace time.Duration
	Agent     time.Duration
	// Adapter bounds the teardown of each adapter; 0 and below opt out (S5) and leave the plan's bound.
	Adapter           time.Duration
	Background, Store time.Duration
}

const (
	// Verify is the time of a phase that kills after the grace, for KILL and for the scan that verifies it.
	Verify = time.Second
	// markBudget fits a disk that takes 500 ms for each fsync: the marker has two, concurrently with one commit of at
	// most two.
	markBudget = 2 * time.Second
	// surrenderBudget is for the removal of two files and a socket, none of them synced.
	surrenderBudget = 500 * time.Millisecond
	// releaseLeeway is for a machine that schedules the gateway late: the phase itself takes microseconds.
	releaseLeeway = time.Second
	// headroom is what is requested from the service manager beyond the drain (S2).
	headroom = 30 * time.Second
)

// Standard is the gateway's plan with the budgets of b, without When and List, which the gateway attaches.
func Standard(b Budgets) Plan {
	adapter := b.Adapter
	if adapter <= 0 {
		adapter = Unbounded
	}
	kill := max(b.KillGrace, 0) + Verify
	const killBound = "process.kill_grace and 1s to verify"
	p := Plan{[]Phase{
		{Name: PhaseMark, Budget: markBudget, Bound: "fixed: a marker and one commit", Vital: true},
		{Name: PhaseNotify, Budget: b.Notify, Bound: "shutdown.notify_timeout"},
		{Name: PhaseDrain, Budget: b.Drain, Bound: "shutdown.drain_timeout", Then: ops.ThenInterrupted, Elastic: true, CutBy: ops.ModeFast},
		{Name: PhaseInterrupt, Budget: b.InterruptGrace, Bound: "shutdown.interrupt_grace"},
		{Name: PhaseReap, Budget: kill, Bound: killBound, Vital: true},
		{Name: PhaseAgents, Budget: b.Agent, Bound: "shutdown.agent_timeout"},
		{Name: PhaseAdapters, Budget: adapter, Bound: "shutdown.adapter_timeout"},
		{Name: PhaseBackground, Budget: b.Background, Bound: "shutdown.background_timeout"},
		{Name: PhaseRelease, Budget: 0, Leeway: releaseLeeway, Bound: "fixed: memory only"},
		{Name: PhaseSweep, Budget: kill, Bound: killBound},
		{Name: PhaseStores, Budget: b.Store, Bound: "shutdown.store_timeout", Vital: true, Critical: true},
		{Name: PhaseSurrender, Budget: surrenderBudget, Bound: "fixed: socket, pid file, lock", Vital: true},
	}}
	for i := range p.Phases {
		f := &p.Phases[i]
		if f.Name != PhaseAdapters {
			f.Budget = max(f.Budget, 0)
		}
		// Immediate runs only what must happen: the record, the kills (S1: the sweep on every path), the stores.
		if !f.Vital && f.CutBy == "" && f.Name != PhaseSweep {
			f.CutBy = ops.ModeImmediate
		}
	}
	return p
}

// TimeoutStopSec is the time to request from the service manager, in whole seconds: the drain and 30 s (S2), or more
// where the plan and the watchdog's slack need it.
func (p Plan) TimeoutStopSec() time.Duration {
	need := max(p.drain()+headroom, p.WorstCase()+slackFor(0))
	return (need + time.Second - 1).Truncate(time.Second)
}

// drain is the time of the phases that wait for work to end.
func (p Plan) drain() time.Duration {
	var d time.Duration
	for _, f := range p.Phases {
		if f.Elastic {
			d += bounded(f.Budget)
		}
	}
	return d
}
