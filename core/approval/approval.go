// Package approval asks people before a tool takes a step that is not known as harmless (TR3, TR4, TR5).
//
// What it promises: a step that asks runs only after the verdict that allowed it, exactly as it was shown: the same bytes, folder and
// environment. An answer names its request and reaches no other. A request ends once: allowed, denied, expired or withdrawn, and its
// row is durable before anything follows from it. What is never allowed is refused, and no answer lifts that. A request waits no longer
// than approvals.expire and than its turn. Nothing that was asked in one life runs in another.
//
// A question for a text (ask_user) is a request as well; who was asked, or an owner, answers it.
//
// terms.go has what the config says, grants.go what runs without a further question. gate.go judges a step, question.go asks for a text,
// wait.go lets a turn wait. answer.go ends requests, card.go has the messages to chats, withdraw.go the stop and the start.
//
// Locks: Book.mu is a leaf and is not held over I/O.
package approval

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"gatewaytui/core/access"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/tool"
)

// Store keeps the requests. *store.Store is one.
type Store interface {
	PutApproval(ctx context.Context, v store.Approval) (fresh bool, err error)
	EndApproval(ctx context.Context, v store.Approval, rules ...store.ApprovalRule) (now store.Approval, ended bool, err error)
	WithdrawApprovals(ctx context.Context, reason string, at time.Time) ([]store.Approval, error)
	SetApprovalCard(ctx context.Context, v store.Approval) error
	Approvals(ctx context.Context, ended int) ([]store.Approval, error)
	Approval(ctx context.Context, id string) (store.Approval, bool, error)
	ApprovalRules(ctx context.Context) ([]store.ApprovalRule, error)
	DropApprovalRule(ctx context.Context, id string) (found bool, err error)
	PutAudit(ctx context.Context, a store.Audit) error
	// Patient is ctx without its end, for a write that must survive the end of its cause.
	Patient(ctx context.Context) (context.Context, context.CancelFunc)
}

// Turns are the turns that wait. *conversation.Conversations is one.
type Turns interface {
	// Park gives up the slot of a running turn; false: it does not run any more. Unpark returns when the turn has one again, or ctx's end.
	Park(key, turn, approval string) (running bool)
	Unpark(ctx context.Context, key, turn, approval string) error
}

// Sessions are the conversations. *session.Table is one.
type Sessions interface {
	Get(key string) (session.Session, bool)
}

// People say who may answer. *access.People is one.
type People interface {
	MayAnswer(who access.Person) bool
	Owners(platform string) []access.Person
}

// Chats shows requests in chats. *delivery.Outbox is one. Its methods do not wait for a platform.
type Chats interface {
	PostCard(key, target, text string, choices []session.Choice, arrived func(message string))
	Replace(key, target, message, text string)
	Post(key, target, text string)
	// Sign begins a chat command as the people in the chat of the session of key write it.
	Sign(key string) string
}

// Tasks runs tracked background work. *background.Group is one.
type Tasks interface {
	Start(ctx context.Context, name, session string, run func(context.Context)) (started bool)
}

// Events and Meter hear what became of requests. They never wait.
type Events interface {
	Emit(t ops.EventType, subject, text string, data ops.Payload)
}

// Meter counts requests by outcome: see Outcomes.
type Meter interface{ Approval(outcome string) }

// Outcomes are what Meter counts: the final states of a request, and Granted for a step that an earlier answer allows.
var Outcomes = []string{
	string(store.ApprovalAllowed), string(store.ApprovalAnswered), string(store.ApprovalDenied), string(store.ApprovalExpired), string(store.ApprovalWithdrawn), string(store.ApprovalRefused), Granted,
}

// Granted is the outcome of a step that an earlier answer allows.
const Granted = "granted"

// Mode is what an agent asks for (agents.NAME.approvals).
type Mode string

// The modes. ModeFence is the default.
const (
	ModeFence  Mode = "fence"  // what the fence does not know as harmless
	ModeStrict Mode = "strict" // every step
	ModeOff    Mode = "off"    // none
)

// Options are what a Book needs. Every field is required.
type Options struct {
	Log    *slog.Logger
	Events Events
	Meter  Meter
	Tasks  Tasks
	Chats  Chats
	People People
	Table  Sessions
	NewID  func() string
	// Grants are the commands that the turn of a session may run without a person, because it is that of a job.
	Grants func(session string) []string
}

// Book is the requests of a gateway, and the gate in front of its tools. Its methods may be called from any goroutine.
type Book struct {
	o Options
	// terms are those in force.
	terms atomic.Pointer[Terms]
	store Store
	turns Turns

	mu       sync.Mutex // guards what follows
	waiting  map[string]*request
	recent   []store.Approval // the last that ended, newest last
	sessions map[string]*memory
	rules    []store.ApprovalRule
	unread   map[string][]string // what the model of a session reads at its next turn
	stopping bool
	told     []*request // that a stop withdrew, until Tell
}

const (
	// maxRecent is how many requests that ended the inbox shows, maxSessions of how many sessions something is remembered.
	maxRecent   = 100
	maxSessions = 1024
)

// New returns a Book without requests. It does no I/O.
func New(o Options, t *Terms) *Book {
	b := &Book{o: o, waiting: map[string]*request{}, sessions: map[string]*memory{}, unread: map[string][]string{}}
	b.terms.Store(t)
	return b
}

// request is a request that waits.
type request struct {
	row   store.Approval
	step  tool.Step
	terms *Terms
	card  card
	// outcome gets the row as it ended, once. reply is set before it: the answer to a question.
	outcome chan store.Approval
	reply   string
	// ended means that the request has its end.
	ended bool
	// offersTurn means that the card offers "this turn".
	offersTurn bool
}

// memory is what a Book knows of a session besides its requests. It ends with the conversation.
type memory struct {
	conversation string
	// turn is the turn that asked last, asks how often it did, refusals how often in vain. kinds are the kinds of steps that a person
	// allowed for the rest of it.
	turn           string
	asks, refusals int
	kinds          map[tool.StepKind]bool
	// granted is what a person allowed for the rest of the session.
	granted []store.ApprovalRule
}

// memory is what is known of a session and its turn. The caller holds mu.
func (b *Book) memory(key, conversation, turn string) *memory {
	m := b.sessions[key]
	if m == nil || m.conversation != conversation {
		if m == nil && len(b.sessions) >= maxSessions {
			b.forgetSome()
		}
		m = &memory{conversation: conversation}
		b.sessions[key] = m
	}
	if m.turn != turn {
		m.turn, m.asks, m.refusals, m.kinds = turn, 0, 0, map[tool.StepKind]bool{}
	}
	return m
}

// forgetSome drops the memory of half of the sessions: their people are asked again. The caller holds mu.
func (b *Book) forgetSome() {
	left := maxSessions / 2
	for key := range b.sessions {
		if left--; left < 0 {
			return
		}
		delete(b.sessions, key)
	}
}
