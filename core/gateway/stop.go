package gateway

import (
	"context"
	"fmt"
	"io"
	"runtime/pprof"
	"time"

	"gatewaytui/core/instance"
	"gatewaytui/core/operator"
	"gatewaytui/core/ops"
	"gatewaytui/core/phases"
	"gatewaytui/core/shutdown"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// StopRequest asks for the end of the gateway.
type StopRequest = operator.StopRequest

// Stop begins the shutdown and returns its id at once. A stop that is asked for while one runs joins it: it can make it
// stronger and never begins a second one; began is then false. During a start it ends the start first.
func (g *Gateway) Stop(rq StopRequest) (id string, began bool) { return g.lifecycle.Stop(rq) }

// beginShutdown starts the shutdown that rq asks for.
func (g *Gateway) beginShutdown(rq StopRequest) *shutdown.Run {
	exit := rq.ExitCode
	if exit == 0 && rq.Restart {
		exit = ops.ExitRestart
	}
	return shutdown.Start(g.phases.Plan(), shutdown.Options{
		ID: rq.ID, Life: g.opts.Life, Reason: rq.Reason, By: rq.By, Mode: rq.Mode, Restart: rq.Restart, ExitCode: exit, Limit: g.opts.Supervisor.Budget,
		Save: g.opts.Host.SaveReport, Observe: func(e shutdown.Event) {
			g.tellPhase(e)
			g.phases.Observe(e)
		}, Log: g.opts.Log, Exit: g.opts.Host.Exit, Dump: g.opts.Host.Dump,
		Stacks: func(w io.Writer) error { return pprof.Lookup("goroutine").WriteTo(w, 1) },
	})
}

// endProcess ends the process because its start ignored its cancellation.
func (g *Gateway) endProcess() {
	g.opts.Log.Error("startup ignored cancellation")
	g.opts.Host.Dump()
	g.opts.Host.Exit(shutdown.ExitWatchdog)
}

// StartsNext reports whether the stop that runs, or ran, is a restart after which only this process would start the next
// life: no service manager does, and who asked left it to the gateway, or is a tool of the gateway, which the stop ends (B7).
func (g *Gateway) StartsNext() bool {
	rq := g.lifecycle.Stopped()
	return rq.Restart && rq.Respawn && g.opts.Supervisor.Name == ""
}

// ending is the gateway as its operator and the phases of its stop see it.
type ending struct {
	*lifecycle
	g *Gateway
}

var (
	_ operator.Lifecycle = ending{}
	_ phases.Gateway     = ending{}
)

// Plan is the stop as it would run now.
func (e ending) Plan() shutdown.Plan { return e.g.phases.Plan() }

// Budget is what the service manager allows a stop; 0 is unknown.
func (e ending) Budget() time.Duration { return e.g.opts.Supervisor.Budget }

// Extended asks the service manager for more time, because an operator extended the stop.
func (e ending) Extended(by time.Duration) {
	e.g.tell(func(n Notifier) error { return n.Extend(by) })
}

func (e ending) Stopping(reason string) {
	e.g.tell(func(n Notifier) error { return n.Stopping("stopping: " + term.Clean(reason, 120)) })
}

func (e ending) Mark(m instance.Marker) error { return e.g.opts.Host.Mark(m) }

func (e ending) StopWatchers() { e.g.watchers.stop() }

func (e ending) Refuse() { e.g.procs.Refuse() }

func (e ending) CloseProcesses(ctx context.Context) error { return e.g.closeProcesses(ctx) }

// newPhases are the phases of the gateway's stop.
func (g *Gateway) newPhases() *phases.Phases {
	return phases.New(phases.Options{
		Config: g.config, Log: g.opts.Log, Gateway: ending{g.lifecycle, g}, Table: g.table, Cache: g.cache, Trees: g.trees, Environments: g.trust.environments, Held: g.held,
		Conversations: g.conversations, Notices: g.notices, Approvals: g.approvals, Outbox: g.outbox, Adapters: g.adapters, Background: g.background,
		Events: g.events, Health: g.health, Recovery: g.recovery, Search: g.search, SearchFile: g.opts.Home.Search,
		Stores: g.opts.Stores, Surrender: g.opts.Surrender,
	})
}

// tell tells the service manager something, if there is one.
func (g *Gateway) tell(say func(Notifier) error) {
	if g.opts.Supervisor.Notify == nil {
		return
	}
	if err := say(g.opts.Supervisor.Notify); err != nil {
		g.opts.Log.Debug("service manager not informed", "error", term.Clean(err.Error(), 300))
	}
}

// tellPhase keeps the service manager informed of a stop: what runs, and what it waits for (systemctl status).
func (g *Gateway) tellPhase(e shutdown.Event) {
	if e.Type != ops.EventShutdownPhase || e.Phase.State != ops.StepRunning {
		return
	}
	status := fmt.Sprintf("stopping: %s, at most %s", e.Phase.Name, text.Exact(time.Duration(e.Phase.BudgetMS)*time.Millisecond))
	if len(e.Blockers) > 0 {
		status += ", waiting for " + term.Clean(e.Blockers[0], 120)
		if more := len(e.Blockers) - 1; more > 0 {
			status += fmt.Sprintf(" and %d more", more)
		}
	}
	g.tell(func(n Notifier) error { return n.Status(status) })
}

// statusLine is what a service manager shows of a gateway that runs.
func (g *Gateway) statusLine() string {
	connected, all := g.adapters.Counts()
	return fmt.Sprintf("running, %d of %d adapters connected", connected, all)
}
