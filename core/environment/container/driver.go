package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"gatewaytui/core/environment"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/term"
)

// Kind implements environment.Driver.
func (e *Engine) Kind() environment.Kind { return environment.KindContainer }

// Probe implements environment.Driver. It fails where no program is installed. A
// daemon that does not answer, and an image that is missing, may be there at the first use: they are in detail, and Options.Warn gets them.
func (e *Engine) Probe(ctx context.Context) (detail string, err error) {
	name, problems := e.Check(ctx, e.opts.Defined...)
	if len(problems) == 1 && missingProgram(problems[0]) {
		return "", problems[0]
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	var all []string
	for _, p := range problems {
		if e.opts.Warn != nil {
			e.opts.Warn(p.Error())
		} else {
			e.log.Warn("environment cannot be used now", "event", ops.LogEnvironment, "kind", Kind, "error", p.Error())
		}
		all = append(all, p.Error())
	}
	return cmp.Or(strings.Join(all, "; "), name+" answers"), nil
}

// Make implements environment.Driver.
func (e *Engine) Make(ctx context.Context, use environment.Use) (environment.Environment, error) {
	h := &holder{engine: e, settings: SettingsOf(use.Definition), owner: Owner{Session: use.Session, Work: use.Workdir, Home: use.Home}, turn: make(chan struct{}, 1)}
	if e.opts.Env != nil {
		h.env = e.opts.Env(use.Agent)
	}
	c, err := e.Start(ctx, h.settings, h.owner)
	if err != nil {
		return nil, err
	}
	h.current = c
	return h, nil
}

// SettingsOf are the settings of a block [environments.NAME].
func SettingsOf(d environment.Definition) Settings {
	return Settings{
		Name: d.Name, Image: d.Image, Network: d.Network, Read: d.Read, Write: d.Write, Memory: d.Memory, PIDs: d.Processes, CPUs: d.CPU,
	}
}

// Left are the containers that no session of this life holds: they are removed in the background.
func (e *Engine) Left() []ops.Environment {
	var out []ops.Environment
	for _, row := range e.Rows() {
		if row.State == string(stateLeft) && !row.held {
			out = append(out, ops.Environment{
				ID: row.ID, Kind: environment.KindContainer, Name: row.Name, Session: row.Session, State: ops.EnvironmentCloseFailed,
				Since: ops.At(row.Since), Detail: term.Clean(row.Detail, lineWidth),
			})
		}
	}
	return out
}

// holder is the environment of a session. Its container is replaced when it ends by itself.
type holder struct {
	engine   *Engine
	settings Settings
	owner    Owner
	env      []string
	turn     chan struct{} // held over the start of a container; holds one token
	current  *Container    // belongs to the holder of turn, and is read under Engine.mu
	closed   bool          // belongs to the holder of turn
}

// Command implements environment.Environment.
func (h *holder) Command(ctx context.Context, cmd environment.Command) (environment.Launch, error) {
	c, err := h.container(ctx)
	if err != nil {
		return environment.Launch{}, err
	}
	run := c.Command(cmd.Argv, cmp.Or(cmd.Dir, h.owner.Work), h.env, cmd.PTY)
	return environment.Launch{
		Argv: run.Argv, Env: run.Env, Dir: os.TempDir(),
		Carrier: process.Carrier{Relay: run.relay},
		Failure: c.failure,
	}, nil
}

// container returns the session's container, and starts another one if it has ended.
func (h *holder) container(ctx context.Context) (*Container, error) {
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	switch {
	case h.closed:
		return nil, environment.ErrClosed
	case h.current.usable():
		return h.current, nil
	}
	h.current.abandon(errEnded)
	c, err := h.engine.Start(ctx, h.settings, h.owner)
	if err != nil {
		return nil, err
	}
	h.engine.mu.Lock()
	h.current = c
	h.engine.mu.Unlock()
	return c, nil
}

var errEnded = errors.New("it ended by itself")

// Detail implements environment.Environment.
func (h *holder) Detail() string {
	h.engine.mu.Lock()
	defer h.engine.mu.Unlock()
	network := "network off"
	if h.settings.Network {
		network = "network on"
	}
	return fmt.Sprintf("%s %s, image %s, %s", h.current.program.Name(), h.current.name, h.settings.Image, network)
}

// Close implements environment.Environment.
func (h *holder) Close(ctx context.Context) error {
	select {
	case h.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("%s: wait for its start or another close: %w", h.Detail(), context.Cause(ctx))
	}
	defer func() { <-h.turn }()
	h.closed = true
	return h.current.Close(ctx)
}

// relay is a process.Carrier's.
func (c Command) relay(ctx context.Context, sig syscall.Signal) {
	var err error
	switch sig {
	case syscall.SIGTERM:
		err = c.Term(ctx)
	case syscall.SIGKILL:
		err = c.Kill(ctx)
	}
	if err != nil {
		c.c.engine.log.Warn("signal did not reach a command", "container", c.c.name, "signal", sig.String(), "error", err.Error())
	}
}

// failure is why a command ended that the container did not survive; nil: the container goes on.
func (c *Container) failure(exit process.Exit) error {
	if exit.Code == 0 || c.usable() {
		return nil
	}
	return fmt.Errorf("container %s ended while the command ran; the next command starts another one", c.name)
}

// usable reports whether the container is ready and has not ended.
func (c *Container) usable() bool {
	c.engine.mu.Lock()
	ready := c.state == stateReady
	c.engine.mu.Unlock()
	if !ready {
		return false
	}
	_, over := c.attached.Exited()
	return !over
}
