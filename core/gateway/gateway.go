// Package gateway joins the rooms of core into one running gateway, and ends it.
//
// A gateway's life reads from top to bottom: its options (options.go), New, which makes the rooms without I/O (build.go), and
// Run in this file with its states (lifecycle.go). Then comes the stop (stop.go), whose twelve phases are in phases. Messages are
// the business of delivery and conversation, earlier lives of recovery, the operator's commands of operator, readiness and
// warnings of health.
//
// What it promises: a stop ends within its plan even if a part hangs; no lock is held over I/O, a close or a send; every
// goroutine is in conversations, in background, in watchers or in a room that Run closes.
//
// Locks: lifecycle.mu may be held while the locks of shutdown.Run are taken. Under reloading.mu and connections.mu no lock is taken.
package gateway

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"

	"gatewaytui/core/acp"
	"gatewaytui/core/adapter"
	"gatewaytui/core/agent"
	"gatewaytui/core/approval"
	"gatewaytui/core/background"
	"gatewaytui/core/browser"
	"gatewaytui/core/budget"
	"gatewaytui/core/config"
	"gatewaytui/core/conversation"
	"gatewaytui/core/delivery"
	"gatewaytui/core/events"
	"gatewaytui/core/health"
	"gatewaytui/core/held"
	"gatewaytui/core/hook"
	"gatewaytui/core/mcp"
	"gatewaytui/core/memory"
	"gatewaytui/core/metrics"
	"gatewaytui/core/model"
	"gatewaytui/core/notices"
	"gatewaytui/core/operator"
	"gatewaytui/core/ops"
	"gatewaytui/core/phases"
	"gatewaytui/core/process"
	"gatewaytui/core/rates"
	"gatewaytui/core/reap"
	"gatewaytui/core/recovery"
	"gatewaytui/core/review"
	"gatewaytui/core/schedule"
	"gatewaytui/core/search"
	"gatewaytui/core/session"
	"gatewaytui/core/term"
)

// Gateway is one gateway. Its methods may be called from any goroutine, before Run and after it too.
type Gateway struct {
	// Operator is the console of the gateway.
	*operator.Operator

	opts      Options
	current   atomic.Pointer[generation]
	lifecycle *lifecycle
	phases    *phases.Phases
	watchers  watchers

	trust      trust
	table      *session.Table
	cache      *agent.Cache
	procs      *process.Registry
	held       *held.Set
	servers    *mcp.Set
	hooks      *hook.Hooks
	externals  *acp.Set
	browsers   *browser.Browsers
	trees      *reap.Trees
	slots      *model.Slots
	adapters   *adapter.Supervisor
	background *background.Group
	events     *events.Hub
	metrics    *metrics.Metrics
	rates      *rates.Ring

	health        *health.Health
	recovery      *recovery.Recovery
	conversations *conversation.Conversations
	intake        *delivery.Intake
	outbox        *delivery.Outbox
	search        *search.Index
	memory        *memory.Memory
	reviews       *review.Reviewer
	notices       *notices.Notices
	budget        *budget.Ledger
	approvals     *approval.Book
	jobs          *schedule.Book
	reloading     *reloading
}

// watchers are the goroutines that watch a running gateway, which end with ctx, and what else lasts as long as it.
type watchers struct {
	sync.WaitGroup
	ctx  context.Context
	stop context.CancelFunc
	// connections are those to the models' providers.
	connections connections
}

// Spawn starts the program of a platform (process.Registry.Spawn). Before Run and behind a stop it fails.
func (g *Gateway) Spawn(ctx context.Context, spec process.Spec) (*process.Process, error) {
	return g.procs.Spawn(ctx, spec)
}

// Ready is closed when the gateway takes messages and every adapter has had its first attempt.
func (g *Gateway) Ready() <-chan struct{} { return g.lifecycle.ready }

// End is how a life ended.
type End struct {
	ExitCode int
	// Report is the stop's; nil if the gateway never came so far that it had one.
	Report *ops.Shutdown
}

// Run opens the store, resumes the sessions, connects the platforms and serves until a stop has run to its end. When ctx
// ends, a graceful stop begins. It is called once. The error is about a start that failed; what it had opened is closed.
func (g *Gateway) Run(ctx context.Context) (End, error) {
	for _, w := range g.health.Warnings(time.Now()) {
		g.opts.Log.Warn("warning", "code", w.Code, "text", w.Message)
	}
	for _, name := range slices.Sorted(maps.Keys(g.opts.Broken)) { // where a service's owner looks (TF19)
		err := g.opts.Broken[name]
		variable := ""
		if lacks, is := errors.AsType[*adapter.CredentialsError](err); is {
			variable = lacks.Variable
		}
		g.opts.Log.Warn("adapter needs credentials", "adapter", name, "variable", variable, "error", term.Clean(err.Error(), 300))
	}
	err := g.open(ctx)
	if !g.lifecycle.endStart(err) && err != nil {
		g.close()
		return End{ExitCode: 1}, err
	}
	adapting, stopAdapting := context.WithCancel(context.WithoutCancel(ctx))
	defer stopAdapting()
	supervised := make(chan struct{})
	go func() {
		defer close(supervised)
		if g.lifecycle.serve() {
			g.recovery.TakeUp(adapting)
			g.recovery.VerifyLater(adapting, g.lifecycle.ready)
			_ = g.adapters.Run(adapting) // it ends with its context alone
		}
	}()
	for _, watch := range []func(context.Context){g.watch, g.reloading.watch, g.health.WatchStore, g.recovery.Beat, g.jobs.Watch, g.hooks.Run} {
		g.watchers.Go(func() { watch(g.watchers.ctx) })
	}
	g.watchers.Go(func() { g.rates.Run(g.watchers.ctx, g.levels) })
	g.watchers.Go(func() { g.awaitFirstAttempts(ctx) })
	select { // no deadline: it serves until a stop is asked for
	case <-ctx.Done():
		g.Stop(StopRequest{Mode: ops.ModeGraceful, Reason: "its owner ended", By: "the gateway"})
	case <-g.lifecycle.stopping:
	}
	run := g.lifecycle.Run()
	<-run.Done() // bounded by the plan and its watchdog
	report := run.Report()
	g.opts.Host.Over(report.ExitCode)

	stopAdapting()
	g.close()
	g.await(supervised, "adapters")
	return End{ExitCode: report.ExitCode, Report: &report}, nil
}

// Readiness is health.Health.Readiness: why the gateway takes no messages; nil if it does.
func (g *Gateway) Readiness(ctx context.Context) error { return g.health.Readiness(ctx) }

func (g *Gateway) awaitFirstAttempts(ctx context.Context) {
	select {
	case <-g.adapters.FirstAttempts(): // bounded by the supervisor
		close(g.lifecycle.ready)
		g.tell(func(n Notifier) error { return n.Ready(g.statusLine()) })
		g.background.Start(ctx, "finish forgetting", "", g.FinishForgetting)
		g.notices.Back(g.recovery.LastEnd(), g.recovery.CutOff(), g.health.Started())
		g.events.Emit(ops.EventGatewayState, "gateway", "running", ops.GatewayChange{State: ops.StateRunning})
	case <-g.lifecycle.stopping:
	case <-ctx.Done():
	}
}

// closeProcesses closes the registry. A next life that this program starts is to find the control group that it is in.
func (g *Gateway) closeProcesses(ctx context.Context) error {
	if g.StartsNext() {
		g.procs.Stay()
	}
	return g.procs.Close(ctx)
}

// closeBound is what Run may take after the plan is over, for goroutines that have nothing left to do.
const closeBound = 300 * time.Millisecond

// close lets go of what the stop leaves behind, and of what a failed start had opened.
func (g *Gateway) close() {
	g.watchers.stop()
	g.conversations.Cancel()
	if err := g.watchers.connections.Close(); err != nil {
		g.opts.Log.Warn("model connections not closed", "error", err.Error())
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeBound)
	defer cancel()
	if err := g.trust.environments.CloseAll(ctx); err != nil {
		g.opts.Log.Warn("environments not closed", "event", ops.LogEnvironment, "error", err.Error())
	}
	if err := g.held.CloseAll(ctx); err != nil {
		g.opts.Log.Warn("held resources not closed", "error", err.Error())
	}
	if err := g.closeProcesses(ctx); err != nil {
		g.opts.Log.Warn("process registry not closed", "error", err.Error())
	}
	if err := g.search.Close(ctx); err != nil {
		g.opts.Log.Warn("search index not closed", "error", err.Error())
	}
	if st := g.recovery.Store(); st != nil {
		if err := st.Close(ctx); err != nil {
			g.opts.Log.Warn("store not closed", "error", err.Error())
		}
	}
	done := make(chan struct{})
	go func() { // ends with the last worker; a wedged one keeps it until the process ends
		g.conversations.Wait()
		g.watchers.Wait()
		close(done)
	}()
	g.await(done, "turns")
}

func (g *Gateway) await(done <-chan struct{}, what string) {
	select {
	case <-done:
	case <-time.After(closeBound):
		g.opts.Log.Warn("still running at exit", "what", what)
	}
}

// open does what a start does before messages come.
func (g *Gateway) open(ctx context.Context) error {
	ctx, cancel := g.lifecycle.beginStart(ctx)
	defer cancel()
	if err := g.openStore(ctx); err != nil {
		return err
	}
	if err := g.recovery.Begin(ctx); err != nil {
		return err
	}
	if err := g.openPeople(ctx); err != nil {
		return err
	}
	g.budget.Open(ctx, g.recovery.Store())
	if err := g.openApprovals(ctx); err != nil {
		return err
	}
	if err := g.openJobs(ctx); err != nil {
		return err
	}
	if err := g.procs.Open(ctx); err != nil {
		return err
	}
	g.trust.environments.Open()
	g.servers.Open()
	g.background.Start(ctx, "look at environments", "", g.warnOfEnvironments)
	if g.config().Process.Survivors == config.SurvivorsAdopt && g.recovery.Resumes() {
		g.recovery.Adopt(ctx, g.procs)
	}
	g.background.Start(ctx, "sweep earlier lives", "", func(ctx context.Context) {
		g.recovery.Sweep(ctx, g.procs)
		g.sweepBrowsers(ctx)
	})
	return nil
}

// openStore opens the store and gives it to the rooms that keep something in it.
func (g *Gateway) openStore(ctx context.Context) error {
	st, err := g.recovery.OpenStore(ctx)
	if err != nil {
		return err
	}
	g.outbox.Open(st, g.adapters)
	g.opts.Media.Open(g.adapters, g.outbox, g.table.Target)
	g.intake.Open(st)
	g.notices.Open(st)
	g.memory.Open(st)
	g.conversations.Open(st, g.intake)
	g.health.Opened(st)
	if g.opts.Home.Search != "" && g.health.Damage() == "" {
		g.search.Start(st, g.lifecycle.ready)
	}
	return nil
}

// newID makes a unique id that sorts by time.
func newID() string { return ulid.Make().String() }

// When what is older than store.Retention is deleted.
const (
	retentionEvery = 24 * time.Hour
	retentionFirst = time.Hour // by then a time service has set the clock (HF21)
)

// watch does what no request asks for: sessions that expire, turns that stall, agents that were idle for too long, and
// what is not saved yet. It returns when ctx ends.
func (g *Gateway) watch(ctx context.Context) {
	every := g.watchEvery()
	tick, old := time.NewTicker(every), time.After(retentionFirst)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-old:
			if g.health.Damage() == "" && !g.health.ClockDoubted() {
				old = time.After(retentionEvery)
				g.background.Start(ctx, "retention", "", func(ctx context.Context) {
					g.recovery.Prune(ctx)
					g.search.Sweep()
				})
			} else {
				old = time.After(retentionFirst)
			}
		case now := <-tick.C:
			if next := g.watchEvery(); next != every { // the config has changed
				every = next
				tick.Reset(every)
			}
			g.health.Check(ctx, now)
			g.watchJobs(now)
			g.conversations.Expire(ctx, now)
			g.conversations.EscalateStalls(ctx, now)
			g.table.Settle(now)
			g.conversations.SweepAgents(now)
			g.conversations.FlushUnsaved(ctx)
			g.memory.Retry(ctx, now)
			g.outbox.RetryDue(now)
			g.notices.Tick(now)
		}
	}
}

// watchEvery is a small part of the shortest limit that is watched, so that none is overrun by much.
func (g *Gateway) watchEvery() time.Duration {
	cfg, shortest := g.config(), time.Minute
	for _, d := range []time.Duration{cfg.Agent.StallWarn.Duration, cfg.Agent.StallAfter.Duration, cfg.Agent.CacheIdle.Duration, cfg.Session.IdleReset.Duration} {
		if d > 0 {
			shortest = min(shortest, d)
		}
	}
	return max(shortest/10, 20*time.Millisecond)
}
