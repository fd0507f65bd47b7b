// Package health knows how a gateway is doing: whether it takes messages and why not, what an operator should fix, and
// whether the wall clock can be trusted.
//
// What it promises: readiness follows the database within a second, and no question waits for a disk that hangs. A damaged
// database ends the intake of messages at once. While the clock is doubted nothing may be deleted or expired by it. A warning
// has a stable code, says what to do, and is in the log once.
//
// The locks of this package are leaves: no other lock is taken under them, and none is held over I/O or a call of Gateway.
package health

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gatewaytui/core/background"
	"gatewaytui/core/limit"
	"gatewaytui/core/ops"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// WarnReadOnly is the code of the warning of a life that takes no messages because its database is damaged.
const WarnReadOnly = "store.read_only"

// Gateway is the gateway whose health is watched. Its methods do not call back into Health with a lock held.
type Gateway interface {
	// State is what the gateway does now. ready is false until every adapter has had its first attempt.
	State() (state ops.State, ready bool)
	// RefuseWaiting answers the messages that wait with why: this life takes none of them up.
	RefuseWaiting(why error)
	// ReadinessChanged tells the service manager why no message is taken; an empty reason: messages are taken again.
	ReadinessChanged(reason string)
}

// Host is what the program around the gateway knows of the machine.
type Host interface {
	// ClockConfirmed reports whether a time service vouches for the wall clock.
	ClockConfirmed(wall time.Time) bool
	// Booted is how long ago the machine started, the time that it slept included; known is false where no clock measures
	// that.
	Booted() (ago time.Duration, known bool)
}

// Options are what Health is made of. Every field but Warnings and Config is needed.
type Options struct {
	Log     *slog.Logger
	Gateway Gateway
	Host    Host
	// Life is the id of this life.
	Life string
	// Database is the path of the SQLite file, whose disk is watched for room.
	Database   string
	Limits     *limit.Set
	Background *background.Group
	// Warnings are what the start already noticed.
	Warnings []ops.Warning
	// Config is the config file as it was read.
	Config ops.ConfigFile
}

// files is what is known of the store's files. Health.mu guards it.
type files struct {
	err   error     // what the last check found; nil: nothing
	since time.Time // when err was first found
	began time.Time // of the check under way; zero: there is none
	said  string    // the reason that the service manager and the log last received; empty: messages are taken
}

// Health is how one gateway is doing. Its methods may be called from any goroutine.
type Health struct {
	clock
	o   Options
	log *slog.Logger
	// store is nil until Opened.
	store atomic.Pointer[store.Store]
	// checks asks the watcher for a check of the store's files; it closes what it got when a check that began later is over.
	checks chan chan struct{}
	// probe has room for one: the last write of the store failed.
	probe chan struct{}

	mu       sync.Mutex // guards what follows; never held over I/O
	warnings []ops.Warning
	// damaged says what of the database is damaged; it is empty while the database is sound.
	damaged string
	files   files
	// config is what is known of the config file, since configSince.
	config      ConfigSeen
	configSince time.Time
	// lowResources is what the last check found the process to be short of.
	lowResources []ops.Warning
	// limitsReached are the bounds that were warnings at the last check.
	limitsReached []ops.Warning
}

// New returns the health of a gateway that starts now. It does no I/O.
func New(o Options) *Health {
	h := &Health{
		o: o, log: o.Log, warnings: slices.Clone(o.Warnings),
		checks: make(chan chan struct{}), probe: make(chan struct{}, 1),
	}
	h.clock = clock{confirmed: o.Host.ClockConfirmed, started: time.Now()}
	if ago, known := o.Host.Booted(); known {
		h.clock.bootedThen, h.clock.booted = ago, func() time.Duration {
			ago, _ := o.Host.Booted()
			return ago
		}
	}
	return h
}

// Opened gives Health the store, once it is open. It is called once.
func (h *Health) Opened(st *store.Store) { h.store.Store(st) }

// Warn logs a warning and keeps it for the rest of this life.
func (h *Health) Warn(code, text string) {
	h.log.Warn("warning", "code", code, "text", text)
	h.Keep(ops.Warning{Code: code, Message: text, Since: ops.At(time.Now())})
}

// Keep keeps a warning for the rest of this life. The caller has logged it.
func (h *Health) Keep(w ops.Warning) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.warnings = append(h.warnings, w)
}

// logNew logs the warnings whose code none of those before has.
func (h *Health) logNew(warnings, before []ops.Warning) {
	for _, w := range warnings {
		if !slices.ContainsFunc(before, func(b ops.Warning) bool { return b.Code == w.Code }) {
			h.log.Warn("warning", "code", w.Code, "text", w.Message)
		}
	}
}

// Damage is why no message is taken; it is empty while the database is sound, as far as is known.
func (h *Health) Damage() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.damaged
}

// Refusal is what the sender of a message gets while the database is damaged; nil while it is sound.
func (h *Health) Refusal() error {
	damage := h.Damage()
	if damage == "" {
		return nil
	}
	return &ops.Error{Code: ops.CodeUnavailable, Message: "the gateway takes no messages: " + damage, Hint: "your message was not taken and nothing of it is kept; its operator has to repair the database first"}
}

// RejectMessages has every message refused from now on. The first call warns the operator of the damage; advice says what
// to do.
func (h *Health) RejectMessages(damage *store.DamagedError, advice string) {
	reason := "the database is damaged"
	if len(damage.Tables) > 0 {
		reason += " in " + strings.Join(damage.Tables, ", ")
	}
	h.mu.Lock()
	again := h.damaged != ""
	h.damaged = reason
	h.mu.Unlock()
	if !again {
		h.Warn(WarnReadOnly, "no message is taken: "+term.Clean(damage.Error(), 400)+"; "+advice)
	}
}

// StopWriting is for damage that is found while the gateway works: the store takes nothing more, the senders of waiting
// messages get an answer, and the next start reads the database before it writes to it.
func (h *Health) StopWriting(damage *store.DamagedError) {
	h.store.Load().StopWriting()
	h.RejectMessages(damage, "from now on nothing is written to it. Stop the gateway: the next start keeps a copy and asks what to do")
	h.o.Gateway.RefuseWaiting(h.Refusal())
}
