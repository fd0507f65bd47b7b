// Package memory keeps notes that outlive conversations (HR4), and gives each conversation to the provider that keeps them (HR5).
//
// What it promises: a turn sees the notes of its own person or of its own group, and those that are shared; no other ones. Guests and
// requests without a session have no notes. A note beyond a limit is refused with a sentence, and none is dropped
// for it. A conversation with messages that the provider has not had is a row of the store until the provider has them. A flush that
// fails or takes too long is reported, and tried again in this life and in the next ones. A provider that hangs, fails or panics costs its call's
// time and nothing else: no turn, no end of a conversation and no stop waits longer.
//
// reach.go says whose notes a turn sees. flush.go has the flush and its retries, and extract.go what is taken from a conversation.
// prompt.go has what a model sees of the notes unasked, and tools.go what models and people ask for. builtin.go is the provider in
// the store, and graph.go the one over a server of tools.
//
// Locks: Memory.mu is a leaf, and is not held over I/O or a call of the provider.
package memory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"gatewaytui/core/bound"
	"gatewaytui/core/ops"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// Bounds of notes.
const (
	// MaxText is the most characters of a note, MaxNotes the most notes of an owner.
	MaxText  = 1000
	MaxNotes = 1000
	// maxFound is the most notes that a search returns.
	maxFound = 20
)

// How a note came.
const (
	ByTool  = "tool"
	ByFlush = "flush"
	// ByImport is a note that another gateway had.
	ByImport = "import"
)

// Note is a text that outlives the conversation that it came from. Its text is from people and models: it is data.
type Note struct {
	// ID names it to people and models.
	ID    string
	Owner Owner
	Text  string
	// By is how it came.
	By string
	// People wrote the words that it may have, as platform:id.
	People []string
	At     time.Time
	Pinned bool
}

// ErrNoNote means that there is no such note, or that it belongs to someone else.
var ErrNoNote = errors.New("there is no such note here")

// Provider keeps notes. Its methods may be called from any goroutine. A caller abandons a call that does not end at the deadline of its
// context.
type Provider interface {
	// Save keeps a note and returns it with its id. The same text of the same owner is kept once.
	Save(ctx context.Context, n Note) (Note, error)
	// Correct replaces the text of a note of one of these owners. The error is ErrNoNote if there is none.
	Correct(ctx context.Context, owners []Owner, n Note) (Note, error)
	// Forget deletes a note of one of these owners; without owners that of any. The error is ErrNoNote if there is none.
	Forget(ctx context.Context, owners []Owner, id string) error
	// Search finds notes of these owners, the best first.
	Search(ctx context.Context, owners []Owner, text string, limit int) ([]Note, error)
	// First are the notes of these owners that come first: those that are pinned, then the newest.
	First(ctx context.Context, owners []Owner, limit int) ([]Note, error)
	// All are the newest notes of all owners, newest first; operators read them.
	All(ctx context.Context, limit int) ([]Note, error)
	// Flush gives the provider a part of a conversation. It may get the same part again after an error.
	Flush(ctx context.Context, m Material) error
	// Shutdown releases what the provider holds for a session, after its last flush.
	Shutdown(ctx context.Context, session string) error
	// ForgetPerson deletes what may have the words of a person, platform:id, and returns how many notes that were. What is in the store
	// goes with the store's other rows.
	ForgetPerson(ctx context.Context, person string) (int, error)
}

// Store keeps the notes of the built-in provider, and what is not flushed. *store.Store is one.
type Store interface {
	Notes
	Entries(ctx context.Context, sessionID string, after int64, limit, bytes int) (page []store.Entry, more bool, err error)
	Unflushed(ctx context.Context, sessionID string) (store.Unflushed, bool, error)
	UnflushedOlder(ctx context.Context, life string, limit int) ([]store.Unflushed, error)
	Flushed(ctx context.Context, sessionID string, upto int64) error
	FlushFailed(ctx context.Context, sessionID, reason string, at time.Time) error
	// Patience is ctx without its end, for at most bound.
	Patience(ctx context.Context, bound time.Duration) (context.Context, context.CancelFunc)
}

// Tasks runs tracked background work, whose owner waits for it. *background.Group is one.
type Tasks interface {
	Start(ctx context.Context, name, session string, run func(context.Context)) bool
	Count(session, name string) int
	Progress(ctx context.Context, done, whole int64, text string)
}

// Options are what a Memory needs.
type Options struct {
	Log   *slog.Logger
	Tasks Tasks
	// Life is the id of this run of the gateway.
	Life string
	// Role is the role of a person of a platform; what guests say is not flushed.
	Role func(platform, id string) ops.Role
	// Extractor finds what is worth a note; nil: the rule of this package does.
	Extractor Extractor
	// Calls returns what calls the tools of the server with this name, which keeps a graph of entities.
	Calls func(server string) Caller
}

// Memory is the notes of a gateway. Its methods may be called from any goroutine; before Open there are no notes.
type Memory struct {
	o Options
	// calls are the calls of the provider under way, also those that were abandoned.
	calls chan struct{}

	mu       sync.Mutex // guards what follows
	store    Store
	provider Provider // nil: there is none
	name     string
	flushing map[string]chan struct{}
	missed   map[string]Missed
	next     time.Time // when the next retry is due
}

// Names of providers that are not servers.
const (
	Builtin = "builtin"
	None    = "none"
)

// maxCalls is how many calls of the provider may be under way.
const maxCalls = 32

// New returns a memory whose provider has this name. It does no I/O.
func New(o Options, provider string) *Memory {
	return &Memory{o: o, name: provider, calls: make(chan struct{}, maxCalls), flushing: map[string]chan struct{}{}, missed: map[string]Missed{}}
}

// Open gives the memory its store. It is called once.
func (m *Memory) Open(st Store) {
	m.mu.Lock()
	m.store = st
	name := m.name
	m.mu.Unlock()
	m.Use(name)
}

// Use puts another provider in force. Calls under way end with the one that they began with.
func (m *Memory) Use(name string) {
	m.mu.Lock()
	st := m.store
	m.mu.Unlock()
	var p Provider
	switch {
	case name == None || st == nil:
	case name == Builtin:
		p = builtin{keep: st, find: m.extractor()}
	case m.o.Calls != nil:
		p = graph{server: m.o.Calls(name), find: m.extractor()}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.name, m.provider = name, p
}

func (m *Memory) now() (Provider, Store) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.provider, m.store
}

// On reports whether there is a provider.
func (m *Memory) On() bool {
	p, _ := m.now()
	return p != nil
}

// How long calls of the provider may take.
const (
	callBound   = 10 * time.Second
	promptBound = time.Second
)

// errOff refuses what needs a provider.
var errOff = &ops.Error{Code: ops.CodeUnavailable, Message: "this gateway keeps no notes", Hint: "memory.provider in the config says where they are kept"}

// call calls the provider, and returns when it answers or at the limit. A call that was abandoned counts until it ends, so that a
// provider that hangs does not get more and more of them.
func call[T any](ctx context.Context, m *Memory, limit time.Duration, what string, do func(context.Context, Provider) (T, error)) (none T, err error) {
	p, _ := m.now()
	if p == nil {
		return none, errOff
	}
	select {
	case m.calls <- struct{}{}:
	default:
		return none, fmt.Errorf("%s: %d earlier calls of the memory's provider have not ended", what, maxCalls)
	}
	v, _, err := bound.Call(ctx, limit, func(ctx context.Context) (T, error) {
		defer func() { <-m.calls }()
		return do(ctx, p)
	}, nil)
	if panicked, is := errors.AsType[*bound.Panic](err); is {
		m.o.Log.Error("the memory's provider panicked", "event", ops.LogMemory, "step", what, "panic", term.Clean(fmt.Sprint(panicked.Value), 300), "stack", string(panicked.Stack))
		err = errors.New("the memory's provider panicked")
	}
	if err != nil {
		return none, fmt.Errorf("%s: %w", what, err)
	}
	return v, nil
}
