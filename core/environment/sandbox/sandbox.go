// Package sandbox runs commands by bubblewrap, each in namespaces of its own: processes, mounts, users, IPC, host name, and the network
// unless the definition has it (TR6; bwrap(1)).
//
// What it promises: a command sees the system read-only, and can write to the work folder, to the home of its agent, to a /tmp that its session
// has alone, and to what the definition names. What Options.Hidden names is absent, also below a path that can be read. No command gains
// capabilities or makes namespaces in it. When a command's first process ends, everything that it started ends with it, unless it
// is kept. Where bubblewrap does not work, Probe says why, and what to do.
//
// mounts.go has what a command sees, probe.go whether bubblewrap works here. core/process starts what Command returns.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gatewaytui/core/environment"
	"gatewaytui/core/process"
)

// program is the name of bubblewrap's program.
const program = "bwrap"

// Options of a Driver.
type Options struct {
	// Program is the path of bwrap; empty: it is searched for in PATH.
	Program string
	// Spawn starts the program of the probe. *process.Registry has one.
	Spawn func(context.Context, process.Spec) (*process.Process, error)
	// Temporary is a folder that belongs to the driver: the /tmp of each session is below it. Clear says that what earlier lives left there
	// is removed by the probe.
	Temporary string
	Clear     bool
	// Hidden are absolute paths that no command sees: the home of the gateway, the config, files with secrets.
	Hidden []string
	// Hosts restricts the network to hosts of a list; nil: a definition with such a list is refused.
	Hosts Hosts
}

// Hosts gives sandboxes the hosts of a list and no other network.
type Hosts interface {
	// Open makes what one session needs. It returns when ctx ends.
	Open(ctx context.Context, use environment.Use) (Access, error)
}

// Access is how the commands of one session reach their hosts. The sandbox has no network of its own.
type Access interface {
	// Binds are paths of the machine that a command sees, read-only, at the same place: a socket, a program.
	Binds() []string
	// Wrap returns the argv that carries a command's argv inside the sandbox, and further variables as NAME=value.
	Wrap(argv []string) (wrapped, env []string)
	// Detail is one line for people.
	Detail() string
	// Close ends it. It is called again if it failed, and returns when ctx ends.
	Close(ctx context.Context) error
}

// Driver makes sandboxes. Its methods may be called from any goroutine.
type Driver struct {
	opts Options
	// path and nested are set by Probe, which ends before Make is called: the program, and the flag that forbids further user namespaces
	// where bwrap knows it (0.8 and later).
	path   string
	nested []string
}

// New returns the driver. It does no I/O.
func New(o Options) *Driver { return &Driver{opts: o, nested: []string{"--disable-userns"}} }

// Kind implements environment.Driver.
func (*Driver) Kind() environment.Kind { return environment.KindSandbox }

// Make implements environment.Driver.
func (d *Driver) Make(ctx context.Context, use environment.Use) (environment.Environment, error) {
	b := &box{driver: d, use: use, tmp: filepath.Join(d.opts.Temporary, use.ID)}
	if len(use.Definition.Hosts) > 0 && d.opts.Hosts == nil {
		return nil, errors.New("a list of hosts cannot be kept here; set network to true or false")
	}
	if err := os.MkdirAll(b.tmp, 0o700); err != nil {
		return nil, fmt.Errorf("make its folder for temporary files: %w", err)
	}
	err := b.prepare(ctx)
	if err != nil {
		return nil, errors.Join(err, b.Close(context.WithoutCancel(ctx)))
	}
	return b, nil
}

// box is the sandbox of one session.
type box struct {
	driver *Driver
	use    environment.Use
	tmp    string
	// mounts are the flags that make what each command sees.
	mounts []string
	access Access // nil: the network is on or off
}

func (b *box) prepare(ctx context.Context) (err error) {
	var binds []string
	if len(b.use.Definition.Hosts) > 0 {
		if b.access, err = b.driver.opts.Hosts.Open(ctx, b.use); err != nil {
			return fmt.Errorf("open the way to its hosts: %w", err)
		}
		binds = b.access.Binds()
	}
	b.mounts, err = mounts(view{
		read: b.use.Definition.Read, write: b.use.Definition.Write, own: append(binds, b.use.Workdir, b.use.Home), ownRead: len(binds),
		hidden: b.driver.opts.Hidden, network: b.use.Definition.Network,
	})
	return err
}

// foreign are variables that name places or services of the machine, which a sandbox does not have.
var foreign = []string{
	"XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK",
}

// Command implements environment.Environment.
func (b *box) Command(_ context.Context, cmd environment.Command) (environment.Launch, error) {
	launch := environment.Launch{Env: []string{"HOME=" + b.use.Home, "TMPDIR=/tmp"}, Carrier: process.Carrier{Below: true}}
	dir := cmd.Dir
	if dir == "" {
		dir = b.use.Workdir
	}
	argv := cmd.Argv
	if b.access != nil {
		var env []string
		argv, env = b.access.Wrap(argv)
		launch.Env = append(launch.Env, env...)
	}
	if !cmd.Background {
		status, err := newStatus()
		if err != nil {
			return environment.Launch{}, err
		}
		launch.Files, launch.Started, launch.Failure = []*os.File{status.theirs}, status.started, status.failure
	}
	launch.Argv = b.arguments(cmd, dir, argv)
	return launch, nil
}

// arguments is the argv of bwrap for a command. The probe uses the same.
func (b *box) arguments(cmd environment.Command, dir string, argv []string) []string {
	args := append([]string{b.driver.path, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"}, b.driver.nested...)
	if !b.use.Definition.Network || len(b.use.Definition.Hosts) > 0 {
		args = append(args, "--unshare-net")
	}
	if !cmd.Kept { // its parent is the thread that forks for the registry, which ends with the gateway (prctl(2), PR_SET_PDEATHSIG)
		args = append(args, "--die-with-parent")
	}
	if !cmd.PTY { // a terminal is the command's own and controls it
		args = append(args, "--new-session")
	}
	if !cmd.Background {
		args = append(args, "--json-status-fd", "3")
	}
	args = append(args, "--cap-drop", "ALL", "--hostname", "sandbox")
	for _, name := range foreign {
		args = append(args, "--unsetenv", name)
	}
	if cmd.Kept { // the folder of the session does not outlive the gateway's life
		args = append(args, "--tmpfs", "/tmp")
	} else {
		args = append(args, "--bind", b.tmp, "/tmp")
	}
	args = append(args, b.mounts...)
	args = append(args, "--chdir", dir, "--")
	return append(args, argv...)
}

// Detail implements environment.Environment.
func (b *box) Detail() string {
	switch {
	case b.access != nil:
		return b.access.Detail()
	case b.use.Definition.Network:
		return "network on"
	}
	return "network off"
}

// Close implements environment.Environment.
func (b *box) Close(ctx context.Context) error {
	var errs []error
	if b.access != nil {
		errs = append(errs, b.access.Close(ctx))
	}
	errs = append(errs, environment.RemoveFolder(ctx, b.tmp))
	return errors.Join(errs...)
}

// status is what bwrap says of one command (--json-status-fd): a document with the pid of the first process, and one with the exit code if the
// command ran. Both fit into a pipe that is read after the end.
type status struct{ ours, theirs *os.File }

func newStatus() (*status, error) {
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open the pipe for the result: %w", err)
	}
	return &status{ours, theirs}, nil
}

func (s *status) started(err error) {
	_ = s.theirs.Close() // nothing was written by us
	if err != nil {
		_ = s.ours.Close()
	}
}

// maxStatus is more than bwrap says, in bytes.
const maxStatus = 4 << 10

func (s *status) failure(exit process.Exit) error {
	defer s.ours.Close()
	if exit.Signal != 0 || exit.Code != 1 {
		return nil // it was ended from outside, or bwrap passes on how the command ended
	}
	_ = s.ours.SetReadDeadline(time.Now().Add(time.Second)) // a process that hides keeps the other end open: bwrap has written by now
	text, _ := io.ReadAll(io.LimitReader(s.ours, maxStatus))
	if strings.Contains(string(text), `"exit-code"`) {
		return nil
	}
	return errors.New("the sandbox could not be made, so the command did not run; the output says why")
}
