// Package gateway is the runner: it owns sessions and turns, joins platforms, agents, tools and the store, builds the
// shutdown plan, and answers ops.Console.
//
// A gateway's life reads from top to bottom: New (no I/O) and Run in this file; Receive, by which every message comes
// (receive.go), and the turn that works on it (turn.go) with its agent (agents.go) and transcript (memory.go); what chats
// are answered (outbox.go), and what earlier lives left (life.go, load.go, recover.go); chat commands (commands.go); what
// is watched (watch.go); the operator's view (console.go) and verbs (verbs.go); the stop (stop.go) and its plan (plan.go).
//
// What it promises: one turn a session, durable before it begins and before its answer is sent; whatever hangs, a stop
// ends within its plan; no lock is held over I/O, a close or a send; every goroutine is in workers, in background or in a
// part that Run closes.
package gateway

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"gatewaytui/core/adapter"
	"gatewaytui/core/agent"
	"gatewaytui/core/background"
	"gatewaytui/core/config"
	"gatewaytui/core/conversation"
	"gatewaytui/core/delivery"
	"gatewaytui/core/events"
	"gatewaytui/core/health"
	"gatewaytui/core/limit"
	"gatewaytui/core/lives"
	"gatewaytui/core/metrics"
	"gatewaytui/core/model"
	"gatewaytui/core/operator"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/recovery"
	"gatewaytui/core/session"
	"gatewaytui/core/term"
)

// Closer is something that the gateway's owner made and that the stop closes in its phase.
type Closer struct {
	Kind, ID string
	Close    func(ctx context.Context) error
}

// Identity names a life and its process.
type Identity = recovery.Identity

// Start is what the start found in the home, and what its operator asked for.
type Start = recovery.Start

// File is a new private file.
type File = operator.File

// Options are what a gateway is made of. Everything but Config, Log, Models, Life and Database may be left empty in a
// program without a home of its own.
type Options struct {
	Config config.Config
	Log    *slog.Logger
	Models model.Provider
	// Platforms are the adapters to connect; Broken those that the config enables and that cannot be built, with why.
	Platforms []adapter.Platform
	Broken    map[string]error

	// Identity names this life and its process, Start what the start found and was asked for.
	Identity
	Start
	// Home and HomeID name the home, Database its SQLite file, Workdir where tools work.
	Home, HomeID, Database, Workdir string
	// ClockConfirmed reports whether a time service vouches for the wall clock; nil: none does.
	ClockConfirmed func(wall time.Time) bool
	// Booted is how long ago the machine started, the time that it slept included; nil: no clock measures that.
	Booted func() time.Duration
	// Demo tells what a demo shows about itself; nil on a gateway that is none. It is called without a lock held.
	Demo func() *ops.Demo
	// Redactor knows the secrets; nil masks what looks like one.
	Redactor *term.Redactor
	// Warnings are what the start already noticed.
	Warnings []ops.Warning
	// Limits are the bounds that are kept elsewhere than in the gateway, which adds its own; nil: there are none.
	Limits *limit.Set

	// SupervisorName names the service manager, empty where there is none. SupervisorBudget is what it allows a stop, 0 for
	// no limit and if unknown; SupervisorSource says where that is from.
	SupervisorName   string
	SupervisorBudget time.Duration
	SupervisorSource string
	// Notify tells the service manager how the life goes; nil tells nobody.
	Notify Notifier

	// ConfigFile is the config's file as it was read, and ConfigChanged reads it again and reports whether it has changed
	// since; nil never does.
	ConfigFile    ops.ConfigFile
	ConfigChanged func() (bool, error)

	// APIListen tells where the api adapter listens.
	APIListen func() string
	// APIAccess is whom the api adapter serves; nil: there is none.
	APIAccess *ops.APIAccess
	// MetricsListen tells where the metrics listener listens, and what is wrong with it if its code is not empty. nil: there
	// is none.
	MetricsListen func() (addr string, trouble ops.Warning)
	// LogTrouble tells why lines cannot be written to the log file at the moment, and since when; an empty text: they can. It
	// must not wait. nil: there is no file.
	LogTrouble func() (text string, since time.Time)
	// Mark writes the clean-shutdown marker. SaveReport keeps the report of a stop where it survives a SIGKILL, and
	// LastReport reads the one of an earlier life; an error says that there is one that cannot be used. Diagnosis opens a new private file for a diagnosis.
	Mark       func(Mark) error
	SaveReport func(ops.Shutdown) error
	LastReport func(life string) (r ops.Shutdown, found bool, err error)
	Diagnosis  func() (File, error)
	// Lives is the list of past lives next to the database; nil keeps none.
	Lives *lives.List
	// Dump writes every goroutine's stack; the watchdog calls it before Exit.
	Dump func()
	Exit func(code int)
	// Over is told the exit code when the stop has run to its end, and its watchdog with it: what comes after is for the
	// owner to bound. nil is nobody.
	Over func(code int)
	// Stores are closed beside the store; Surrender in its order, last of all.
	Stores, Surrender []Closer
}

// Mark is what a planned stop says of itself before anything that can wait.
type Mark struct {
	Reason, By string
	At         time.Time
	// Damaged says that the database is known to be damaged: the next start reads it before it writes to it.
	Damaged bool
}

// Notifier is the way to a service manager (sd_notify(3)). Its methods never wait; an error is worth a log line.
type Notifier interface {
	Ready(status string) error
	Stopping(status string) error
	Status(text string) error
	// Extend asks for more time than the manager was going to give, for an operator's extension only.
	Extend(by time.Duration) error
}

// Gateway is one gateway. Its methods may be called from any goroutine, before Run and after it too.
type Gateway struct {
	// Operator is the console of the gateway.
	*operator.Operator

	opts Options
	cfg  config.Config
	log  *slog.Logger
	life string

	health   *health.Health
	recovery *recovery.Recovery
	table    *session.Table
	cache    *agent.Cache
	procs    *process.Registry
	slots    *model.Slots
	// limits are all bounds of the config, bounds those that the gateway itself keeps, which New makes.
	limits *limit.Set
	bounds map[string]*limit.Bound // by name
	// connections is a client that makes no call: as long as one is open the provider keeps its idle connections, also
	// while no agent is cached.
	connections   model.Client
	adapters      *adapter.Supervisor
	background    *background.Group
	events        *events.Hub
	conversations *conversation.Conversations
	commands      *conversation.Commands
	intake        *delivery.Intake
	outbox        *delivery.Outbox
	metrics       *metrics.Metrics

	watcher   sync.WaitGroup
	stopWatch context.CancelFunc
	watching  context.Context

	lifecycle *lifecycle
	manager   manager
	phases    *phases
	// trees ends the process trees of a stop.
	trees *stopKill
}

// New makes a gateway. It does no I/O; Run does.
func New(o Options) (*Gateway, error) {
	daily, err := session.ParseDaily(o.Config.Session.DailyReset)
	if err != nil {
		return nil, err
	}
	cfg := o.Config
	g := &Gateway{
		opts: o, cfg: cfg, log: o.Log, life: o.Life, manager: manager{o.Notify, o.Log},
		events: events.New(),
	}
	g.lifecycle = newLifecycle(o.Log, g.newID, g.beginShutdown, g.endProcess)
	g.watching, g.stopWatch = context.WithCancel(context.Background())
	g.slots = model.NewSlots(cfg.Limits.ModelCalls)
	if g.limits = o.Limits; g.limits == nil {
		g.limits = &limit.Set{}
	}
	g.background = background.New(o.Log)
	g.health = health.New(health.Options{
		Log: o.Log, Gateway: watched{loader{g}, g.lifecycle}, Life: o.Life, Database: o.Database, Limits: g.limits, Background: g.background, Warnings: o.Warnings,
		Config: o.ConfigFile, ConfigChanged: o.ConfigChanged, ClockConfirmed: o.ClockConfirmed, Booted: o.Booted,
	})
	g.connections = o.Models.New()
	g.metrics = g.newMetrics()
	g.table = session.NewTable(session.Options{
		QueueLimit: cfg.Session.QueueLimit, Turns: cfg.Limits.Turns, QueuedBytes: int64(cfg.Limits.QueuedBytes),
		NewID: g.newID, Owner: session.Owner, Reached: g.limitReached,
	})
	g.cache = agent.NewCache(agent.CacheOptions{Max: cfg.Agent.CacheSize, Idle: cfg.Agent.CacheIdle.Duration, Bytes: int64(cfg.Agent.CacheMemory)})
	g.addBounds()
	g.outbox = delivery.NewOutbox(delivery.OutboxOptions{Tasks: g.background, Meter: g.metrics, Log: o.Log, NewID: g.newID})
	g.recovery = recovery.New(recovery.Options{
		Identity: o.Identity, Start: o.Start, Log: o.Log, Database: o.Database, Health: g.health, Background: g.background, Outbox: g.outbox,
		Conversations: loader{g}, Intake: loader{g}, Lives: o.Lives, LastReport: o.LastReport, OnTransaction: g.metrics.Transaction,
	})
	g.procs = process.New(process.Options{
		Life: o.Life, HomeID: o.HomeID, Journal: g.recovery.Journal(), KillGrace: cfg.Process.KillGrace.Duration,
		Pass: cfg.Tools.Passes, Secrets: cfg.SecretVariables(), Redactor: o.Redactor, Log: o.Log, Guardian: cfg.Process.Guardian,
		MaxAge: cfg.Process.MaxAge.Duration, PerSession: cfg.Limits.Processes, Total: cfg.Limits.ProcessesTotal, OnLimit: g.limitReached,
		Bounds: &process.Bounds{
			Memory: uint64(cfg.Limits.ToolsMemory), TreeMemory: uint64(cfg.Limits.TreeMemory),
			Processes: uint64(cfg.Limits.ToolsProcesses), TreeProcesses: uint64(cfg.Limits.TreeProcesses),
		},
		OnEvent: func(e process.Event) {
			g.events.Emit(e.Type, strconv.Itoa(e.Process.PID), e.Text, map[string]any{"session": e.Process.Session, "pid": e.Process.PID})
		},
	})
	g.trees = &stopKill{procs: g.procs, grace: cfg.Process.KillGrace.Duration}
	g.conversations = conversation.New(conversation.Options{
		Table: g.table, Cache: g.cache,
		Agent: agent.Config{
			Models: o.Models, Slots: g.slots, Tools: tools(cfg.Tools, cfg.Process, o.Workdir, g.procs, o.Redactor), Processes: agentProcesses{g.trees},
			KillGrace: cfg.Process.KillGrace.Duration, MaxIterations: cfg.Agent.MaxIterations, Log: o.Log, Called: g.metrics.Called,
		},
		Policy: session.Policy{Idle: cfg.Session.IdleReset.Duration, Daily: daily},
		Bounds: conversation.Bounds{
			CallsPerTurn: cfg.Limits.CallsPerTurn, Background: cfg.Limits.Background,
			StallWarn: cfg.Agent.StallWarn.Duration, StallAfter: cfg.Agent.StallAfter.Duration,
			AgentClose: cfg.Shutdown.AgentTimeout.Duration, KillGrace: cfg.Process.KillGrace.Duration, InterruptGrace: cfg.Shutdown.InterruptGrace.Duration,
		},
		Processes: g.procs, Outbox: g.outbox, Gate: gate{g.lifecycle, g.health}, Tasks: g.background, Events: g.events, Meter: g.metrics, Log: o.Log,
		Life: o.Life, NewID: g.newID, Reached: g.limitReached, Stopping: g.lifecycle.stopping,
	})
	g.commands = conversation.NewCommands(g.conversations, g)
	g.intake = delivery.NewIntake(delivery.IntakeOptions{
		Table: g.table, Gate: gate{g.lifecycle, g.health}, Loader: loader{g}, Sessions: g.conversations, Commands: g.commands, Outbox: g.outbox,
		Events: g.events, Tasks: g.background, Meter: g.metrics, Log: o.Log, NewID: g.newID,
	})
	g.adapters = adapter.NewSupervisor(adapter.Options{
		CallTimeout: cfg.Shutdown.AdapterTimeout.Duration, SendTimeout: delivery.SendTimeout, Receiver: receiver{g.intake, g.procs}, Log: o.Log,
		OnState: func(a ops.Adapter) {
			g.adapterChanged(a)
			g.outbox.Connected(a)
		},
	})
	for _, p := range o.Platforms {
		g.adapters.Add(p)
	}
	for name, err := range o.Broken {
		g.adapters.AddBroken(name, err)
	}
	g.phases = &phases{
		lifecycle: g.lifecycle, cfg: cfg, manager: g.manager, conversations: g.conversations, table: g.table, cache: g.cache, adapters: g.adapters,
		background: g.background, procs: g.procs, trees: g.trees, outbox: g.outbox, events: g.events, health: g.health, recovery: g.recovery,
		budget: o.SupervisorBudget, mark: o.Mark, store: g.recovery.Store, lists: o.Lives != nil, stores: o.Stores, surrender: o.Surrender,
		stopWatching: g.stopWatch, closeProcesses: g.closeProcesses, eventsFlushed: make(chan struct{}),
	}
	g.Operator = operator.New(operator.Options{
		Log: o.Log, Identity: o.Identity, Home: o.Home, Supervisor: g.supervisor(), APIAccess: o.APIAccess, Host: host{o}, Lifecycle: g.phases,
		Table: g.table, Cache: g.cache, Conversations: g.conversations, Intake: g.intake, Processes: g.procs, Adapters: g.adapters,
		Background: g.background, Events: g.events, Health: g.health, Recovery: g.recovery, Metrics: g.metrics, Limits: g.limits,
		ToolsMayStop: cfg.Tools.MayStop != config.No, KillGrace: cfg.Process.KillGrace.Duration, NewID: g.newID,
	})
	if w, tight := g.phases.tightBudget(); tight {
		g.health.Keep(w)
	}
	return g, nil
}

// Ready is closed when the gateway takes messages and every adapter has had its first attempt.
func (g *Gateway) Ready() <-chan struct{} { return g.lifecycle.ready }

// End is how a life ended.
type End struct {
	ExitCode int
	// Report is the stop's; nil if the gateway never came so far that it had one.
	Report *ops.Shutdown
}

// Run opens the store, takes up the sessions, connects the platforms and serves until a stop has run to its end. When ctx
// ends, a graceful stop begins. It is called once. The error is about a start that failed; what it had opened is closed.
func (g *Gateway) Run(ctx context.Context) (End, error) {
	for _, w := range g.health.Warnings(time.Now()) {
		g.log.Warn("warning", "code", w.Code, "text", w.Message)
	}
	for _, name := range slices.Sorted(maps.Keys(g.opts.Broken)) { // where a service's owner looks (TF19)
		err := g.opts.Broken[name]
		variable := ""
		if lacks, is := errors.AsType[*adapter.CredentialsError](err); is {
			variable = lacks.Variable
		}
		g.log.Warn("adapter needs credentials", "adapter", name, "variable", variable, "error", term.Clean(err.Error(), 300))
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
	g.watcher.Go(func() { g.watch(g.watching) })
	g.watcher.Go(func() { g.health.WatchConfig(g.watching) })
	g.watcher.Go(func() { g.health.WatchStore(g.watching) })
	g.watcher.Go(func() { g.recovery.Beat(g.watching) })
	g.watcher.Go(func() { g.awaitFirstAttempts(ctx) })
	select { // no deadline: it serves until it is told to stop
	case <-ctx.Done():
		g.Stop(StopRequest{Mode: ops.ModeGraceful, Reason: "its owner ended", By: "the gateway"})
	case <-g.lifecycle.stopping:
	}
	run := g.lifecycle.Run()
	<-run.Done() // bounded by the plan and its watchdog
	report := run.Report()
	if g.opts.Over != nil {
		g.opts.Over(report.ExitCode)
	}

	stopAdapting()
	g.close()
	g.await(supervised, "adapters")
	return End{ExitCode: report.ExitCode, Report: &report}, nil
}

// Readiness is why the gateway takes no messages; nil if it does. Its text has no paths. It waits at most 250 ms for the disk
// of the store.
func (g *Gateway) Readiness(ctx context.Context) error { return g.health.Readiness(ctx) }

func (g *Gateway) awaitFirstAttempts(ctx context.Context) {
	select {
	case <-g.adapters.FirstAttempts(): // bounded by the supervisor
		close(g.lifecycle.ready)
		g.manager.tell(func(n Notifier) error { return n.Ready(g.statusLine()) })
		g.events.Emit(ops.EventGatewayState, "gateway", "running", map[string]any{"state": ops.StateRunning})
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
	g.stopWatch()
	g.conversations.Cancel()
	if err := g.connections.Close(); err != nil {
		g.log.Warn("model connections not closed", "error", err.Error())
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeBound)
	defer cancel()
	if err := g.closeProcesses(ctx); err != nil {
		g.log.Warn("process registry not closed", "error", err.Error())
	}
	if st := g.recovery.Store(); st != nil {
		if err := st.Close(ctx); err != nil {
			g.log.Warn("store not closed", "error", err.Error())
		}
	}
	done := make(chan struct{})
	go func() { // ends with the last worker; a wedged one keeps it until the process ends
		g.conversations.Wait()
		g.watcher.Wait()
		close(done)
	}()
	g.await(done, "turns")
}

func (g *Gateway) await(done <-chan struct{}, what string) {
	timer := time.NewTimer(closeBound)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		g.log.Warn("still running at exit", "what", what)
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
	if err := g.procs.Open(ctx); err != nil {
		return err
	}
	if g.cfg.Process.Survivors == config.SurvivorsAdopt && g.recovery.Resumes() {
		g.recovery.Adopt(ctx, g.procs)
	}
	g.background.Start(ctx, "sweep earlier lives", "", func(ctx context.Context) { g.recovery.Sweep(ctx, g.procs) })
	return nil
}

// openStore opens the store and gives it to the rooms that keep something in it.
func (g *Gateway) openStore(ctx context.Context) error {
	st, err := g.recovery.OpenStore(ctx)
	if err != nil {
		return err
	}
	g.outbox.Open(st, g.adapters)
	g.intake.Open(st)
	g.conversations.Open(st, g.intake)
	g.health.Opened(st)
	g.Opened(st)
	return nil
}

func (g *Gateway) newID() string { return ulid.Make().String() }

func (g *Gateway) supervisor() ops.Supervisor {
	return ops.Supervisor{Name: g.opts.SupervisorName, BudgetMS: ops.Millis(g.opts.SupervisorBudget), Source: g.opts.SupervisorSource}
}
