package ops

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"
)

// SessionState is what a session does.
type SessionState string

// The states of a session. A pending placeholder (a turn slot taken before its agent exists) is SessionRunning.
const (
	SessionIdle            SessionState = "idle"
	SessionRunning         SessionState = "running"
	SessionWaiting         SessionState = "waiting" // its turn, or the begin of its turn, waits for a bound of the gateway: see Session.WaitingFor
	SessionQueued          SessionState = "queued"
	SessionStalled         SessionState = "stalled"
	SessionInterrupted     SessionState = "interrupted"
	SessionSuspended       SessionState = "suspended"
	SessionWaitingApproval SessionState = "waiting_approval" // its turn waits for a person: see Session.WaitingFor
)

// WaitsForApproval begins Session.WaitingFor of a turn that waits for a person. The id of the approval follows.
const WaitsForApproval = "approval "

// SessionStates is every state of a session.
var SessionStates = []SessionState{
	SessionIdle, SessionRunning, SessionWaiting, SessionQueued, SessionWaitingApproval, SessionStalled, SessionInterrupted, SessionSuspended,
}

// Session is one conversation. Key is its address (platform:kind:chat), ID this incarnation of it: a reset keeps the
// key and changes the id.
type Session struct {
	Key      string       `json:"key"`
	ID       string       `json:"id"`
	State    SessionState `json:"state"`
	Platform string       `json:"platform"`
	User     string       `json:"user"`
	// Title names the conversation: the beginning of its first message, or what a person chose. Empty: it has none yet.
	Title string `json:"title"`
	// Doing is the running turn's current step in a few words, e.g. "model call" or "terminal: sleep 60".
	Doing string `json:"doing"`
	// DoingSince is when that step began.
	DoingSince Time `json:"doing_since"`
	// WaitingFor is the bound that the turn waits for, or that a waiting message's turn waits for to begin, as the config
	// names it (limits.model_calls, limits.turns), or the approval ("approval K7Q2MX"); empty while it waits for none.
	WaitingFor string `json:"waiting_for,omitempty"`
	// Calls is how many model calls the running turn and its child agents have made, CallsLimit how many they may make
	// (limits.calls_per_turn).
	Calls          int  `json:"calls,omitempty"`
	CallsLimit     int  `json:"calls_limit,omitempty"`
	TurnStartedAt  Time `json:"turn_started_at"`
	LastActivityAt Time `json:"last_activity_at"`
	// Caller is who sent its last message, absent for a session of another platform than api.
	Caller    *Caller `json:"caller,omitempty"`
	Queued    int     `json:"queued"`
	TokensIn  int64   `json:"tokens_in"`
	TokensOut int64   `json:"tokens_out"`
	// TokensCached are those of TokensIn that came from a model's cache.
	TokensCached int64 `json:"tokens_cached"`
	// Cost is the money for its model calls as far as it is known, in the currency of the prices in the config; null: unknown.
	Cost *float64 `json:"cost"`
	// ContextUsed is how many tokens of the model's context the conversation uses, ContextWindow how many that context has. 0: not
	// known yet.
	ContextUsed   int `json:"context_used"`
	ContextWindow int `json:"context_window"`
	// Agent is the agent that works on it, or did last; Model is the model that answered last, or is asked first. Empty before the
	// first turn.
	Agent     string `json:"agent"`
	Model     string `json:"model"`
	Processes int    `json:"processes"`
	Cached    bool   `json:"cached"`
	// Environment is the name of the environment that its commands run in; empty: none has run yet, or it was closed.
	Environment string `json:"environment"`
	// ConfigGeneration numbers the config with which its turn runs, or its last turn of this life ran; 0: there was none.
	ConfigGeneration int `json:"config_generation"`
	// Turn is the running turn's id, empty when none runs; a command that names it acts on that turn or on nothing.
	Turn string `json:"turn,omitempty"`
	// LastProgressAt is when model or tool last moved in the running turn.
	LastProgressAt Time `json:"last_progress_at"`
	// Attention says that a person should look at the session, also if its state is a calm one: AttentionLooping. AttentionReason says why in
	// words, and AttentionSince since when. Empty: there is no such reason.
	Attention       string `json:"attention,omitempty"`
	AttentionReason string `json:"attention_reason,omitempty"`
	AttentionSince  Time   `json:"attention_since,omitzero"`
	// Shows is what the chat sees of the running turn: typing, progress or draft; empty for nothing.
	Shows string `json:"shows,omitempty"`
}

// AttentionLooping is of a session with more than 20 turns in a minute. It ends a minute after the last turn too many. It is also of
// a session whose turn makes the same call of a tool 10 times or more, until the turn ends.
const AttentionLooping = "looping"

// AgentState is what an agent does.
type AgentState string

// The states of an agent.
const (
	AgentIdle    AgentState = "idle"
	AgentRunning AgentState = "running"
	AgentClosing AgentState = "closing"
)

// Agent is one agent: cached, running, or both.
type Agent struct {
	Session  string     `json:"session"`
	Model    string     `json:"model"`
	State    AgentState `json:"state"`
	Bytes    int64      `json:"bytes"`
	Messages int        `json:"messages"`
	IdleMS   int64      `json:"idle_ms"`
	Busy     bool       `json:"busy"`
	Children int        `json:"children"`
	// Delegates are the child agents of the running turn, and theirs, in the order of their numbers (HR10).
	Delegates []Child `json:"delegates"`
}

// Child is a child agent that works for a turn.
type Child struct {
	// ID names it within its turn: "2", or "1/2" for the second child of the first. The turn's timeline and its progress name it so too.
	ID string `json:"id"`
	// Turn is the id of its own turn, which its processes have.
	Turn      string     `json:"turn"`
	Model     string     `json:"model"`
	State     AgentState `json:"state"`
	Doing     string     `json:"doing"`
	Messages  int        `json:"messages"`
	StartedAt Time       `json:"started_at"`
}

// ProcessState is the state of a tracked process tree.
type ProcessState string

// The states of a process tree.
const (
	ProcessRunning ProcessState = "running"
	// ProcessExited: the leader has ended and other processes of its tree still run.
	ProcessExited  ProcessState = "exited"
	ProcessKilling ProcessState = "killing"
	// ProcessKillFailed: a kill left survivors. The state lasts until the next kill or until the tree ends.
	ProcessKillFailed ProcessState = "kill failed"
	// ProcessUnknown: the last scan of the process table failed.
	ProcessUnknown ProcessState = "unknown"
)

// Policy names what ends a process tree, apart from its own exit and the gateway's stop.
type Policy string

// The policies. PolicyTurn and PolicySession end a tree with its turn or its session. PolicyKept does as PolicySession,
// and survives a SIGKILL of the gateway: the next life adopts the tree. PolicyGateway ends it with the gateway alone.
const (
	PolicyTurn    Policy = "turn"
	PolicySession Policy = "session"
	PolicyKept    Policy = "kept"
	PolicyGateway Policy = "gateway"
)

// Origin says how a process tree came to be tracked.
type Origin string

// The origins.
const (
	OriginSpawned Origin = "spawned"
	OriginAdopted Origin = "adopted"
)

// Process is one tracked subprocess tree, named by its leader.
type Process struct {
	PID        int    `json:"pid"`
	PPID       int    `json:"ppid"`
	StartTicks uint64 `json:"start_ticks"`
	Session    string `json:"session"`
	// Command is argv for display: cleaned, shortened, secrets masked.
	Command  string       `json:"command"`
	State    ProcessState `json:"state"`
	AgeMS    int64        `json:"age_ms"`
	CPUPct   float64      `json:"cpu_pct"`
	RSSBytes int64        `json:"rss_bytes"`
	TreeSize int          `json:"tree_size"`
	Policy   Policy       `json:"policy"`
	Origin   Origin       `json:"origin"`
	// LastOutput is its last line of output, cleaned.
	LastOutput string `json:"last_output"`
	// Limit names the limit of its control groups that the tree ran into, for people.
	Limit string `json:"limit,omitempty"`
	// LimitHit is the name of that limit: memory_max and pids_max of its environment, or a key of [limits] (TR7); empty: it ran into none, or into one
	// that is not the gateway's.
	LimitHit string `json:"limit_hit,omitempty"`
	// Unlimited is why a limit of its session is not held; empty: each is, or it has none.
	Unlimited string `json:"unlimited,omitempty"`
	// Owner is what it belongs to: tool, mcp:NAME, browser, acp, hook, environment or adapter:NAME.
	Owner string `json:"owner"`
	// Environment is the name of the environment that it runs in; empty: it runs on the machine itself, or that is not known.
	Environment string `json:"environment,omitempty"`
	// DuplicateOf is the pid of the oldest process with the same command, directory and session that was started before
	// this one and still runs (C17); 0 is none.
	DuplicateOf int `json:"duplicate_of,omitempty"`
}

// AdapterState is the state of a platform's connection.
type AdapterState string

// The states of an adapter.
const (
	AdapterConnecting       AdapterState = "connecting"
	AdapterConnected        AdapterState = "connected"
	AdapterStale            AdapterState = "stale"
	AdapterRetrying         AdapterState = "retrying"
	AdapterNeedsCredentials AdapterState = "needs_credentials"
	AdapterPaused           AdapterState = "paused"
	AdapterStopped          AdapterState = "stopped"
)

// Adapter is one platform.
type Adapter struct {
	Name  string       `json:"name"`
	State AdapterState `json:"state"`
	Since Time         `json:"since"`
	// LastInboundAt is the last completed poll or frame, not the last message (E1).
	LastInboundAt Time `json:"last_inbound_at"`
	Attempt       int  `json:"attempt"`
	NextAttemptAt Time `json:"next_attempt_at"`
	// LastError is why it is not connected; of a connected one the parts that do not work, such as a webhook's route without a secret.
	LastError string `json:"last_error"`
	// Queue is how many sends wait.
	Queue int `json:"queue"`
	// RateLimitedUntil is set while the platform asked for silence.
	RateLimitedUntil Time `json:"rate_limited_until"`
	// Conflicts counts consecutive answers that another consumer holds the same credential (Telegram 409).
	Conflicts int `json:"conflicts,omitempty"`
	// Abilities are what the platform can do beyond plain text, as words for people.
	Abilities []string `json:"abilities,omitempty"`
	// Listen is host:port of a platform that others connect to, while it listens.
	Listen string `json:"listen,omitempty"`
}

// Background is one tracked task other than a turn.
type Background struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Session string `json:"session,omitempty"`
	// Progress is how far it is, of a task that can tell, e.g. "1200 of 20000".
	Progress string `json:"progress,omitempty"`
	// Percent is how much of it is done, 1 to 100; 0: nothing yet, or the task cannot tell.
	Percent   int   `json:"percent,omitempty"`
	StartedAt Time  `json:"started_at"`
	AgeMS     int64 `json:"age_ms"`
}

// Percent is how much of whole is done, 0 to 100; 0 if whole is not known.
func Percent(done, whole int64) int {
	if whole <= 0 || done <= 0 {
		return 0
	}
	return int(100 * min(float64(done)/float64(whole), 1))
}

// Outcome is how a life ended.
type Outcome string

// The outcomes of a life (CONTRACT.md, 7).
const (
	OutcomeClean    Outcome = "clean"
	OutcomeCutShort Outcome = "cut_short"
	OutcomeCrashed  Outcome = "crashed"
	OutcomeRunning  Outcome = "running"
)

// Life is one run of a gateway on a home.
type Life struct {
	Life      string `json:"life"`
	PID       int    `json:"pid"`
	Version   string `json:"version,omitempty"`
	StartedAt Time   `json:"started_at"`
	EndedAt   Time   `json:"ended_at"`
	// LastSeenAt is when the life was last known to run: all that is known of the end of one that was killed.
	LastSeenAt Time `json:"last_seen_at"`
	// RSSBytes is what it kept resident then, 0 if unknown.
	RSSBytes int64   `json:"rss_bytes,omitempty"`
	Outcome  Outcome `json:"outcome"`
	// Phase is the shutdown phase in which a life was cut short. Reason and By belong to the request that ended it.
	Phase  string `json:"phase"`
	Reason string `json:"reason"`
	By     string `json:"by,omitempty"`
	// Shutdown is the report of the life's stop, where one was written.
	Shutdown *Shutdown `json:"shutdown,omitempty"`
}

// End is when the life ended, or was last seen where its end is not known; zero for one that runs.
func (l Life) End() (at Time, known bool) {
	switch {
	case !l.EndedAt.IsZero():
		return l.EndedAt, true
	case l.Outcome == OutcomeRunning:
		return Time{}, false
	}
	return l.LastSeenAt, false
}

// Overran are the phases of the life's stop as Shutdown.Overran has them; of a life that was cut short, behind them, the phase that
// ran with what it waited for.
func (l Life) Overran() []Phase {
	if l.Shutdown == nil {
		return nil
	}
	phases := l.Shutdown.Overran()
	if p, runs := l.Shutdown.Running(); runs && l.Outcome != OutcomeRunning {
		p.Items = l.Shutdown.Blockers()
		phases = append(phases, p)
	}
	return phases
}

// SessionGroup is the part of the sessions' order that a session belongs to.
type SessionGroup uint8

// The groups, in their order: what waits for a person, what has work, and the rest.
const (
	GroupAttention SessionGroup = iota
	GroupBusy
	GroupIdle
)

// Group returns the group of a session in state s. A state that this build does not know counts as busy: a newer
// gateway has it for some kind of work.
func (s SessionState) Group() SessionGroup {
	switch s {
	case SessionStalled, SessionWaitingApproval, SessionSuspended:
		return GroupAttention
	case SessionIdle, SessionInterrupted:
		return GroupIdle
	}
	return GroupBusy
}

// Group returns the group of a session.
func (s *Session) Group() SessionGroup {
	if s.Attention != "" {
		return GroupAttention
	}
	return s.State.Group()
}

// SessionPlace is where a session stands in the order of the sessions, lowest first: see CompareSessions. attention is its
// AttentionSince. Sessions with the same place are ordered by key. The resolution is one millisecond, as on the wire, so that every reader of the rows
// finds the order of the gateway again.
func SessionPlace(state SessionState, attention, turnStarted, lastActivity time.Time) uint64 {
	const groupShift, late = 62, uint64(1) << 61
	group := state.Group()
	if !attention.IsZero() { // it stands still while turns come and go
		group, turnStarted = GroupAttention, attention
	}
	var at uint64
	switch {
	case group == GroupIdle:
		at = late - 1 - millis(lastActivity) // newest first
	case turnStarted.IsZero():
		at = late + millis(lastActivity) // behind those with a turn
	default:
		at = millis(turnStarted)
	}
	return uint64(group)<<groupShift | at
}

// millis is t in milliseconds since 1970, 0 for the zero time and what was before.
func millis(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(max(t.UnixMilli(), 0))
}

// Place is SessionPlace of the row.
func (s *Session) Place() uint64 {
	return SessionPlace(s.State, s.AttentionSince.Time, s.TurnStartedAt.Time, s.LastActivityAt.Time)
}

// CompareSessions is the default order of sessions everywhere: what needs attention first, then those with work, then
// the idle ones. Attention and work are ordered by the start of their turn, or of their loop, oldest first, and rows without a turn come
// behind those; idle ones are ordered by their last activity, newest first. Nothing that a running turn does moves its
// row, so that a list stands still while its ages tick.
func CompareSessions(a, b *Session) int {
	if c := cmp.Compare(a.Place(), b.Place()); c != 0 {
		return c
	}
	return strings.Compare(a.Key, b.Key)
}

// Amount is money as a person reads it: two places where that says enough, else the first digits that count.
func Amount(n float64) string {
	if n == 0 || n >= 1 {
		return strconv.FormatFloat(n, 'f', 2, 64)
	}
	return strconv.FormatFloat(n, 'f', min(2+int(-math.Log10(max(n, 1e-9))), 9), 64)
}
