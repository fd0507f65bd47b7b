// Package container runs the commands of a session in a container of Docker or Podman, through their command line (TR6).
//
// What it promises:
//
//   - What may exist has a row: from before the program is asked to make a container, until it said that there is no
//     container of that name. Rows are in the store, so the next life removes what a SIGKILL left. The next life also looks
//     for the label of the home, for containers whose row is lost.
//   - Close returns before its context ends, also if the daemon hangs, and is idempotent. A container that could not be
//     removed is tried again, with a growing pause, until the daemon answers.
//   - A container ends without our help when the gateway does: its first process reads from the program that started it, and
//     ends at the end of that input. This is not relied on.
//   - A signal to a command reaches the command and what it started, not the program that carries it. Processes that a
//     command leaves end with it.
//   - No image is pulled. A container gets no socket, nothing of the gateway's environment or home, no capability and no new
//     privileges.
//
// The flags are those of `docker run --help` (28.2) and podman-run(1). The tests run against a double of the command line
// (fixtures/docker). The project has not been run against a daemon of Docker or Podman.
package container

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"gatewaytui/core/store"
)

// Kind is the kind of these environments in the store.
const Kind = "container"

// state is what a container does.
type state string

// The states. A container that is left could not be removed, or not for certain: it may exist, and is tried again.
const (
	stateStarting state = "starting"
	stateReady    state = "ready"
	stateClosing  state = "closing"
	stateLeft     state = "left"
)

// Journal records which containers may exist. *store.Store is one. Environments is asked once, by Recover.
type Journal interface {
	PutEnvironment(ctx context.Context, v store.Environment) error
	DropEnvironment(ctx context.Context, id string) error
	Environments(ctx context.Context) ([]store.Environment, error)
}

// Options of an Engine.
type Options struct {
	// HomeID and Life label the containers. Required.
	HomeID, Life string
	// Programs are the command lines to try, in this order, until one has a daemon that answers. Required.
	Programs []CommandLine
	// Journal may be nil.
	Journal Journal
	// Go starts a background task and reports whether it did: not during a stop. Required.
	Go func(name string, run func(ctx context.Context)) bool
	// Grace is the time from TERM to KILL of what runs in a container that is closed.
	Grace time.Duration
	// UID and GID are the user that commands run as.
	UID, GID int
	// Defined are the settings of the config, for Probe.
	Defined []Settings
	// Env are the variables that commands of an agent see beyond those of the image, as NAME=value; nil: there are none.
	Env func(agent string) []string
	// Warn gets what keeps containers from being made, at the start; nil: it is logged.
	Warn func(text string)
	// Settled is called after containers were removed in the background, on the goroutine that removes them. It may be nil.
	Settled func(ctx context.Context)
	// Log is required.
	Log *slog.Logger
}

// Settings are one [environments.NAME] of kind container.
type Settings struct {
	// Name is the name in the config.
	Name string
	// Image must exist on the machine.
	Image string
	// Network connects it to the program's default network.
	Network bool
	// Read and Write are further paths that it sees, under their own names.
	Read, Write []string
	// Memory is in bytes, CPUs in cores; 0: no limit.
	Memory, PIDs uint64
	CPUs         float64
}

// Owner is for whom a container is made. Work is its work folder and Home the home of its agent. Both are absolute paths on
// this machine, exist, and have the same names inside.
type Owner struct{ Session, Work, Home string }

// Engine makes and removes containers. Its methods may be called from any goroutine.
type Engine struct {
	opts Options
	log  *slog.Logger

	mu   sync.Mutex // guards what follows, and the fields of containers; never held over I/O
	last int
	all  map[string]*Container // by name: everything that may exist
	// retrying says that the task runs which removes what is left.
	retrying bool
	answered CommandLine // the program that answered; nil: none did yet
	rootless bool        // answered is a Docker that maps root of a container to the gateway's user
}

// Container is one container, or what may be one.
type Container struct {
	engine   *Engine
	program  CommandLine
	name     string
	settings Settings
	owner    Owner

	// held says that a session of this life has its row.
	held   bool
	state  state
	since  time.Time
	detail string
	// unsure means that the program was cut off while it made the container, or that an earlier life was. One answer that
	// there is none proves nothing then: the daemon may make it later. absent is when it was first found absent.
	unsure bool
	absent time.Time
	// attached is the program that holds the container's input open; nil: it was not started.
	attached Attached
	commands uint64
	// removing is held by the removal under way. It holds one token.
	removing chan struct{}
}

// Row is a container that may exist. Detail is in words, cleaned.
type Row struct {
	ID, Name, Session, State string
	Since                    time.Time
	Detail                   string
	held                     bool
}

// New returns an engine without containers. It does no I/O.
func New(o Options) *Engine { return &Engine{opts: o, log: o.Log, all: map[string]*Container{}} }

// add makes the row of a container that is about to exist.
func (e *Engine) add(program CommandLine, v Settings, owner Owner) *Container {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last++
	c := &Container{
		engine: e, program: program, name: fmt.Sprintf("%s%d", e.ownPrefix(), e.last), settings: v,
		owner: owner, held: true, state: stateStarting, since: time.Now(), removing: make(chan struct{}, 1),
	}
	e.all[c.name] = c
	return c
}

// set changes the state of c, and what is said of it.
func (c *Container) set(to state, detail string) {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	if c.state != to {
		c.state, c.since = to, time.Now()
	}
	c.detail = detail
}

// gone drops c, of which nothing exists, and its row.
func (c *Container) gone(ctx context.Context) {
	e := c.engine
	e.mu.Lock()
	delete(e.all, c.name)
	e.mu.Unlock()
	if e.opts.Journal == nil {
		return
	}
	if err := e.opts.Journal.DropEnvironment(ctx, c.name); err != nil { // the next life finds no such container, and drops it
		e.log.Warn("row of a container not dropped", "container", c.name, "error", err.Error())
	}
}

// Gone reports whether the container is known not to exist any more.
func (c *Container) Gone() bool {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	return c.engine.all[c.name] != c
}

// record writes c's row: before c is made, and when it is. A failure is logged: the label finds the container in the next
// life.
func (c *Container) record(ctx context.Context, made bool) {
	e := c.engine
	if e.opts.Journal == nil {
		return
	}
	err := e.opts.Journal.PutEnvironment(ctx, store.Environment{
		ID: c.name, Kind: Kind, Name: c.settings.Name, Session: c.owner.Session, Program: c.program.Name(), Life: e.opts.Life, At: c.since, Made: made,
	})
	if err != nil {
		e.log.Warn("container not recorded", "container", c.name, "error", err.Error())
	}
}

// Rows are the containers that exist or may exist, oldest first.
func (e *Engine) Rows() []Row {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]Row, 0, len(e.all))
	for _, c := range e.all {
		out = append(out, Row{ID: c.name, Name: c.settings.Name, Session: c.owner.Session, State: string(c.state), Since: c.since, Detail: c.detail, held: c.held})
	}
	slices.SortFunc(out, func(a, b Row) int {
		if d := a.Since.Compare(b.Since); d != 0 {
			return d
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out
}

// namePrefix begins the name of every container of a gateway.
const namePrefix = "gatewaytui-"

// ownPrefix begins the names of the containers of this life.
func (e *Engine) ownPrefix() string { return namePrefix + strings.ToLower(e.opts.Life) + "-" }
