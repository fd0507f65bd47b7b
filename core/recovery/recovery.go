// Package recovery joins the lives of a home: it opens the database, says how the life before ended, resumes what earlier
// lives left, and records this life while it runs and as it ends.
//
// What it promises: a damaged database is never written to. A message whose turn had begun is never worked on again without
// its sender: it is unknown which of its steps were done (D19). A message that still waited is worked on once. What earlier
// lives left running is ended, or adopted where the config says so, and never the processes of another home. A loop of
// crashes is broken. Nothing is deleted before its time, and nothing by a clock that is doubted.
//
// A start calls OpenStore, then Begin, then TakeUp once messages are taken. It has no lock.
package recovery

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"gatewaytui/core/background"
	"gatewaytui/core/config"
	"gatewaytui/core/delivery"
	"gatewaytui/core/health"
	"gatewaytui/core/lives"
	"gatewaytui/core/media"
	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

// Identity names a life and its process.
type Identity struct {
	// Life names this life for ever.
	Life string
	// PID, StartTicks and BootID identify its process: a pid alone is used again.
	PID        int
	StartTicks uint64
	BootID     string
	Version    string
}

// Start is what the start found in the home, and what its operator asked for.
type Start struct {
	// LifeBefore is the id of the life whose clean-shutdown marker was found; empty: there was none that could be read.
	// MarkerUnread says that there was one that could not, DamagedBefore that it knew its database to be damaged.
	LifeBefore                  string
	MarkerUnread, DamagedBefore bool
	// NoResume drops what earlier lives left unfinished: waiting messages are not worked on, models do not hear of turns.
	NoResume bool
	// FreshStore moves a damaged database to quarantine and begins with an empty one. ReadOnlyStore runs on it as it is, without a
	// write and without messages. Without either such a start fails.
	FreshStore, ReadOnlyStore bool
	// TrustClock takes the wall clock of this start for right, also against the lives before it.
	TrustClock bool
	// Changes are the changed defaults that are in force. Each is a warning of the first life on a home whose store has an
	// older schema than the change.
	Changes []config.Change
}

// Gateway is the gateway that resumes what earlier lives left. No lock of this package is held over its methods.
type Gateway interface {
	// Add adds a session of the store, unless there is one with its key. Known reports whether there is one.
	Add(s store.Session)
	Known(key string) bool
	// IsWork reports whether the chat command of this name starts a turn.
	IsWork(command string) bool
	// Restore gives a message of the inbox to its session, or tells its sender why not. It does not wait for the turn.
	Restore(ctx context.Context, in store.Inbox)
}

// Reports are the reports of earlier stops.
type Reports interface {
	// LastReport reads the report of an earlier life's stop; an error says that there is one that cannot be used.
	LastReport(life string) (r ops.Shutdown, found bool, err error)
}

// Media is the files of chats. *media.Media is one.
type Media interface {
	// Prune deletes files of chats that are older than old, within ctx.
	Prune(ctx context.Context, old time.Time) (media.Pruned, error)
}

// Retention is how long what is over is kept, by kind; 0: for ever. What has no kind here is kept for store.Retention.
type Retention struct{ Transcripts, ToolOutputs, Media, Audit time.Duration }

// Options are what Recovery is made of. OnTransaction may be nil.
type Options struct {
	Identity
	Start
	Log *slog.Logger
	// Database is the path of the SQLite file.
	Database   string
	Health     *health.Health
	Background *background.Group
	Gateway    Gateway
	// Outbox sends what earlier lives did not.
	Outbox *delivery.Outbox
	// Lives is the list of past lives next to the database.
	Lives   *lives.List
	Reports Reports
	// Retention is how long what is over is kept.
	Retention Retention
	Media     Media
	// OnTransaction counts a transaction of the store. It must not wait.
	OnTransaction func(took time.Duration)
}

// Recovery is the part of one life that knows of the others. Its methods may be called from any goroutine.
type Recovery struct {
	o   Options
	log *slog.Logger
	// db is nil until OpenStore.
	db atomic.Pointer[store.Store]
	// begun is how many lives began on this home, this one included; 0 while that is not known.
	begun atomic.Int64
	// loaded is closed when every session of the store is in the table.
	loaded chan struct{}

	// OpenStore and Begin write what follows, before anything reads it.

	// verifyLater says that the database is too large to be read before the start, unrecorded that this life is not in it
	// because it is damaged.
	verifyLater, unrecorded bool
	// copiedFrom is the life that ran when this home was copied from its home, and that still runs; empty: there is none.
	copiedFrom string
	// resumes says that this life resumes what earlier ones left; backlog is that, until TakeUp.
	resumes bool
	backlog []store.Inbox
	// cutOff is how many turns ran when the life before ended.
	cutOff int

	// outputsCut is the message up to which old results of tools are cut. Only Prune uses it, which runs once at a time.
	outputsCut int64

	lastEnd atomic.Pointer[ops.LastEnd]
	// retention is how long what is over is kept.
	retention atomic.Pointer[Retention]
}

// New returns the recovery of one life. It does no I/O.
func New(o Options) *Recovery {
	r := &Recovery{o: o, log: o.Log, loaded: make(chan struct{})}
	r.Use(o.Retention)
	return r
}

// Use has what is over kept for another time. The next Prune goes by it.
func (r *Recovery) Use(keep Retention) { r.retention.Store(&keep) }

// keep is how long what is over is kept.
func (r *Recovery) keep() Retention { return *r.retention.Load() }

// Store is the open store; nil before OpenStore.
func (r *Recovery) Store() *store.Store { return r.db.Load() }

// Begun is how many lives began on this home, this one included; 0 while that is not known.
func (r *Recovery) Begun() int64 { return r.begun.Load() }

// Resumes reports whether this life resumes what earlier ones left. It is known after Begin.
func (r *Recovery) Resumes() bool { return r.resumes }

// LastEnd is how the life before ended; nil while that is not known. The caller does not change it.
func (r *Recovery) LastEnd() *ops.LastEnd { return r.lastEnd.Load() }

// CutOff is how many turns ran when the life before ended. It is known after Begin.
func (r *Recovery) CutOff() int { return r.cutOff }

// Begin records this life in the store and reads what earlier ones left: how the last one ended, the sessions, the messages.
// Damage that it meets in a database that OpenStore trusted fails the start.
func (r *Recovery) Begin(ctx context.Context) error {
	r.warnOfChanges(r.Store().FoundSchema())
	r.warnOfSchema(r.Store().ForeignSchema())
	for _, step := range []func(context.Context) error{r.beginLife, r.loadSessions, r.readUnfinished} {
		err := step(ctx)
		if damage, is := errors.AsType[*store.DamagedError](err); is && r.o.Health.Damage() == "" { // where it was trusted
			return r.failStart(ctx, damage)
		}
		if err != nil {
			return err
		}
	}
	if n, err := r.Store().LivesBegun(ctx); err == nil { // of a damaged database it stays unknown
		r.begun.Store(n)
	}
	return nil
}
