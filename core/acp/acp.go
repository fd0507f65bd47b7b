// Package acp lets external programs work on turns: agents that speak the Agent Client Protocol over their standard input and
// output (HR7).
//
// What it promises: each agent of a session has at most one program, which starts with the first turn and ends with the agent. Every
// program is a tracked tree with the owner "acp". A step for which the program asks permission runs only after the gate has let it
// pass, and a permission that the program could remember is never given. A program that floods, freezes, writes what is not the
// protocol or ends costs its own turn at most: memory, waits and the time of a turn are bounded. Its session is resumed where it can be,
// and otherwise the program reads the conversation so far.
//
// The gateway offers the program no files and no terminals: it has its own, inside the environment of its definition, and steps through the
// gateway would leave that environment.
//
// acp.go has the owner of all programs, client.go the program of one agent, start.go its start, link.go the running program and its end,
// intake.go what it writes, turn.go a turn, permission.go what it asks.
package acp

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"gatewaytui/core/agent"
	"gatewaytui/core/environment"
	"gatewaytui/core/process"
	"gatewaytui/core/tool"
)

// Owner is the owner of the programs in the rows of processes, and their kind among what is held.
const Owner = "acp"

// Processes start programs. *process.Registry is one.
type Processes interface {
	Spawn(ctx context.Context, spec process.Spec) (*process.Process, error)
}

// Recall keeps the name that a program gave its session, beyond the life of the gateway. An agent.Memory may be one.
type Recall interface {
	// ExternalSession is what was kept for a program; empty: nothing was.
	ExternalSession(ctx context.Context, agent string) (string, error)
	KeepExternalSession(ctx context.Context, agent, id string) error
}

// Options are what a Set needs. Every field is required.
type Options struct {
	Processes Processes
	// Workdir is the folder in which the programs work. It is made, 0700, for the first one.
	Workdir string
	// KillGrace is the time from TERM to KILL.
	KillGrace time.Duration
	Log       *slog.Logger
}

// Set owns the programs of all agents. Its methods may be called from any goroutine.
type Set struct {
	o Options
	// ctx ends the watches of programs; CloseAll cancels it.
	ctx  context.Context
	stop context.CancelFunc
	// tasks are the goroutines of programs, which CloseAll waits for.
	tasks sync.WaitGroup

	mu      sync.Mutex // guards what follows; never held over I/O
	closed  bool
	starts  uint64               // how often a program was started
	clients map[*client]struct{} // those that have, start or end a program
}

// New returns a Set without programs. It does no I/O.
func New(o Options) *Set {
	s := &Set{o: o, clients: map[*client]struct{}{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Environments say where an agent's program runs. *environment.View is one.
type Environments interface {
	Resolve(ctx context.Context, agent string) (environment.Place, error)
	Command(ctx context.Context, r environment.Request) (environment.Launch, environment.Place, error)
}

// Definition is an agent of the config whose kind is acp.
type Definition struct {
	Name string
	// Command is the program and its arguments.
	Command []string
	// TurnTimeout is how long the program may work on one turn. Waiting for a person does not count.
	TurnTimeout time.Duration
	// TurnsPerDay is as in agent.Externals.
	TurnsPerDay int
	// Environments say where the program runs. Gate is asked for each step for which the program asks permission. OnMachine reports whether the
	// person behind a call may use a program on the machine itself.
	Environments Environments
	Gate         tool.Gate
	OnMachine    func(tool.Call) bool
}

// External makes the programs of a definition.
func (s *Set) External(d Definition) agent.Externals { return &externals{set: s, def: d} }

// externals is a Definition whose programs are in a Set.
type externals struct {
	set *Set
	def Definition
	// vision is what the last program that started said.
	vision atomic.Bool
}

func (e *externals) Name() string { return filepath.Base(e.def.Command[0]) }
func (e *externals) Vision() bool { return e.vision.Load() }

func (e *externals) TurnsPerDay() int { return e.def.TurnsPerDay }

func (e *externals) New(of agent.ExternalOwner) agent.External {
	c := &client{set: e.set, of: e, session: of.Session, one: make(chan struct{}, 1)}
	c.recall, _ = of.Memory.(Recall)
	return c
}

// enter lists a client that is about to start a program.
func (s *Set) enter(c *client) error {
	s.mu.Lock()
	closed := s.closed
	if !closed {
		s.clients[c] = struct{}{}
		s.starts++
	}
	id := "a" + strconv.FormatUint(s.starts, 10)
	s.mu.Unlock()
	if closed {
		return errStopping
	}
	c.started(id)
	return nil
}

// leave drops a client that has no program any more.
func (s *Set) leave(c *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clients, c)
}

// all are the listed clients that want names.
func (s *Set) all(want func(*client) bool) (out []*client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.clients {
		if want(c) {
			out = append(out, c)
		}
	}
	return out
}

// CloseSession implements held.Holder: it ends the programs of one session.
func (s *Set) CloseSession(ctx context.Context, session string) error {
	return s.close(ctx, s.all(func(c *client) bool { return c.session == session }))
}

// CloseAll implements held.Holder. Afterwards no program starts.
func (s *Set) CloseAll(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	err := s.close(ctx, s.all(func(*client) bool { return true }))
	s.stop()
	done := make(chan struct{})
	go func() { // it ends with the tasks, which the end of ctx, too, has ended
		defer close(done)
		s.tasks.Wait()
	}()
	select {
	case <-done:
		return err
	case <-ctx.Done():
		return errors.Join(err, context.Cause(ctx))
	}
}

// close ends the programs of clients, all at once.
func (s *Set) close(ctx context.Context, clients []*client) error {
	errs := make([]error, len(clients))
	var wg sync.WaitGroup
	for i, c := range clients {
		wg.Go(func() { errs[i] = c.end(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
