package gateway

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"gatewaytui/core/acp"
	"gatewaytui/core/adapter"
	"gatewaytui/core/agent"
	"gatewaytui/core/background"
	"gatewaytui/core/config"
	"gatewaytui/core/conversation"
	"gatewaytui/core/delivery"
	"gatewaytui/core/events"
	"gatewaytui/core/health"
	"gatewaytui/core/held"
	"gatewaytui/core/hook"
	"gatewaytui/core/memory"
	"gatewaytui/core/model"
	"gatewaytui/core/notices"
	"gatewaytui/core/operator"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/rates"
	"gatewaytui/core/reap"
	"gatewaytui/core/recovery"
	"gatewaytui/core/search"
	"gatewaytui/core/session"
	"gatewaytui/core/tool"
	"gatewaytui/core/workspace"
)

// New makes a gateway, from the rooms below upwards. It does no I/O; Run does.
func New(o Options) (*Gateway, error) {
	g := &Gateway{opts: o, background: background.New(o.Log), events: events.New(), held: new(held.Set), slots: model.NewSlots(o.Config.Limits.ModelCalls)}
	first, err := g.newGeneration(o.Settings, nil)
	if err != nil {
		return nil, err
	}
	g.current.Store(first)
	g.lifecycle = newLifecycle(o.Log, g.beginShutdown, g.endProcess)
	if err := g.watchers.connections.Use(o.Models); err != nil {
		return nil, err
	}
	g.watchers.ctx, g.watchers.stop = context.WithCancel(context.Background())
	reached := bounds{}
	g.budget = g.newBudget()
	g.buildLeaves(reached)
	g.jobs = g.newJobs()
	g.approvals = g.newApprovals()
	g.trees = reap.New(g.procs, o.Config.Process.KillGrace.Duration)
	g.buildConversations(reached)
	g.buildAdapters()
	g.phases = g.newPhases()
	g.reloading = &reloading{g: g, one: make(chan struct{}, 1)}
	g.Operator = operator.New(operator.Options{
		Log: o.Log, Identity: o.Identity, Home: o.Home.Dir, APIAccess: o.APIAccess, Host: o.Host, Lifecycle: ending{g.lifecycle, g},
		Supervisor: ops.Supervisor{Name: o.Supervisor.Name, BudgetMS: ops.Millis(o.Supervisor.Budget), Source: o.Supervisor.Source},
		Table:      g.table, Cache: g.cache, Conversations: g.conversations, Intake: g.intake, Processes: g.procs, Environments: g.trust.environments, Held: g.held, Servers: g.servers, Adapters: g.adapters,
		Background: g.background, Events: g.events, Health: g.health, Recovery: g.recovery, Search: g.search, Budget: g.budget, People: g.trust.people, Inbox: []operator.InboxSource{
			g.approvals, g.budget, g.trust.people, g.reloading, g.jobs,
			missedOf{g.memory},
			operator.Conditions{Table: g.table, Conversations: g.conversations, Adapters: g.adapters, Outbox: g.outbox, Health: g.health, Servers: g.servers},
		}, Notes: notesOf{g.memory}, Rules: g.approvals, Jobs: g.jobs, Configs: g.reloading, Metrics: g.metrics, Rates: g.rates, Limits: o.Limits, Media: o.Media,
		Texts: ops.Texts(o.Config.Console.Texts), ToolsMayStop: func() (may, ask bool) {
			choice := g.config().Tools.MayStop
			return choice != config.No, choice == config.Ask
		}, AskStop: g.askStop, KillGrace: o.Config.Process.KillGrace.Duration, NewID: newID,
	})
	if w, tight := operator.TightBudget(g.phases.Plan(), o.Supervisor.Budget); tight {
		g.health.Keep(w)
	}
	return g, nil
}

// buildLeaves makes what knows of no conversation: health, metrics, tables, what earlier lives left, processes.
func (g *Gateway) buildLeaves(reached bounds) {
	o, cfg := g.opts, g.config()
	g.health = health.New(health.Options{
		Log: o.Log, Gateway: parts{g}, Host: o.Host, Life: o.Life, Database: o.Home.Database, Limits: o.Limits, Background: g.background,
		Warnings: o.Warnings, Config: o.Home.ConfigFile,
	})
	g.trust.people = g.newPeople()
	g.metrics = g.newMetrics(g.slots)
	g.rates = rates.New(time.Now())
	g.table = session.NewTable(session.Options{
		Bounds: tableBounds(cfg),
		NewID:  newID, Owner: session.Owner, NamesOnly: !ops.Texts(cfg.Console.Texts).All(), Reached: reached.reached,
	})
	g.cache = agent.NewCache(cacheBounds(cfg))
	reached.add(g)
	g.outbox = delivery.NewOutbox(delivery.OutboxOptions{Tasks: g.background, Meter: g.metrics, Log: o.Log, NewID: newID, Manner: g.manner, Knows: func(name string) bool { return g.conversations.Knows(name) }, Files: o.Media})
	g.search = search.New(search.Options{Path: o.Home.Search, Log: o.Log, Warn: g.health.Warn})
	g.recovery = recovery.New(recovery.Options{
		Identity: o.Identity, Start: o.Start, Log: o.Log, Database: o.Home.Database, Health: g.health, Background: g.background, Outbox: g.outbox,
		Gateway: parts{g}, Lives: o.Home.Lives, Reports: o.Host, Media: o.Media,
		Retention: retention(cfg),
		OnTransaction: func(took time.Duration) { // on the store's writer: neither waits
			g.metrics.Transaction(took)
			g.search.Wake()
		},
	})
	g.procs = process.New(process.Options{
		Life: o.Life, HomeID: o.Home.ID, Journal: g.recovery, KillGrace: cfg.Process.KillGrace.Duration,
		Pass: cfg.Tools.Passes, Secrets: cfg.SecretVariables(), Redactor: o.Redactor, Log: o.Log, Guardian: cfg.Process.Guardian,
		MaxAge: cfg.Process.MaxAge.Duration, Share: shareOf(cfg.EnvironmentOf(config.EnvironmentAuto)), PerSession: cfg.Limits.Processes, Total: cfg.Limits.ProcessesTotal, OnLimit: reached.reached,
		Bounds: &process.Bounds{
			Memory: uint64(cfg.Limits.ToolsMemory), TreeMemory: uint64(cfg.Limits.TreeMemory),
			Processes: uint64(cfg.Limits.ToolsProcesses), TreeProcesses: uint64(cfg.Limits.TreeProcesses),
		},
		OnEvent: func(typ ops.EventType, row ops.Process, text string) {
			g.events.Emit(typ, strconv.Itoa(row.PID), text, ops.ProcessChange{Owner: row.Owner, PID: row.PID, Session: row.Session})
			if typ == ops.EventProcessExited {
				g.notices.ProcessEnded(row.PID)
			}
		},
	})
	g.trust.environments = g.newEnvironments()
	g.browsers = g.newBrowsers()
	g.servers = g.newServers()
	g.held.Add("servers", g.servers.Holder())
	g.hooks = hook.New(hook.Options{Events: g.events, Processes: g.procs, Dir: g.workdir(), Log: o.Log})
	g.hooks.Use(o.Hooks)
	g.held.Add("hooks", g.hooks)
	g.externals = acp.New(acp.Options{Processes: g.procs, Workdir: g.workdir(), KillGrace: cfg.Process.KillGrace.Duration, Log: o.Log})
	g.held.Add("external agents", g.externals)
	g.reviews = g.newReviews()
	g.memory = g.newMemory()
	g.notices = notices.New(notices.Options{
		Homes: cfg.Homes(), Outbox: g.outbox, Sessions: g.table, Tasks: g.background, Log: o.Log, Life: o.Life,
		Process: g.procs.Get, Stopping: g.lifecycle.stopping,
	})
}

// buildConversations makes what works on messages.
func (g *Gateway) buildConversations(reached bounds) {
	o, setup := g.opts, g.setup(g.now())
	g.table.Use(tableBounds(g.config()), setup)
	g.conversations = conversation.New(conversation.Options{
		Table: g.table, Cache: g.cache, Budget: g.budget,
		Workspace: workspace.New(g.workdir(), func(name string, err error) {
			g.opts.Log.Warn("file of the work folder not read", "event", ops.LogWorkspace, "file", name, "error", err.Error())
		}),
		Media:     o.Media,
		Processes: g.procs, Environments: g.ends(), Held: g.held, Outbox: g.outbox, News: news{g}, Notes: g.memory, Reviews: g.reviews, Approvals: g.approvals, Jobs: g.jobs, Gate: parts{g}, Tasks: g.background, Events: g.events, Meter: meter{g}, Log: o.Log,
		Life: o.Life, NewID: newID, Reached: reached.reached, Stopping: g.lifecycle.stopping, People: g.trust.people, LetIn: g.letIn,
		Status: func(ctx context.Context) (ops.Status, error) { return g.Status(ctx) },
		Find: func(ctx context.Context, text string, own conversation.Own, limit int) (ops.Found, error) {
			return g.search.Find(ctx, search.Query{Text: text, Session: own.Session, Platform: own.Platform, User: own.User, Limit: limit})
		},
	}, setup)
	g.intake = delivery.NewIntake(delivery.IntakeOptions{
		Table: g.table, Gateway: parts{g}, Conversations: g.conversations, People: g.trust.people, Outbox: g.outbox,
		Events: g.events, Tasks: g.background, Meter: g.metrics, Log: o.Log, NewID: newID,
	})
}

// buildAdapters makes the platforms of the config.
func (g *Gateway) buildAdapters() {
	o := g.opts
	g.adapters = adapter.NewSupervisor(adapter.Options{
		CallTimeout: o.Config.Shutdown.AdapterTimeout.Duration, SendTimeout: delivery.SendTimeout, Receiver: receiver{g.intake, g}, Log: o.Log,
		Teardown: func(name string) time.Duration {
			b, _ := g.config().Adapters.Bot(name)
			return b.Teardown
		},
		OnState: func(a ops.Adapter) {
			g.adapterChanged(a)
			g.notices.AdapterChanged(a)
			g.outbox.Connected(a)
			g.showMenu(a)
		},
	})
	for _, p := range o.Platforms {
		g.adapters.Add(p)
	}
	for name, err := range o.Broken {
		g.adapters.AddBroken(name, err)
	}
}

// manner is how the config says that the chat of a session is treated.
func (g *Gateway) manner(key string) delivery.Manner {
	c := g.config().ChatOf(key, g.roleIn(key))
	rules := delivery.Rules{Mention: delivery.Mention(c.Mention), Sessions: delivery.Sessions(c.Sessions)}
	return delivery.Manner{Progress: delivery.Progress(c.Progress), Stream: c.Stream == config.StreamEdit, Draft: c.Stream == config.StreamDraft, Busy: session.KnownBusy(c.Busy), Join: c.Join.Duration, Sign: g.adapters.CommandSign(session.Platform(key)), Rules: rules}
}

// ends are what ends the environments of sessions.
func (g *Gateway) ends() reap.Environments {
	return reap.Environments{Trees: g.trees, Held: g.trust.environments}
}

// roster is the agents and the routes of a generation.
func (g *Gateway) roster(of *generation) *agent.Roster {
	cfg := of.Config
	all := cfg.AgentsByName()
	var definitions []agent.Definition
	for _, name := range config.Names(all) {
		d := all[name]
		definitions = append(definitions, agent.Definition{Name: name, Models: d.Models, Prompt: d.Text, Tools: g.tools(of, cfg.Callable(d)), More: g.servers.View(d.Servers, g.approvals.Gate(of.terms)).Tools, External: g.external(of, name, d), Skills: d.Skills, Budget: d.Budget})
	}
	var routes []agent.Route
	for _, r := range cfg.Routes {
		routes = append(routes, agent.Route{Match: r.Match, Role: ops.Role(r.Role), Agent: r.Agent})
	}
	return agent.NewRoster(of.Models, definitions, routes)
}

// workdir is the folder in which agents work. A change of it needs a restart.
func (g *Gateway) workdir() string { return cmp.Or(g.opts.Config.Tools.Workdir, g.opts.Home.Workdir) }

// modelNames are the names of all models of a pool.
func modelNames(p *model.Pool) (names []string) {
	for _, m := range p.Models() {
		names = append(names, m.Name)
	}
	return names
}

// tools are those with these names. No result holds a known value of a secret (HF23).
func (g *Gateway) tools(of *generation, names []string) *tool.Set {
	cfg := of.Config
	var notes tool.Notes
	if cfg.Memory.Provider != memory.None {
		notes = g.memory
	}
	set := tool.Enabled(g.procs, tool.Options{
		Timeout: cfg.Tools.Timeout.Duration, OutputLimit: int(cfg.Tools.OutputLimit), Workdir: g.workdir(), Folder: of.Folder,
		KillGrace: cfg.Process.KillGrace.Duration, Keep: cfg.Process.Survivors == config.SurvivorsAdopt, Files: g.opts.Media, Notes: notes, Gate: g.approvals.Gate(of.terms), Hosts: &g.trust.hosts, Asker: g.approvals, Jobs: g.jobs,
		Environments: g.trust.environments.With(of.places), RunsAsRoot: g.runsAsRoot,
		Web: of.web, Reaches: of.reaches,
	}, names).Masking(g.opts.Redactor.Mask)
	own := set.Names()
	return set.Counting(func(name, result string) { g.metrics.ToolCalled(own, name, result) })
}
