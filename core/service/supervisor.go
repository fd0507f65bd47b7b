package service

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"time"

	"gatewaytui/core/config"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// Supervisor is the service manager of this life, as far as it is known.
type Supervisor struct {
	Manager Manager
	Notify  *Notifier
	// Budget is its limit on a stop; 0: no limit, or unknown. Source is where Budget comes from.
	Budget time.Duration
	Source string
	// Warnings are about settings of the manager that an operator should change.
	Warnings []ops.Warning
}

// Name is the manager's; empty: nothing would start the next life.
func (s Supervisor) Name() string {
	if !s.Manager.Restarts() {
		return ""
	}
	return s.Manager.String()
}

// FindSupervisor finds our manager and its limit on a stop: from the config, else from the manager, else from the
// environment. It removes the variables of the notify protocol from the environment, so that no tool uses them.
func FindSupervisor(ctx context.Context, c config.Shutdown, getenv func(string) string, run Run, log *slog.Logger) (Supervisor, error) {
	s := Supervisor{Manager: Detect(ReadEnvironment(getenv))}
	var err error
	if s.Notify, err = NewNotifier(getenv, os.Getpid()); err != nil {
		log.Warn("service manager cannot be notified", "error", term.Clean(err.Error(), 1000))
	}
	for _, name := range NotifyVariables {
		if err := os.Unsetenv(name); err != nil {
			return s, err
		}
	}
	limit, configured := c.SupervisorLimit()
	allowed, err := Limit(ctx, s.Manager, getenv, run)
	if wrong, ok := errors.AsType[*VariableError](err); ok && !configured {
		return s, wrong
	}
	if err != nil && !configured {
		log.Warn("service manager did not answer", "manager", s.Manager.String(), "error", term.Clean(err.Error(), 1000))
	}
	s.Budget, s.Source = allowed.Budget, allowed.Source
	if configured {
		s.Budget, s.Source = limit, "config"
	}
	for _, t := range allowed.Settings.Issues() {
		s.Warnings = append(s.Warnings, ops.Warning{
			Code: "supervisor." + strings.ToLower(t.Setting), Message: t.Text + "; remove " + t.Setting + "= from its unit's drop-ins, or write the unit again",
			Since: ops.At(time.Now()),
		})
	}
	return s, nil
}
