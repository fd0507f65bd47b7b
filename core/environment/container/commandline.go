package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"gatewaytui/core/process"
	"gatewaytui/core/term"
)

// Names of the programs.
const (
	Docker = "docker"
	Podman = "podman"
)

// CommandLine runs docker or podman. Its methods may be called from any goroutine.
type CommandLine interface {
	// Name is docker or podman.
	Name() string
	// Argv is the program with args.
	Argv(args ...string) []string
	// Env is what the program needs of the gateway's environment, as NAME=value: where its daemon is.
	Env() []string
	// Run runs the program and returns what it printed, on both outputs, and its exit code. When ctx ends it ends the
	// program and returns ctx's error.
	Run(ctx context.Context, args ...string) (output string, code int, err error)
	// Attach starts the program and leaves it running.
	Attach(ctx context.Context, what string, args ...string) (Attached, error)
	// explain is the reason in the output of a call that failed, cleaned, in one line.
	explain(output string) string
}

// Attached is a program that runs, with its input open.
type Attached interface {
	// Say writes a line. Hear waits until the program has printed this line; it fails when the program ends before.
	Say(ctx context.Context, line string) error
	Hear(ctx context.Context, line string) error
	// HangUp closes the input. Wait waits for the end of the program, and End ends it; it returns soon after ctx ends.
	HangUp()
	Wait(ctx context.Context) error
	End(ctx context.Context)
	// Exited returns the exit code, and whether the program has ended.
	Exited() (code int, over bool)
	Output() string
}

// Program is a CommandLine that runs as a tracked process.
type Program struct {
	name      string
	processes *process.Registry
}

// NewProgram returns the program docker or podman, found in PATH when it is used.
func NewProgram(name string, processes *process.Registry) *Program { return &Program{name, processes} }

// Programs are docker and podman, in the order in which they are tried.
func Programs(processes *process.Registry) []CommandLine {
	return []CommandLine{NewProgram(Docker, processes), NewProgram(Podman, processes)}
}

// Name implements CommandLine.
func (p *Program) Name() string { return p.name }

// Argv implements CommandLine.
func (p *Program) Argv(args ...string) []string { return append([]string{p.name}, args...) }

// Variables that tell docker and podman where their daemon, their config and their certificates are.
var daemonVariables = []string{
	"HOME", "PATH", "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "DOCKER_TLS", "DOCKER_TLS_VERIFY", "DOCKER_API_VERSION",
	"CONTAINER_HOST", "CONTAINER_CONNECTION", "CONTAINERS_CONF", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "DBUS_SESSION_BUS_ADDRESS",
}

// Env implements CommandLine.
func (p *Program) Env() (env []string) {
	for _, name := range daemonVariables {
		if value, is := os.LookupEnv(name); is {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// Output that is kept of one call, in bytes. A list of containers is the longest.
const outputLimit = 256 << 10

// start starts the program. A stop of the gateway ends it in its sweep, if it has not ended before.
func (p *Program) start(ctx context.Context, what string, input bool, args []string) (*process.Process, error) {
	started, err := p.processes.Spawn(ctx, process.Spec{
		Command: p.name + " " + what, Argv: p.Argv(args...), Env: p.Env(), Stdin: input, Policy: process.PolicyGateway, OutputLimit: outputLimit,
	})
	if errors.Is(err, process.ErrNoProgram) {
		return nil, &missingError{p.name}
	}
	return started, err
}

// missingError says that a program is not installed.
type missingError struct{ program string }

func (e *missingError) Error() string { return e.program + " is not in PATH" }

func missingProgram(err error) bool {
	_, is := errors.AsType[*missingError](err)
	return is
}

// Run implements CommandLine.
func (p *Program) Run(ctx context.Context, args ...string) (string, int, error) {
	started, err := p.start(ctx, args[0], false, args)
	if err != nil {
		return "", 0, err
	}
	exit, err := started.Wait(ctx)
	if err != nil {
		killed, cancel := context.WithTimeout(context.WithoutCancel(ctx), killBound)
		defer cancel()
		started.Kill(killed, 0)
		return "", 0, &hangError{p.name, args[0], time.Since(started.StartedAt()), err}
	}
	output, _ := started.Output()
	return output, exit.Code, nil
}

// killBound is the longest that the end of a local program may take, in a kill without a grace.
const killBound = 100 * time.Millisecond

// hangError says that a call of a program did not return.
type hangError struct {
	program, verb string
	waited        time.Duration
	err           error
}

func (e *hangError) Error() string {
	return fmt.Sprintf("%s %s did not return within %v; its daemon may hang (try `%s info`)", e.program, e.verb, e.waited.Round(100*time.Millisecond), e.program)
}

func (e *hangError) Unwrap() error { return e.err }

func hangs(err error) bool {
	_, is := errors.AsType[*hangError](err)
	return is
}

// Attach implements CommandLine.
func (p *Program) Attach(ctx context.Context, what string, args ...string) (Attached, error) {
	started, err := p.start(ctx, args[0]+" "+what, true, args)
	if err != nil {
		return nil, err
	}
	return attached{started}, nil
}

// attached is a tracked process with its input open.
type attached struct{ p *process.Process }

// listenEvery is how often the output of a program is looked at while a line of it is waited for.
const listenEvery = 5 * time.Millisecond

func (a attached) Say(ctx context.Context, line string) error {
	_, err := a.p.Write(ctx, []byte(line+"\n"))
	return err
}

func (a attached) Hear(ctx context.Context, line string) error {
	for {
		_, over := a.p.Exited()
		if slices.Contains(strings.Split(a.Output(), "\n"), line) {
			return nil
		}
		if over {
			return errors.New("the program that holds it has ended")
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(listenEvery):
		}
	}
}

func (a attached) HangUp() { _ = a.p.CloseInput() } // it fails if the input is closed already

func (a attached) Wait(ctx context.Context) error {
	_, err := a.p.Wait(ctx)
	return err
}

func (a attached) End(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, killBound)
	defer cancel()
	a.p.Kill(ctx, 0)
}

func (a attached) Exited() (int, bool) {
	exit, over := a.p.Exited()
	return exit.Code, over
}

func (a attached) Output() string {
	text, _ := a.p.Output()
	return text
}

// says reports whether an output has one of some texts, in any case.
func says(output string, texts ...string) bool {
	output = strings.ToLower(output)
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(output, text) })
}

// Texts of the programs. Docker's are those of its API (moby/moby, daemon and errdefs) and of its command line (docker/cli);
// Podman's are those of libpod/define.
func absent(output string) bool {
	return says(output, "no such container", "no container with name or id", "no such object")
}
func busy(output string) bool { return says(output, "is already in progress") }
func noImage(output string) bool {
	return says(output, "no such image", "image not known", "no such object", "unable to find image")
}

func noDaemon(output string) bool {
	return says(output, "cannot connect to the docker daemon", "is the docker daemon running", "error during connect", "cannot connect to podman", "permission denied while trying to connect")
}

// explain implements CommandLine.
func (p *Program) explain(output string) string { return explain(p.name, output) }

// explain is the reason in the output of a call that failed, in one line.
func explain(program, output string) string {
	last := ""
	for line := range strings.Lines(output) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "See '") && !strings.HasPrefix(line, "Run '") {
			last = line
		}
	}
	if noDaemon(output) {
		return "the daemon of " + program + " does not answer: " + term.Clean(last, lineWidth)
	}
	if last == "" {
		return program + " failed and gave no reason"
	}
	return program + ": " + term.Clean(last, lineWidth)
}

// lineWidth bounds what is shown of a line of a program, in cells.
const lineWidth = 200
