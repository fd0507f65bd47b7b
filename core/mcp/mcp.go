// Package mcp is the tool servers of agents, which speak the Model Context Protocol (HR1). They are programs of this machine, over pipes,
// or servers over HTTP. The official SDK speaks the protocol; everything that can hang is here.
//
// What it promises:
//
//   - A program of a server is a tracked process tree like any other (package process). It starts at the first use of the server, never
//     twice at once for one session, and after an end that was not asked for only behind a growing backoff. It is closed when it is not
//     used for a time, with its session, with the gateway, and by an operator.
//   - A call returns within the time limit of its server, and soon after the end of its turn, even if the server hangs. No call is made twice.
//   - Tools of a server that does not run are offered as well: the list is kept on disk. A changed list holds from the next turn on.
//   - Trust is what the config says: hints of a server about its own tools are not read. Every other call passes the gate of the agent.
//   - Names, descriptions, schemas and results of a server are bounded, and nothing of them acts on a terminal.
//
// mcp.go has the set of all servers, server.go one definition, and instance.go the life of a running server. link.go has one connection,
// over pipe.go or http.go. list.go has the lists of tools, tool.go a tool as a model calls it, result.go its results, and search.go what
// stands for many tools. rows.go is what operators see and do.
package mcp

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/term"
	"gatewaytui/core/tool"
)

// ErrClosed refuses calls after CloseAll.
var ErrClosed = errors.New("no tool server is used any more: the gateway is stopping")

// Definition is a server of the config. Its fields are those of [servers.NAME].
type Definition struct {
	Name string
	// Command is the program with its arguments, URL the address of a server over HTTP, and Preset the name of one of Options.Presets. One
	// of the three is set.
	Command     []string
	URL, Preset string
	// Headers are sent to URL: the names of the variables that hold their values, by header.
	Headers map[string]string
	// Scope is ops.ServerOfSession or ops.ServerOfGateway.
	Scope string
	// Trusted and Tools are patterns of names, in which * is any text.
	Trusted, Tools []string
	// Withheld are patterns of names that are not offered even if Tools has them.
	Withheld []string
	// Env are names of variables of the gateway that the program sees as well.
	Env []string
	// Timeout bounds one call, and Idle is how long a server runs that is not used.
	Timeout, Idle time.Duration
}

// Use is for whom a preset makes a server.
type Use struct {
	// Server is the name of the definition. Session is the key of the session; empty: the server belongs to the gateway.
	Server, Session string
	// ID is unique in this life. It has letters and digits alone.
	ID string
}

// Launch is how a server starts.
type Launch struct {
	Command []string
	// Env is added to the variables that pass, as NAME=value.
	Env []string
	// Owner is the owner of its processes; empty: mcp:NAME. Kind is the kind of its row; empty: HeldServer.
	Owner string
	Kind  ops.HeldKind
	// Close removes what the launch made, once no process of the server is left; nil: there is nothing. It may be called after a start
	// that failed. It must bound itself by ctx.
	Close func(ctx context.Context) error
}

// Preset makes the launch of a server, for instance with a folder of its own. It must return soon after the end of ctx.
type Preset func(ctx context.Context, use Use) (Launch, error)

// Files keeps what a server sends as a file. *media.Media is one.
type Files interface {
	// Keep saves content in the folder of a session, and returns its path from the work folder.
	Keep(session, name string, content []byte) (path string, err error)
	// Picture is content as a model that can see is shown it. The error says why it is not.
	Picture(content []byte) (model.Image, error)
}

// Options of a Set. Spawn, Folder, Workdir and Log are needed.
type Options struct {
	// Spawn starts a process. *process.Registry has it.
	Spawn func(ctx context.Context, spec process.Spec) (*process.Process, error)
	// Folder keeps the lists of tools. Workdir is where programs run.
	Folder, Workdir string
	// KillGrace is the time from TERM to KILL.
	KillGrace time.Duration
	// Presets are the presets by name.
	Presets map[string]Preset
	// Files keeps what is not text; nil: it is described and dropped. Asker puts questions to people; nil: every question is declined.
	Files Files
	Asker tool.Asker
	// OnState is called after each change of a server's state, in any order, from any goroutine. It must not wait. nil: no call.
	OnState func(ops.Server)
	// Redactor knows the secrets, so that no reason shows one; nil masks what looks like one.
	Redactor *term.Redactor
	Log      *slog.Logger
}

// why is a reason as people and models read it: without secrets, and bounded.
func (s *Set) why(reason string) string { return term.Clean(s.o.Redactor.Redact(reason), maxProblem) }

// Set is the servers of a gateway. Its methods may be called from any goroutine.
type Set struct {
	o     Options
	ctx   context.Context // ends with CloseAll
	stop  context.CancelFunc
	tasks sync.WaitGroup // everything that a server runs; grows only under mu while closed is false

	mu      sync.Mutex // guards what follows; never held over I/O
	open    bool
	closed  bool
	lastID  uint64
	servers map[string]*server // in force, by name
	retired []*server          // earlier ones that still have an instance
}

// New returns a set without servers. It does no I/O and starts nothing.
func New(o Options) *Set {
	s := &Set{o: o, servers: map[string]*server{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Use puts the servers of a config in force. A server whose definition is as before stays as it is. Another one is replaced: turns that
// run keep the old one until they have ended.
func (s *Set) Use(definitions []Definition) {
	s.mu.Lock()
	before, next := s.servers, map[string]*server{}
	var fresh []*server
	for _, d := range definitions {
		if old := before[d.Name]; old != nil && old.mark == markOf(d) {
			next[d.Name] = old
			continue
		}
		next[d.Name] = newServer(s, d)
		fresh = append(fresh, next[d.Name])
	}
	var gone []*server
	for name, old := range before {
		if next[name] != old {
			gone = append(gone, old)
		}
	}
	s.servers = next
	s.retired = append(s.retired, gone...)
	open := s.open
	s.mu.Unlock()
	for _, old := range gone {
		old.retire()
	}
	if open {
		for _, one := range fresh {
			one.prepare()
		}
	}
}

// Open reads the lists of tools that are kept, in the background. A server without one is started for it once.
func (s *Set) Open() {
	s.mu.Lock()
	s.open = true
	all := slices.Collect(maps.Values(s.servers))
	s.mu.Unlock()
	for _, one := range all {
		one.prepare()
	}
}

// start runs f on a goroutine that CloseAll waits for. It reports false, and does nothing, after CloseAll.
func (s *Set) start(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.tasks.Go(f)
	return true
}

// nextID is an id for a running server.
func (s *Set) nextID() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID++
	return s.lastID
}

// all are the servers in force by name, and behind them the retired ones.
func (s *Set) all() (all []*server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.servers)) {
		all = append(all, s.servers[name])
	}
	return append(all, s.retired...)
}

// find is the server of this name; nil: there is none.
func (s *Set) find(name string) *server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.servers[name]
}

// forget drops a retired server that holds nothing any more.
func (s *Set) forget(old *server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retired = slices.DeleteFunc(s.retired, func(r *server) bool { return r == old })
}
