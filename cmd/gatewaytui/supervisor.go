package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"gatewaytui/core/gateway"
	"gatewaytui/core/ops"
	"gatewaytui/core/service"
	"gatewaytui/core/term"
	"gatewaytui/views/lines"
)

// supervisor is the service manager that runs this life, as far as it is known.
type supervisor struct {
	manager service.Manager
	notify  *service.Notifier
	// budget is what it allows a stop, 0 for no limit and if unknown, and source where that is from.
	budget time.Duration
	source string
	// warnings are what an operator should mend in its settings.
	warnings []ops.Warning
}

// name is the manager's, empty where nobody would start the next life.
func (s supervisor) name() string {
	if !s.manager.Restarts() {
		return ""
	}
	return s.manager.String()
}

// findSupervisor looks who runs us and what they allow a stop: the config's word, else the manager's own, else the
// environment's. It takes the variables of the notify protocol out of the environment, so that no tool speaks for us.
func (l *life) findSupervisor(ctx context.Context) (supervisor, error) {
	s := supervisor{manager: service.Detect(service.Look(l.getenv))}
	var err error
	if s.notify, err = service.NewNotifier(l.getenv, os.Getpid()); err != nil {
		l.log.Warn("service manager not told", "error", term.Clean(err.Error(), lines.MaxLine))
	}
	for _, name := range service.NotifyVariables {
		if err := os.Unsetenv(name); err != nil {
			return s, err
		}
	}
	limit, configured := l.loaded.Config.Shutdown.SupervisorLimit()
	allowed, err := service.Limit(ctx, s.manager, l.getenv, once)
	if wrong, ok := errors.AsType[*service.VariableError](err); ok && !configured {
		return s, &outcome{exitConfig, &ops.Error{
			Code: ops.CodeInvalid, Message: wrong.Error(), Hint: "set it to what the service manager allows a stop, or unset it",
		}}
	}
	if err != nil && !configured {
		l.log.Warn("service manager not asked", "manager", s.manager.String(), "error", term.Clean(err.Error(), lines.MaxLine))
	}
	s.budget, s.source = allowed.Budget, allowed.Source
	if configured {
		s.budget, s.source = limit, "config"
	}
	for _, t := range allowed.Settings.Troubles() {
		s.warnings = append(s.warnings, ops.Warning{
			Code: "supervisor." + strings.ToLower(t.Setting), Message: t.Text + "; take " + t.Setting + "= out of its unit's drop-ins, or write the unit anew",
			Since: ops.At(time.Now()),
		})
	}
	return s, nil
}

// once runs one program that is asked something, before the gateway has a registry of its own.
func once(ctx context.Context, argv []string) (string, error) {
	a, err := openAsker(ctx)
	if err != nil {
		return "", err
	}
	defer a.close(ctx)
	return a.ask(ctx, argv)
}

// beat tells the service manager for as long as ctx lives that the gateway answers.
func (s supervisor) beat(ctx context.Context, g *gateway.Gateway) {
	s.notify.Run(ctx, func(ctx context.Context) bool {
		_, err := g.Status(ctx)
		return err == nil
	})
}
