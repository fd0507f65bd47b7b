// Package agent is one agent of a session: the model loop, the tools that it calls, the children that it delegates to, and
// its end. It also has the cache that keeps agents between turns.
//
// What it promises: a turn ends when its context ends and leaves no state that affects the next turn (D8). A step is
// durable before the next one begins, and a tool call with an unknown outcome is never run again (D19). Close runs every
// step once, even if other steps fail (S10). A child is closed in every outcome (S13). The cache never evicts a busy or an
// unsaved agent (D5, D7).
//
// turn.go has the loop, transcript.go the form of the past that a model sees, context.go how it is made to fit the model, with
// summary.go, delegate.go the children, close.go the end,
// cache.go the cache. The gateway owns sessions, turns and the mailbox; this package does not know them.
package agent

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/tool"
	"gatewaytui/core/window"
)

// Run's errors when it does not run.
var (
	// ErrClosed is Run's error on an agent that was closed or released, and the cause of a turn that Close or Release ended.
	ErrClosed = errors.New("the agent is closed")
	// ErrBusy is Run's error while another turn runs.
	ErrBusy = errors.New("the agent is busy")
)

// Processes ends processes that an agent's tools started. *process.Registry is one.
type Processes interface {
	// KillSession ends the process trees of a session. KillTurn ends those of PolicyTurn that one turn started. Both
	// report the survivors.
	KillSession(ctx context.Context, session string, grace time.Duration) process.Report
	KillTurn(ctx context.Context, turn string, grace time.Duration) process.Report
}

// Environments end what the commands of a session run in. *environment.Set is one.
type Environments interface {
	// Close closes the environment of a session, after its processes have ended. It is idempotent.
	Close(ctx context.Context, session string) error
}

// Held ends what a session holds besides processes and environments. *held.Set is one.
type Held interface {
	// CloseSession ends it within the time of ctx. It is idempotent.
	CloseSession(ctx context.Context, session string) error
}

// Config has the parts of an agent.
type Config struct {
	// Session is the session's key; it owns every process that the tools start. Conversation is the id of the key's
	// current conversation: a reset keeps the key and changes the id.
	Session, Conversation string
	// Definition is the name of the definition that the agent was made from, and Chosen the model that its session's people
	// chose; empty: none. Agents of one conversation with another definition or model are other agents.
	Definition, Chosen string
	// Made is the generation of the config that last changed what agents are made from.
	Made int
	// Models makes the agent's own client, and one for each child.
	Models model.Provider
	// External makes what works on the turns in place of a model; nil: a model works.
	External Externals
	// Passing means that the agent lives for one request. A cache does not count it, because it must not push out another
	// agent.
	Passing bool
	// Slots bounds the model calls of all agents together; nil: no bound.
	Slots *model.Slots
	Tools *tool.Set
	// More returns further tools of a session, such as those of its servers. It is called at the beginning of each turn, which has these
	// tools to its end, and may wait a bounded time. nil: there are none.
	More func(ctx context.Context, session string) []tool.Tool
	// Held ends what else the session holds, such as its servers; nil: nothing is held.
	Held Held
	// Processes ends what the tools started; KillGrace is its time from TERM to KILL.
	Processes Processes
	KillGrace time.Duration
	// Environments ends what the tools' commands ran in; nil: there is none.
	Environments Environments
	// Memory keeps the transcript. With nil only the agent has it.
	Memory Memory
	// Context says when what of the conversation goes, so that it fits the model. Summariser makes the clients that summarise; nil:
	// the agent's own does.
	Context    window.Policy
	Summariser model.Provider
	// MaxIterations is how many model calls one turn may make.
	MaxIterations int
	// Delegates is how many children of one agent may work at the same time; 0: one.
	Delegates int
	// Called is called for each model call of the agent and of its children when the call has ended, on the goroutine that made it:
	// it must not wait, and may be called by several at once. nil: no call is reported.
	Called func(Call)
	// Log gets what no caller gets; nil: slog's default.
	Log *slog.Logger
}

// Call is a model call that ended.
type Call struct {
	// Model is the name of the model that answered, or failed last.
	Model string
	// Failed are the models that failed before it, in their order.
	Failed []string
	// Took is the time to the complete answer or the failure, retries included.
	Took  time.Duration
	Usage model.Usage
	// FirstByte is the time to the first part of the answer, thoughts and arguments included; 0: none arrived.
	FirstByte time.Duration
	// Err is why the call failed; nil: it succeeded. Interrupted means that its turn was ended meanwhile.
	Err         error
	Interrupted bool
}

// Agent is one agent. One turn runs at a time; everything but Run may be called from any goroutine at any time.
type Agent struct {
	cfg    Config
	client model.Client
	// external works on the turns; nil: client does.
	external External
	log      *slog.Logger
	// kill ends the processes that end with this agent: its session's or, for a child, the child's (delegate.go).
	kill func(ctx context.Context, grace time.Duration) process.Report
	// script is the session's name for the model: a child's differs from its parent's.
	script string
	// depth is 0 for a session's agent, 1 for its children.
	depth int
	child

	// messages is the transcript; loaded means that it is in memory. They belong to the running turn.
	messages []model.Message
	loaded   bool
	// digest stands for what is older than messages: the messages up to the Seq upto. Up to prunedTo results of tools are notes.
	digest         window.Digest
	upto, prunedTo int64
	// tools are those of the running turn, or of the last one.
	tools *tool.Set
	// tokens is about how many tokens digest and messages have, toolTokens how many the descriptions of counted have.
	tokens, toolTokens int
	counted            *tool.Set
	// gauge is how the endpoint counts tokens. narrow is a window that it was seen to have; 0: it was not.
	gauge  window.Gauge
	narrow int
	bytes  atomic.Int64
	count  atomic.Int64
	// pins are texts that every model call has.
	pins atomic.Pointer[[]string]
	// stale means that the memory has another transcript than messages.
	stale atomic.Bool

	mu sync.Mutex // guards what follows; never held over I/O
	// cancel ends the running turn; nil while none runs.
	cancel context.CancelCauseFunc
	// usedAt is when the last turn ended, or when the agent was made.
	usedAt   time.Time
	children []*Agent
	released bool
	// closing is made by the first Close and closed when that Close ends. closeErr is its result from then on.
	closing  chan struct{}
	closeErr error
}

// New returns an agent. It does no I/O: the transcript is loaded by the first turn.
func New(cfg Config) *Agent {
	a := &Agent{cfg: cfg, client: cfg.Models.New(), log: cmp.Or(cfg.Log, slog.Default()), script: cfg.Session, tools: cfg.Tools, usedAt: time.Now()}
	if a.cfg.Memory == nil {
		a.cfg.Memory = volatile{}
	}
	if cfg.External != nil {
		a.external = cfg.External.New(ExternalOwner{Session: cfg.Session, Agent: cfg.Definition, Memory: a.cfg.Memory})
	}
	a.kill = func(ctx context.Context, grace time.Duration) process.Report {
		return cfg.Processes.KillSession(ctx, cfg.Session, grace)
	}
	return a
}

// Session is the key of the session that the agent works for.
func (a *Agent) Session() string { return a.cfg.Session }

// Conversation is the id of the conversation that the agent works on.
func (a *Agent) Conversation() string { return a.cfg.Conversation }

// MadeFrom is what tells agents of one conversation apart: fields of their Config.
type MadeFrom struct {
	Definition, Chosen string
	Made               int
}

// MadeFrom is what the agent was made from.
func (a *Agent) MadeFrom() MadeFrom { return MadeFrom{a.cfg.Definition, a.cfg.Chosen, a.cfg.Made} }

// Bytes is roughly the memory of the agent's transcript.
func (a *Agent) Bytes() int64 { return a.bytes.Load() }

// Busy reports whether a turn runs. An abandoned turn keeps its agent busy until it returns.
func (a *Agent) Busy() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.cancel != nil
}

// Unsaved reports whether a part of the session is not durable yet.
func (a *Agent) Unsaved() bool { return a.cfg.Memory.Unsaved() }

// Closed reports whether Close or Release has begun. Such an agent runs no more turns.
func (a *Agent) Closed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.over()
}

// over is Closed with a.mu held.
func (a *Agent) over() bool { return a.released || a.closing != nil }

// Row is the agent as an operator sees it.
func (a *Agent) Row() ops.Agent {
	delegates := a.childRows()
	a.mu.Lock()
	defer a.mu.Unlock()
	row := ops.Agent{
		Session: a.cfg.Session, Model: a.client.Name(), State: ops.AgentIdle, Bytes: a.bytes.Load(),
		Messages: int(a.count.Load()), Busy: a.cancel != nil, Children: len(a.children), Delegates: delegates,
	}
	switch {
	case a.closing != nil:
		row.State = ops.AgentClosing
	case row.Busy:
		row.State = ops.AgentRunning
	default:
		row.IdleMS = time.Since(a.usedAt).Milliseconds()
	}
	return row
}
