// Package environment says where the commands of an agent run, and owns what they run in (TR6).
//
// There are four kinds. A sandbox has namespaces of its own and sees the work folder, a home of the agent's own and the system, which is read-only. A
// container runs in Docker or Podman. Partial restricts files and TCP by landlock and nothing else. Local restricts nothing.
//
// What it promises: an environment belongs to one session, is made when the session's first command starts, and is listed until it is
// closed. Close is idempotent and bounded by its ctx, and a close that fails leaves a row with the reason. A command never runs in a weaker kind than
// its definition allows: where that kind does not work, the command is refused with the reason and the fix. Nothing here starts a process:
// core/process does, with what Command returns.
//
// set.go has the owner of all environments, probe.go what is found out at the start, local.go the kind that restricts nothing. Package
// sandbox, package container and package landlock are the drivers of the other kinds.
package environment

import (
	"context"
	"os"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/process"
)

// Kind names how far a command is separated from the machine. See ops.EnvironmentKind.
type Kind = ops.EnvironmentKind

// The kinds. KindAuto is resolved when it is used: sandbox where its probe passed, else partial, else local with approvals.
const (
	KindAuto      = ops.EnvironmentAuto
	KindSandbox   = ops.EnvironmentSandbox
	KindContainer = ops.EnvironmentContainer
	KindPartial   = ops.EnvironmentPartial
	KindLocal     = ops.EnvironmentLocal
)

// Definition is a block [environments.NAME] of the config, or one of the two that always exist: auto and local.
type Definition struct {
	Name string
	Kind Kind
	// Network is true for the machine's network. With Hosts it is restricted to these hosts, names or patterns such as
	// "*.github.com". Without both there is no network.
	Network bool
	Hosts   []string
	// Read and Write are further absolute paths, of files or folders.
	Read, Write []string
	// Image is the image of a container.
	Image string
	// Memory in bytes, Processes and CPU in cores bound what runs in the environment; 0: no bound.
	Memory    uint64
	Processes uint64
	CPU       float64
	// Fallback lets a sandbox be partial where bubblewrap does not work.
	Fallback bool
}

// Use is what an environment is made for.
type Use struct {
	// ID is unique in the life of the gateway and is safe as a file name. Session is the key of the session that owns the environment.
	ID, Session string
	// Agent is the name of the agent definition.
	Agent string
	// Definition is what is made. Its kind may be auto.
	Definition Definition
	// Workdir is the work folder and Home the agent's own lasting home, both absolute. Both exist when Make is called.
	Workdir, Home string
}

// Command is a command that is about to start.
type Command struct {
	// Argv is the program and its arguments.
	Argv []string
	// Dir is the absolute path that it runs in; empty: the work folder.
	Dir string
	// PTY says that it gets a terminal. Background says that no caller waits for its end. Kept says that it outlives a SIGKILL of the gateway
	// (process.PolicyKept).
	PTY, Background, Kept bool
}

// Launch is how a command starts in an environment. Its parts go into a process.Spec.
type Launch struct {
	Argv []string
	// Env is added to the variables that a tool sees, as NAME=value.
	Env []string
	// Dir is the folder on the machine in which Argv starts.
	Dir string
	// Files are inherited as descriptors 3, 4, …. Started closes them.
	Files []*os.File
	// Share is what all processes of the session may take. The Set fills it in.
	Share process.Share
	// Carrier says how signals reach the command. The zero value sends them to Argv and what it starts.
	Carrier process.Carrier
	// Started is called once, after the start or with the error of its failure; nil: it is not needed.
	Started func(err error)
	// Failure is asked once after the end of Argv, unless the command is in the background: the reason if the environment failed and the command did
	// not run; nil: it ran. A nil function says that the environment cannot fail in this way.
	Failure func(process.Exit) error
}

// Driver makes the environments of one kind. Its methods may be called from any goroutine.
type Driver interface {
	Kind() Kind
	// Probe finds out whether the driver works on this machine, with the flags that Make's environments use. detail is what
	// was found, for people, in a line. The error is one sentence with the reason, and what to do. It returns when ctx ends.
	Probe(ctx context.Context) (detail string, err error)
	// Make makes an environment. It returns when ctx ends, and leaves nothing that the environment's Close would have ended.
	Make(ctx context.Context, use Use) (Environment, error)
}

// Environment is what the commands of one session run in. Its methods may be called from any goroutine.
type Environment interface {
	// Command returns how cmd starts. It does not start it.
	Command(ctx context.Context, cmd Command) (Launch, error)
	// Detail is one line for people, such as "network off". It does not wait.
	Detail() string
	// Close ends the environment when its processes have ended. It is called again if it failed, and returns when ctx ends. The error says what is
	// still held.
	Close(ctx context.Context) error
}

// Place is where the commands of an agent run.
type Place struct {
	// Name is the name of the definition, Kind what it means on this machine; it is never auto.
	Name string
	Kind Kind
	// Why is why a definition has a weaker kind than it could have; empty: it has not.
	Why string
}

// Label names the place in a row: the name that the config gave, else the kind. It is empty for the machine itself.
func (p Place) Label() string {
	switch {
	case p.Kind == KindLocal:
		return ""
	case p.Name == NameAuto:
		return string(p.Kind)
	}
	return p.Name
}

// Times of environments.
const (
	// probeMost is how long a probe may take. A probe that takes longer has failed.
	probeMost = 5 * time.Second
	// makeMost is how long an environment may take to be made.
	makeMost = 30 * time.Second
	// closeLateMost is how long the close of an environment may take that was made too late.
	closeLateMost = 10 * time.Second
)
