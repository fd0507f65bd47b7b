// Package notices tells people what they did not ask for and want to know (CV14). The home chat of a platform hears that the
// gateway stops and is back (lives.go), and that another platform is down (platforms.go). The chat of a session, and its model,
// hear that a background command has ended (ends.go).
//
// What it promises: each notice is a row of the outbox before it is sent, and is sent once. People hear of a restart once, and of a
// loop of restarts once in Cooldown. What the gateway or a person has ended is not news. Nothing here delays a stop, a turn or a process.
//
// The lock of Notices is a leaf: nothing is called with it held.
package notices

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gatewaytui/core/config"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// Cooldown is how long after a notice no further one about the same thing is sent.
const Cooldown = 10 * time.Minute

// Outbox takes messages to chats. *delivery.Outbox is one.
type Outbox interface {
	// Post and PostAs make a message durable and begin to send it.
	Post(key, target, text string)
	PostAs(id, key, target, text string)
	// Announce sends a message once, within ctx. No later life sends it.
	Announce(ctx context.Context, id, key, target, text string) error
}

// Journal is what earlier lives told. *store.Store is one.
type Journal interface {
	LastOutbox(ctx context.Context, prefix string) (store.Outbox, bool, error)
	LivesSince(ctx context.Context, at time.Time) (int, error)
	EndedSessions(ctx context.Context, key string, limit int) ([]store.Session, error)
}

// Sessions are the conversations that go on. *session.Table is one.
type Sessions interface {
	Get(key string) (session.Session, bool)
}

// Tasks runs tracked background work. *background.Group is one.
type Tasks interface {
	Start(ctx context.Context, name, session string, run func(context.Context)) (started bool)
}

// Options are what Notices need. Homes may be empty.
type Options struct {
	// Homes are the home chats by platform.
	Homes    map[string]config.Home
	Outbox   Outbox
	Sessions Sessions
	Tasks    Tasks
	Log      *slog.Logger
	// Life is the id of this life; ids sort by time.
	Life string
	// Process is the process with a pid, also one that has just ended.
	Process func(pid int) (*process.Process, bool)
	// Stopping is closed when the gateway begins to stop.
	Stopping <-chan struct{}
}

// Notices tells people what they did not ask for. Its methods may be called from any goroutine.
type Notices struct {
	o Options
	// journal is set by Open, before the first notice.
	journal Journal

	// homeChats are the home chats by platform.
	homeChats atomic.Pointer[map[string]config.Home]

	mu        sync.Mutex // guards what follows
	later     func()     // tells that the gateway is back, at due; nil: nothing is left to tell
	due       time.Time
	platforms map[string]*platform
	// ending are the processes that ended within the last moment, by session; unread what the model of a session should know of.
	ending map[string][]*process.Process
	unread map[string][]line
}

// New returns notices that have told nothing yet. It does no I/O.
func New(o Options) *Notices {
	n := &Notices{o: o, platforms: map[string]*platform{}, ending: map[string][]*process.Process{}, unread: map[string][]line{}}
	n.Use(o.Homes)
	return n
}

// Open gives the notices their journal. It is called once, before the gateway is ready.
func (n *Notices) Open(j Journal) { n.journal = j }

// Tick tells what is due at now.
func (n *Notices) Tick(now time.Time) {
	n.mu.Lock()
	later := n.later
	if later == nil || now.Before(n.due) {
		later = nil
	} else {
		n.later = nil
	}
	n.mu.Unlock()
	if later != nil {
		later()
	}
	n.tellOfPlatforms(now)
}

// Use puts other home chats in force.
func (n *Notices) Use(homes map[string]config.Home) { n.homeChats.Store(&homes) }

// chats are the home chats by platform.
func (n *Notices) chats() map[string]config.Home { return *n.homeChats.Load() }

// homes are the platforms that have a home chat, in order.
func (n *Notices) homes() []string { return slices.Sorted(maps.Keys(n.chats())) }

// home is the address of a platform's home chat; empty: none is known, and the log says so.
func (n *Notices) home(ctx context.Context, name string) config.Home {
	h := n.chats()[name]
	if h.Target != "" || h.Session == "" {
		return h
	}
	if s, ok := n.o.Sessions.Get(h.Session); ok {
		h.Target = s.Target
		return h
	}
	ended, err := n.journal.EndedSessions(ctx, h.Session, 1)
	if len(ended) > 0 {
		h.Target = ended[0].Target
		return h
	}
	args := []any{"adapter", name, "session", h.Session}
	if err != nil {
		args = append(args, "error", term.Clean(err.Error(), 300))
	}
	n.o.Log.Warn(ops.LogHomeUnknown, args...)
	return config.Home{}
}

// stopping reports whether the gateway stops.
func (n *Notices) stopping() bool {
	select {
	case <-n.o.Stopping:
		return true
	default:
		return false
	}
}
