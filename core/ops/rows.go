package ops

// State of the gateway.
type State string

// The states of a gateway (CONTRACT.md, 7).
const (
	StateStarting State = "starting"
	StateRunning  State = "running"
	StateDraining State = "draining"
	StateStopping State = "stopping"
)

// Status is one screen about a gateway.
type Status struct {
	Life      string   `json:"life"`
	PID       int      `json:"pid"`
	Version   string   `json:"version"`
	State     State    `json:"state"`
	StartedAt Time     `json:"started_at"`
	UptimeMS  int64    `json:"uptime_ms"`
	Home      string   `json:"home"`
	Counts    Counts   `json:"counts"`
	LastEnd   *LastEnd `json:"last_end"`
	// Supervisor is the service manager's patience as far as it is known.
	Supervisor Supervisor `json:"supervisor"`
	Warnings   []Warning  `json:"warnings"`
	// Config is the config file that the gateway runs with.
	Config ConfigFile `json:"config"`
	// APIListen is host:port of the api adapter, empty while it does not listen.
	APIListen string `json:"api_listen"`
	// APIAccess is whom the api adapter serves, absent where there is none.
	APIAccess *APIAccess `json:"api_access,omitempty"`
	// MetricsListen is host:port of the metrics listener, absent while it does not listen.
	MetricsListen string `json:"metrics_listen,omitempty"`
	// Containment is how subprocesses are held.
	Containment Containment `json:"containment"`
	// Drain says who stopped intake and why, while a drain without a stop is on.
	Drain *DrainState `json:"drain,omitempty"`
	// Limits are the bounds of [limits], each with what is in use.
	Limits []Limit `json:"limits"`
	// Demo is set on a gateway that plays a demo: made-up platforms and people, a scripted model, a separate home.
	Demo *Demo `json:"demo,omitempty"`
}

// Demo is what a demo shows about itself.
type Demo struct {
	// Hangs names the platforms that never let go of their connection, on purpose.
	Hangs []string `json:"hangs"`
	// Talk is the last lines of the made-up conversations, oldest first.
	Talk []Said `json:"talk"`
}

// Said is one line of a made-up conversation. Who is the person who said it, or empty for the agent's answer To a person.
type Said struct {
	At       Time   `json:"at"`
	Platform string `json:"platform"`
	Who      string `json:"who,omitempty"`
	To       string `json:"to,omitempty"`
	Text     string `json:"text"`
}

// ConfigFile is the config file of a gateway.
type ConfigFile struct {
	// Path is the file's absolute path; empty: there was none, and the embedded default is in force.
	Path     string `json:"path"`
	LoadedAt Time   `json:"loaded_at"`
	// Changed says that the file has another content now, or that there is one where there was none: a start would not
	// have this config.
	Changed bool `json:"changed"`
}

// Counts are the sizes of the gateway's tables.
type Counts struct {
	Sessions     int `json:"sessions"`
	RunningTurns int `json:"running_turns"`
	CachedAgents int `json:"cached_agents"`
	Processes    int `json:"processes"`
	// QueuedMessages is how many messages wait behind running turns, in all sessions.
	QueuedMessages    int `json:"queued_messages,omitempty"`
	AdaptersConnected int `json:"adapters_connected"`
	Adapters          int `json:"adapters"`
}

// LastEnd is how the life before this one ended.
type LastEnd struct {
	Life    string  `json:"life"`
	Outcome Outcome `json:"outcome"`
	Phase   string  `json:"phase,omitempty"`
	Reason  string  `json:"reason,omitempty"`
	// By is who requested the end; empty if there was no request, or if that is not known.
	By string `json:"by,omitempty"`
	// Stop is the outcome of its stop where that was not clean itself: ShutdownIncomplete or ShutdownForced.
	Stop string `json:"stop,omitempty"`
	// StopMode is the ModeText of a stop that became stronger while it ran; else empty.
	StopMode string `json:"stop_mode,omitempty"`
	// At is its end, or when it was last known to run; RSSBytes what it kept resident then, 0 if unknown.
	At       Time  `json:"at"`
	RSSBytes int64 `json:"rss_bytes,omitempty"`
}

// Stopped enters what the report of the life's stop says: the outcome, where it was not clean, and how it became stronger.
func (e *LastEnd) Stopped(report Shutdown) {
	if report.Outcome == ShutdownIncomplete || report.Outcome == ShutdownForced {
		e.Stop = report.Outcome
	}
	if len(report.Escalations) > 0 {
		e.StopMode = report.ModeText()
	}
}

// Supervisor is what the service manager allows a stop.
type Supervisor struct {
	Name string `json:"name"`
	// BudgetMS is the time from the stop signal to the kill; 0 means no limit, or unknown if Source says so.
	BudgetMS int64 `json:"budget_ms"`
	// Source is where BudgetMS comes from: config, systemd, environment, a manager that is known to have no limit (runit), or
	// unknown.
	Source string `json:"source"`
}

// Warning is one thing that an operator should fix. Code is stable; Message is for people and says what to do.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Since   Time   `json:"since"`
}

// Containment is how subprocesses are held, so that none outlives its owner.
type Containment struct {
	// Level is cgroup or subreaper; Why says why it is not the stronger one.
	Level string `json:"level"`
	Why   string `json:"why,omitempty"`
	// Guardian is the pid of the process that ends the trees if the gateway is killed; 0 is none.
	Guardian int `json:"guardian"`
	// Controllers are those that limit the control groups of tools: memory, pids. Unlimited says why one is not among them.
	Controllers []string `json:"controllers,omitempty"`
	Unlimited   string   `json:"unlimited,omitempty"`
}

// DrainState is a drain without a stop.
type DrainState struct {
	By     string `json:"by"`
	Reason string `json:"reason"`
	Since  Time   `json:"since"`
}

// Snapshot is Status and every row at one moment.
type Snapshot struct {
	Status
	// Seq is the sequence number of the newest event that the snapshot contains: reading events after it misses nothing.
	Seq        uint64       `json:"seq"`
	At         Time         `json:"at"`
	Sessions   []Session    `json:"sessions"`
	Agents     []Agent      `json:"agents"`
	Processes  []Process    `json:"processes"`
	Adapters   []Adapter    `json:"adapters"`
	Background []Background `json:"background"`
	Shutdown   *Shutdown    `json:"shutdown,omitempty"`
	// Omitted is what the bounds of a snapshot left out; nil: nothing.
	Omitted *Omitted `json:"omitted,omitempty"`
}

// SnapshotSessions is the largest number of sessions in a snapshot.
const SnapshotSessions = 1000

// Omitted is how many rows of each table are not in a snapshot. The pages of the lists have all of them.
type Omitted struct {
	Sessions  int `json:"sessions"`
	Agents    int `json:"agents,omitempty"`
	Processes int `json:"processes,omitempty"`
	// Next is the cursor of the page of sessions that follows those in the snapshot.
	Next string `json:"next,omitempty"`
}

// Table is one of the tables that a snapshot can be bounded in.
type Table string

// The tables.
const (
	TableSessions  Table = "sessions"
	TableAgents    Table = "agents"
	TableProcesses Table = "processes"
)

// Most bounds a table of a snapshot: at most so many rows, the first ones in the order of its list; 0 leaves it out.
type Most struct {
	Table Table
	Rows  int
}

// SessionState is what a session does.
type SessionState string

// The states of a session. A pending placeholder (a turn slot taken before its agent exists) is SessionRunning.
const (
	SessionIdle        SessionState = "idle"
	SessionRunning     SessionState = "running"
	SessionWaiting     SessionState = "waiting" // its turn, or the begin of its turn, waits for a bound of the gateway: see Session.WaitingFor
	SessionQueued      SessionState = "queued"
	SessionStalled     SessionState = "stalled"
	SessionInterrupted SessionState = "interrupted"
	SessionSuspended   SessionState = "suspended"
	// SessionWaitingApproval is reserved: no part of the gateway sets it yet, and no screen shows it.
	SessionWaitingApproval SessionState = "waiting_approval"
)

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
	// Doing is the running turn's current step in a few words, e.g. "model call" or "terminal: sleep 60".
	Doing string `json:"doing"`
	// DoingSince is when that step began.
	DoingSince Time `json:"doing_since"`
	// WaitingFor is the bound that the turn waits for, or that a waiting message's turn waits for to begin, as the config
	// names it (limits.model_calls, limits.turns); empty while it waits for none.
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
	Processes int     `json:"processes"`
	Cached    bool    `json:"cached"`
	// Turn is the running turn's id, empty when none runs; a command that names it acts on that turn or on nothing.
	Turn string `json:"turn,omitempty"`
	// LastProgressAt is when model or tool last moved in the running turn.
	LastProgressAt Time `json:"last_progress_at"`
}

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
	LastInboundAt Time   `json:"last_inbound_at"`
	Attempt       int    `json:"attempt"`
	NextAttemptAt Time   `json:"next_attempt_at"`
	LastError     string `json:"last_error"`
	// Queue is how many sends wait.
	Queue int `json:"queue"`
	// RateLimitedUntil is set while the platform asked for silence.
	RateLimitedUntil Time `json:"rate_limited_until"`
	// Conflicts counts consecutive answers that another consumer holds the same credential (Telegram 409).
	Conflicts int `json:"conflicts,omitempty"`
}

// Background is one tracked task other than a turn.
type Background struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Session string `json:"session,omitempty"`
	// Progress is how far it is, of a task that can tell, e.g. "1200 of 20000".
	Progress  string `json:"progress,omitempty"`
	StartedAt Time   `json:"started_at"`
	AgeMS     int64  `json:"age_ms"`
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
