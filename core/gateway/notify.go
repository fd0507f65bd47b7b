package gateway

import (
	"fmt"
	"log/slog"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/shutdown"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// manager is the service manager, if there is one.
type manager struct {
	to  Notifier // nil: there is none
	log *slog.Logger
}

// tell tells the service manager something.
func (m manager) tell(say func(Notifier) error) {
	if m.to == nil {
		return
	}
	if err := say(m.to); err != nil {
		m.log.Debug("service manager not told", "error", term.Clean(err.Error(), 300))
	}
}

// phase keeps the service manager informed of a stop: what runs, and what it waits for (systemctl status).
func (m manager) phase(e shutdown.Event) {
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
	m.tell(func(n Notifier) error { return n.Status(status) })
}

// watched is the gateway whose health is watched.
type watched struct {
	loader
	*lifecycle
}

// ReadinessChanged implements health.Gateway.
func (w watched) ReadinessChanged(reason string) {
	g := w.g
	text := g.statusLine()
	if reason != "" {
		text = "not ready: " + term.Clean(reason, 200)
	}
	g.phases.manager.tell(func(n Notifier) error { return n.Status(text) })
}

// statusLine is what a service manager shows of a gateway that runs.
func (g *Gateway) statusLine() string {
	connected, all := g.adapters.Counts()
	return fmt.Sprintf("running, %d of %d adapters connected", connected, all)
}
