// Package conversation works on the messages of sessions. It runs turns (turn.go) with the agents of sessions (agents.go) and
// their transcripts (transcript.go), ends conversations (end.go), interrupts turns (interrupt.go) and has the chat
// commands (commands.go).
//
// What it promises: a turn is durable before it begins and before its answer is sent, and nothing is said to be saved that
// is not. A turn that lost its slot says and writes nothing more (D8, D10). A conversation ends in one place, End: its turn
// first, then its agent with all processes, then its row, and only then does the next one begin (S12). A turn ends in the
// store in one place, endOf.
//
// Locks: the only lock of this package is transcript.mu, which is held over the writes of one transcript in order to keep
// their order. session.Table and agent.Cache have theirs, and are never called with transcript.mu held.
package conversation

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"gatewaytui/core/agent"
	"gatewaytui/core/budget"
	"gatewaytui/core/delivery"
	"gatewaytui/core/media"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
)

// Store keeps sessions, turns and transcripts. *store.Store is one.
type Store interface {
	BeginTurn(ctx context.Context, s store.Session, turn store.Turn, messages ...store.Message) error
	AppendMessages(ctx context.Context, sessionID, turnID string, messages []store.Message, c *store.Charge) error
	Steer(ctx context.Context, sessionID, turnID string, inbox []string, messages []store.Message) error
	EndTurn(ctx context.Context, s store.Session, turn store.Turn, messages []store.Message) error
	EndRequest(ctx context.Context, sessionID string, c *store.Charge) error
	Compaction(ctx context.Context, sessionID string) (store.Compaction, error)
	Since(ctx context.Context, sessionID string, seq int64) ([]store.Entry, error)
	Compact(ctx context.Context, sessionID, turnID string, c store.Compaction) error
	LastExchange(ctx context.Context, sessionID string) (store.Exchange, bool, error)
	Undo(ctx context.Context, sessionID string, first, last int64, at time.Time) error
	SpentIn(ctx context.Context, sessionID string) (store.Spent, error)
	SpentLast(ctx context.Context, sessionID string) (store.Spent, bool, error)
	SpentBy(ctx context.Context, platform, person string, since time.Time) (store.Spent, error)
	Pins(ctx context.Context, sessionID string) ([]store.Pin, error)
	PutPin(ctx context.Context, sessionID, text string, at time.Time) (found bool, err error)
	DropPin(ctx context.Context, sessionID string, seq int64) error
	ExternalSession(ctx context.Context, sessionID, agent string) (string, error)
	KeepExternalSession(ctx context.Context, sessionID, agent, id string, at time.Time) error
	EndSession(ctx context.Context, id string, at time.Time, reason string) error
	ForgetSessions(ctx context.Context, ids ...string) error
	EndedSessions(ctx context.Context, key string, limit int) ([]store.Session, error)
	SetTitle(ctx context.Context, id, title string) (found bool, err error)
	Choose(ctx context.Context, s store.Session) error
	ReopenSession(ctx context.Context, currentID, oldID string, at time.Time) (store.Session, error)
	// Patient is ctx without its end, for a write that must survive the end of its cause.
	Patient(ctx context.Context) (context.Context, context.CancelFunc)
	Patience(ctx context.Context, bound time.Duration) (context.Context, context.CancelFunc)
}

// Processes are the processes that the tools of sessions started. *process.Registry is one.
type Processes interface {
	CountSession(key string) int
	KillSession(ctx context.Context, key string, grace time.Duration) process.Report
	KillTurn(ctx context.Context, turn string, grace time.Duration) process.Report
}

// Gate is the state of the gateway, as far as turns depend on it.
type Gate interface {
	// Admit is why no turn may begin now, in the words for the sender of a message; nil: turns may begin.
	Admit() error
	// Damaged reports whether the database takes no writes for the rest of this life.
	Damaged() bool
	// ClockDoubted reports whether nothing may be ended that goes by the wall clock.
	ClockDoubted() bool
	// Load brings the session of key into the table if only the store has it yet.
	Load(ctx context.Context, key string) error
}

// Tasks runs tracked background work, whose owner waits for it. *background.Group is one.
type Tasks interface {
	delivery.Tasks
	// StartUpTo is Start, unless most tasks with this name run in the session already; running is how many.
	StartUpTo(ctx context.Context, most int, name, session string, run func(context.Context)) (started bool, running int)
	// Count is how many tasks with this name run in the session.
	Count(session, name string) int
	// Progress shows how far the task of ctx is: done of whole, and text for people.
	Progress(ctx context.Context, done, whole int64, text string)
}

// Meter counts turns. It never waits.
type Meter interface {
	TurnStarted()
	TurnEnded(ended ops.TurnEnded)
}

// Workspace is the folder in which agents work. *workspace.Workspace is one.
type Workspace interface {
	// Prompt is what the folder adds to a system prompt, with its skills or without. It reads the disk, within bounds.
	Prompt(skills bool) string
}

// News is what happened to a session between its turns. *notices.Notices is one.
type News interface {
	// Take returns what the model of a session should know of, once; empty: nothing. giveBack undoes it. Drop forgets it.
	Take(key string) (note string, giveBack func())
	Drop(key string)
}

// Media takes the files of messages. *media.Media is one.
type Media interface {
	// Take fetches the files of a message, within bounds, and returns soon after the end of ctx.
	Take(ctx context.Context, in media.Message) media.Taken
}

// Bounds are the limits of the config that conversations keep.
type Bounds struct {
	// CallsPerTurn is how many model calls a turn may make, Background how many /background tasks a conversation may run.
	CallsPerTurn, Background int
	// StallWarn and StallAfter are after how long without progress a turn is a warning, and is interrupted; 0: never.
	StallWarn, StallAfter time.Duration
	// AgentClose bounds the end of one agent without its processes, KillGrace the time from TERM to KILL, InterruptGrace how
	// long an interrupted turn may take to end.
	AgentClose, KillGrace, InterruptGrace time.Duration
}

// Options are what Conversations need. Every field is required but Budget and Notes.
type Options struct {
	Table *session.Table
	Cache *agent.Cache
	// Budget counts what turns spend; nil: nothing does.
	Budget    *budget.Ledger
	Workspace Workspace
	Media     Media
	Processes Processes
	// Environments end what the commands of sessions run in.
	Environments agent.Environments
	// Held ends what else sessions hold; nil: nothing is held.
	Held   agent.Held
	Outbox *delivery.Outbox
	News   News
	// Notes outlive conversations; nil: nothing does. Reviews look for them while a conversation goes on; nil: none do.
	Notes     Notes
	Reviews   Reviews
	Approvals Approvals
	Jobs      Jobs
	Gate      Gate
	Tasks     Tasks
	Events    delivery.Emitter
	Meter     Meter
	Log       *slog.Logger
	// Life is the id of this run of the gateway.
	Life string
	// NewID makes unique ids that sort by time.
	NewID func() string
	// Reached counts that something waits for the bound of this name, or was refused for it. It never blocks.
	Reached func(bound string)
	// Find finds what was said within own, newest first, at most limit messages.
	Find func(ctx context.Context, text string, own Own, limit int) (ops.Found, error)
	// People are who may speak, and as what.
	People delivery.People
	// LetIn does what an owner asked with /people.
	LetIn func(ctx context.Context, by, words string) (string, error)
	// Stopping is closed when the gateway begins to stop.
	Stopping <-chan struct{}
	// Status is the state of the whole gateway.
	Status func(ctx context.Context) (ops.Status, error)
}

// Conversations works on the messages of the sessions in a Table. Its methods may be called from any goroutine.
type Conversations struct {
	o Options
	// setup is the config in force. A turn has its own, which may be an earlier one: see setupOf.
	setup atomic.Pointer[Setup]
	// store and intake are set by Open, before the first turn.
	store  Store
	intake *delivery.Intake
	// turns is the context that the contexts of turns hang on, cancel ends it.
	turns    context.Context
	cancel   context.CancelFunc
	commands []chatCommand
	// workers are the goroutines of turns, which Wait waits for.
	workers sync.WaitGroup
}

// New returns Conversations that work by a config. It does no I/O.
func New(o Options, s *Setup) *Conversations {
	c := &Conversations{o: o}
	c.setup.Store(s)
	c.turns, c.cancel = context.WithCancel(context.Background())
	c.commands = c.chatCommands()
	return c
}

// Open gives the conversations their store and the way by which messages come. It is called once, before any message.
func (c *Conversations) Open(s Store, intake *delivery.Intake) { c.store, c.intake = s, intake }

// Context is the context that the contexts of turns hang on.
func (c *Conversations) Context() context.Context { return c.turns }

// Cancel ends every turn's context, at the end of a life, when no one waits for a turn any more.
func (c *Conversations) Cancel() { c.cancel() }

// Wait returns when every turn's worker has returned. A worker that ignores its context keeps it waiting.
func (c *Conversations) Wait() { c.workers.Wait() }

// holding reports whether waiting messages stay where they are.
func (c *Conversations) holding() bool { return c.o.Gate.Admit() != nil }

// Fill begins the turns that wait for a slot, as far as slots are free and turns may begin. It is called where a slot may
// have become free other than by the end of a turn.
func (c *Conversations) Fill() {
	if !c.holding() {
		c.Resume()
	}
}

// Gathered ends the wait of a message to key for more of it.
func (c *Conversations) Gathered(key string) { c.Begin(c.o.Table.Gathered(c.turns, key, c.holding())) }

// Resume is Fill after turns were held. It returns how many turns began.
func (c *Conversations) Resume() int {
	held := c.o.Table.Resume(c.turns)
	for _, t := range held {
		c.Begin(t)
	}
	return len(held)
}

// RefuseWaiting tells the senders who wait for an answer why this life will not work on their messages. A chat's message stays
// in the inbox, for the next life.
func (c *Conversations) RefuseWaiting(why error) {
	for key, waiting := range c.o.Table.Drop() {
		for _, m := range waiting {
			if !m.Instant {
				c.o.Log.Info("waiting message left to the next life", "session", key, "message", m.ID)
				continue
			}
			c.o.Log.Warn("waiting message dropped", "session", key, "message", m.ID, "reason", clean(why))
			c.o.Outbox.Refuse(key, userError(why), m)
		}
	}
}

// row is a session as the store keeps it.
func row(s session.Session) store.Session {
	return store.Session{
		Key: s.Key, ID: s.ID, Platform: s.Platform, User: s.User, Target: s.Target, State: s.State,
		CreatedAt: s.Created, LastActivityAt: s.LastActivity, TokensIn: s.TokensIn, TokensOut: s.TokensOut,
		ContextUsed: s.ContextUsed, ContextWindow: s.ContextWindow, TokensCached: s.TokensCached, Cost: s.Cost, Priced: s.Priced, Agent: s.Agent, Model: s.Model, Choice: s.Choice,
		Caller: s.Caller, Title: s.Title, Busy: string(s.Busy),
	}
}

// Stored is a session as the table holds it, from its row in the store.
func Stored(s store.Session) session.Session {
	return session.Session{
		Key: s.Key, ID: s.ID, Platform: s.Platform, User: s.User, Target: s.Target, State: s.State,
		Created: s.CreatedAt, LastActivity: s.LastActivityAt, TokensIn: s.TokensIn, TokensOut: s.TokensOut, Caller: s.Caller, Title: s.Title, Stored: true,
		ContextUsed: s.ContextUsed, ContextWindow: s.ContextWindow,
		TokensCached: s.TokensCached, Cost: s.Cost, Priced: s.Priced, Agent: s.Agent, Model: s.Model, Choice: s.Choice, Busy: session.KnownBusy(s.Busy),
	}
}
