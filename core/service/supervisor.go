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

// Supervisor is the service manager that runs this life, as far as it is known.
type Supervisor struct {
	Manager Manager
	Notify  *Notifier
	// Budget is what it allows a stop, 0 for no limit and if unknown, and Source where that is from.
	Budget time.Duration
	Source string
	// Warnings are what an operator should change in its settings.
	Warnings []ops.Warning
}

// Name is the manager's, empty where nobody would start the next life.
func (s Supervisor) Name() string {
	if !s.Manager.Restarts() {
		return ""
	}
	return s.Manager.String()
}

// FindSupervisor looks who runs us and what they allow a stop: the config's word, else the manager's own, else the
// environment's. It takes the variables of the notify protocol out of the environment, so that no tool speaks for us.
func FindSupervisor(ctx context.Context, c config.Shutdown, getenv func(string) string, run Run, log *slog.Logger) (Supervisor, error) {
	s := Supervisor{Manager: Detect(Look(getenv))}
	var err error
	if s.Notify, err = NewNotifier(getenv, os.Getpid()); err != nil {
		log.Warn("service manager not told", "error", term.Clean(err.Error(), 1000))
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
		log.Warn("service manager not asked", "manager", s.Manager.String(), "error", term.Clean(err.Error(), 1000))
	}
	s.Budget, s.Source = allowed.Budget, allowed.Source
	if configured {
		s.Budget, s.Source = limit, "config"
	}
	for _, t := range allowed.Settings.Troubles() {
		s.Warnings = append(s.Warnings, ops.Warning{
			Code: "supervisor." + strings.ToLower(t.Setting), Message: t.Text + "; take " + t.Setting + "= out of its unit's drop-ins, or write the unit again",
			Since: ops.At(time.Now()),
		})
	}
	return s, nil
}
