package gateway

import (
	"fmt"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/shutdown"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

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
