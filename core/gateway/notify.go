package gateway

import (
	"fmt"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/shutdown"
	"gatewaytui/core/term"
)

// notify tells the service manager something, if there is one.
func (g *Gateway) notify(say func(Notifier) error) {
	if g.opts.Notify == nil {
		return
	}
	if err := say(g.opts.Notify); err != nil {
		g.log.Debug("service manager not told", "error", term.Clean(err.Error(), 300))
	}
}

// notifyPhase keeps the service manager informed of a stop: what runs, and what it waits for (systemctl status).
func (g *Gateway) notifyPhase(e shutdown.Event) {
	if e.Type != ops.EventShutdownPhase || e.Phase.State != ops.StepRunning {
		return
	}
	text := fmt.Sprintf("stopping: %s, at most %s", e.Phase.Name, time.Duration(e.Phase.BudgetMS)*time.Millisecond)
	if len(e.Blockers) > 0 {
		text += ", waiting for " + term.Clean(e.Blockers[0], 120)
		if more := len(e.Blockers) - 1; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
	}
	g.notify(func(n Notifier) error { return n.Status(text) })
}

// ReadinessChanged implements health.Gateway.
func (g *Gateway) ReadinessChanged(reason string) {
	text := g.statusLine()
	if reason != "" {
		text = "not ready: " + term.Clean(reason, 200)
	}
	g.notify(func(n Notifier) error { return n.Status(text) })
}

// statusLine is what a service manager shows of a gateway that runs.
func (g *Gateway) statusLine() string {
	connected, all := g.adapters.Counts()
	return fmt.Sprintf("running, %d of %d adapters connected", connected, all)
}
