// Package partial runs commands under landlock: what works where a sandbox does not (TR6).
//
// What it promises is what package landlock promises of one command. A command reads the system and what the definition names, and changes its
// work folder, the home of its agent and a folder for temporary files that its session has alone. The machine's /tmp is none of these:
// TMPDIR names the folder. A list of hosts cannot be kept by landlock, so that a definition with one has no network here. Nothing
// that Options.Hidden names is reached.
//
// It is no sandbox: commands see which processes run, and those of one command cannot signal those of another.
package partial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gatewaytui/core/environment"
	"gatewaytui/core/environment/landlock"
	"gatewaytui/core/process"
)

// Options of a Driver.
type Options struct {
	// Spawn starts the program of the probe. *process.Registry has one.
	Spawn func(context.Context, process.Spec) (*process.Process, error)
	// Temporary is a folder that belongs to the driver: each session has one below it. The probe removes what earlier lives left there.
	Temporary string
	// Hidden are absolute paths that no command reaches: the home of the gateway, the config, files with secrets.
	Hidden []string
}

// Driver makes environments of the kind partial. Its methods may be called from any goroutine.
type Driver struct{ opts Options }

// New returns the driver. It does no I/O.
func New(o Options) *Driver { return &Driver{o} }

// Kind implements environment.Driver.
func (*Driver) Kind() environment.Kind { return environment.KindPartial }

// probeGrace is how long the end of a probe that hangs may take.
const probeGrace = time.Second

// Probe implements environment.Driver: it runs a program under the rules that every command gets.
func (d *Driver) Probe(ctx context.Context) (string, error) {
	abi := landlock.ABI()
	if abi == 0 {
		return "", errors.New("this kernel has no landlock, or does not use it; it needs Linux 5.13 or later with landlock among the security modules (lsm=landlock,… on the kernel's command line)")
	}
	if err := os.RemoveAll(d.opts.Temporary); err != nil {
		return "", fmt.Errorf("remove what earlier lives left: %w", err)
	}
	rules, err := landlock.Prepare(landlock.Paths{Hidden: d.opts.Hidden}, false)
	if err != nil {
		return "", err
	}
	p, err := d.opts.Spawn(ctx, process.Spec{
		Argv: rules.Argv([]string{"/bin/sh", "-c", ":"}), Dir: "/", Policy: process.PolicyGateway, Command: "probe of landlock", Env: []string{"LC_ALL=C"},
	})
	if err != nil {
		return "", err
	}
	exit, err := p.Wait(ctx)
	if err != nil {
		kill, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeGrace) // it must not stay
		defer cancel()
		p.Kill(kill, 0)
		return "", err
	}
	if exit.Code != 0 {
		return "", fmt.Errorf("landlock does not work here: exit code %d: %s", exit.Code, p.LastLine())
	}
	return landlock.Describe(abi, landlock.Filters()), nil
}

// Make implements environment.Driver.
func (d *Driver) Make(_ context.Context, use environment.Use) (environment.Environment, error) {
	def := use.Definition
	e := &fenced{use: use, tmp: filepath.Join(d.opts.Temporary, use.ID)}
	if err := os.MkdirAll(e.tmp, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder for temporary files: %w", err)
	}
	paths := landlock.Paths{Read: def.Read, Write: def.Write, Own: []string{use.Workdir, use.Home, e.tmp}, Hidden: d.opts.Hidden}
	var err error
	if e.rules, err = landlock.Prepare(paths, def.Network && len(def.Hosts) == 0); err != nil {
		return nil, errors.Join(err, os.RemoveAll(e.tmp))
	}
	e.rules.Unset = foreign
	return e, nil
}

// foreign are variables that name places or services that a command does not reach.
var foreign = []string{
	"XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK",
}

// fenced is the environment of one session.
type fenced struct {
	use   environment.Use
	rules landlock.Rules
	tmp   string
}

// Command implements environment.Environment.
func (e *fenced) Command(_ context.Context, cmd environment.Command) (environment.Launch, error) {
	tmp := e.tmp
	if cmd.Kept { // the folder of the session does not outlive the gateway's life
		tmp = e.use.Home
	}
	dir := cmd.Dir
	if dir == "" {
		dir = e.use.Workdir
	}
	return environment.Launch{Argv: e.rules.Argv(cmd.Argv), Dir: dir, Env: []string{"HOME=" + e.use.Home, "TMPDIR=" + tmp}}, nil
}

// Detail implements environment.Environment.
func (e *fenced) Detail() string {
	parts := []string{"network off"}
	if len(e.use.Definition.Hosts) > 0 {
		parts = []string{"network off, because a list of hosts needs a sandbox"}
	} else if e.rules.Network {
		parts = []string{"network on"}
	}
	return strings.Join(append(parts, landlock.Describe(landlock.ABI(), landlock.Filters())), "; ")
}

// Close implements environment.Environment.
func (e *fenced) Close(ctx context.Context) error { return environment.RemoveFolder(ctx, e.tmp) }
