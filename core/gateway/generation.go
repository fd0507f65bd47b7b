package gateway

import (
	"time"

	"gatewaytui/core/address"
	"gatewaytui/core/agent"
	"gatewaytui/core/approval"
	"gatewaytui/core/budget"
	"gatewaytui/core/config"
	"gatewaytui/core/conversation"
	"gatewaytui/core/environment"
	"gatewaytui/core/fence"
	"gatewaytui/core/files"
	"gatewaytui/core/hook"
	"gatewaytui/core/model"
	"gatewaytui/core/process"
	"gatewaytui/core/recovery"
	"gatewaytui/core/session"
	"gatewaytui/core/web"
	"gatewaytui/core/window"
)

// Settings are what a config is made into outside of the gateway.
type Settings struct {
	Config config.Config
	Models *model.Pool
	// Fence judges the commands that run in an environment, with the rules of the config; nil: there are none.
	Fence func(fence.Environment) *fence.Fence
	// Folder is the work folder of the agents, for the tools of the group files.
	Folder *files.Folder
	// Hooks get the events of the gateway.
	Hooks []hook.Spec
}

// generation is a config in force. It never changes: a reload makes the next one, and turns keep the one that they began with (OP4).
type generation struct {
	// number counts the generations of a life from 1. made is the one that last changed what agents are made from.
	number, made int
	Settings
	daily time.Duration
	terms *approval.Terms
	// places is where commands run, free the models whose calls cost nothing.
	places environment.Setup
	free   map[string]bool
	// guard decides to which addresses pages connect, and web fetches pages and searches.
	guard *address.Guard
	web   *web.Client
	// secrets are the variables that no child sees: those of this config and of all before it in this life.
	secrets []string
}

// newGeneration makes the generation that follows before, which is nil at the start. It does no I/O.
func (g *Gateway) newGeneration(s Settings, before *generation) (*generation, error) {
	daily, err := session.ParseDaily(s.Config.Session.DailyReset)
	if err != nil {
		return nil, err
	}
	next := &generation{number: 1, made: 1, Settings: s, daily: daily, free: map[string]bool{}, secrets: s.Config.SecretVariables()}
	if before != nil {
		next.number = before.number + 1
		next.made = next.number
		next.secrets = append(next.secrets, before.secrets...)
	}
	agents := s.Config.AgentsByName()
	next.terms = approval.NewTerms(s.Config.Approvals.Expire.Duration, s.Config.Approvals.AlwaysExpires.Duration, func(e fence.Environment) *fence.Fence { return g.fence(s, e) },
		func(agent string) approval.Mode {
			if d, known := agents[agent]; known {
				return approval.Mode(d.Approvals)
			}
			return approval.ModeFence
		})
	next.places = environment.Setup{
		Definitions: map[string]environment.Definition{}, Agents: map[string]string{},
		Env: func(agent string) []string { return variables(agents[agent]) },
	}
	for name, e := range s.Config.Environments {
		next.places.Definitions[name] = definitionOf(name, e)
	}
	for name, d := range agents {
		next.places.Agents[name] = d.Environment
	}
	if err = next.useWeb(); err != nil {
		return nil, err
	}
	for _, m := range s.Models.Models() {
		next.free[m.Label()] = freeOf(s.Config, m.Name)
	}
	return next, nil
}

// now is the generation in force.
func (g *Gateway) now() *generation { return g.current.Load() }

// config is the config in force.
func (g *Gateway) config() config.Config { return g.now().Config }

// put puts a generation in force. Each room takes its part at once; turns that run keep the one that they began with.
func (g *Gateway) put(next *generation) {
	cfg := next.Config
	g.current.Store(next)
	g.trust.people.Use(accessRules(cfg, g.opts.Open))
	g.approvals.Use(next.terms)
	g.budget.Use(budgetLimits(cfg))
	g.trust.environments.Use(next.places)
	g.servers.Use(serversOf(cfg))
	g.hooks.Use(next.Hooks)
	g.procs.SetRules(next.processes())
	g.cache.Use(cacheBounds(cfg))
	g.recovery.Use(retention(cfg))
	g.notices.Use(cfg.Homes())
	g.memory.Use(cfg.Memory.Provider)
	g.jobs.Use(jobsOf(cfg))
	setup := g.setup(next)
	g.conversations.Use(setup)
	g.table.Use(tableBounds(cfg), setup)
}

// setup is what conversations take from a generation. The tools of its agents keep the generation's judgement and environments.
func (g *Gateway) setup(of *generation) *conversation.Setup {
	cfg := of.Config
	s := &conversation.Setup{
		Number: of.number, Made: of.made,
		Agent: agent.Config{
			Slots: g.slots, Processes: g.trees, Environments: g.ends(), Held: g.held,
			Context:   window.Policy{PruneAt: cfg.Context.PruneAt, CompactAt: cfg.Context.CompactAt, CompactTo: cfg.Context.CompactTo, Keep: cfg.Context.Keep},
			KillGrace: cfg.Process.KillGrace.Duration, MaxIterations: cfg.Agent.MaxIterations, Delegates: cfg.Limits.Delegates, Log: g.opts.Log, Called: meter{g}.called,
		},
		Roster: g.roster(of),
		Policy: session.Policy{Idle: cfg.Session.IdleReset.Duration, Daily: of.daily},
		Bounds: conversation.Bounds{
			CallsPerTurn: cfg.Limits.CallsPerTurn, Background: cfg.Limits.Background,
			StallWarn: cfg.Agent.StallWarn.Duration, StallAfter: cfg.Agent.StallAfter.Duration,
			AgentClose: cfg.Shutdown.AgentTimeout.Duration, KillGrace: cfg.Process.KillGrace.Duration, InterruptGrace: cfg.Shutdown.InterruptGrace.Duration,
		},
		Route: cfg.RouteOf,
	}
	if name := cfg.Context.Model; name != "" { // else each agent's own model summarises
		s.Agent.Summariser = of.Models.Chain(name)
	}
	return s
}

// processes are the rules of a generation for what tools start.
func (of *generation) processes() process.Rules {
	cfg := of.Config
	return process.Rules{
		Pass: cfg.Tools.Passes, Secrets: of.secrets, Share: shareOf(cfg.EnvironmentOf(config.EnvironmentAuto)),
		PerSession: cfg.Limits.Processes, Total: cfg.Limits.ProcessesTotal,
	}
}

func tableBounds(cfg config.Config) session.Bounds {
	return session.Bounds{QueueLimit: cfg.Session.QueueLimit, Turns: cfg.Limits.Turns, QueuedBytes: int64(cfg.Limits.QueuedBytes)}
}

func cacheBounds(cfg config.Config) agent.CacheOptions {
	return agent.CacheOptions{Max: cfg.Agent.CacheSize, Idle: cfg.Agent.CacheIdle.Duration, Bytes: int64(cfg.Agent.CacheMemory)}
}

func retention(cfg config.Config) recovery.Retention {
	r := cfg.Retention
	return recovery.Retention{Transcripts: r.Transcripts.Duration, ToolOutputs: r.ToolOutputs.Duration, Media: r.Media.Duration, Audit: r.Audit.Duration}
}

func budgetLimits(cfg config.Config) map[string]budget.Limits {
	limits := map[string]budget.Limits{}
	for name, b := range cfg.BudgetsByName() {
		limits[name] = budget.Limits{
			Turn: budget.Of(b.PerTurn), Session: budget.Of(b.PerSession), Person: budget.Of(b.PerPerson), JobRun: budget.Of(b.PerJobRun),
			Day: budget.Of(b.PerDay), Month: budget.Of(b.PerMonth), TokensPerDay: int64(b.TokensPerDay),
		}
	}
	return limits
}
