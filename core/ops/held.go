package ops

import (
	"cmp"
	"strings"
)

// HeldKind is a kind of resource that a session or the gateway holds, in addition to processes and environments.
type HeldKind string

// The kinds. HeldServer is an MCP server, HeldBrowser one with the preset browser, HeldAgent an external agent that speaks ACP, and
// HeldHook a hook of the config.
const (
	HeldServer  HeldKind = "server"
	HeldBrowser HeldKind = "browser"
	HeldAgent   HeldKind = "acp"
	HeldHook    HeldKind = "hook"
)

// HeldKinds is every kind of held resource.
var HeldKinds = []HeldKind{HeldServer, HeldBrowser, HeldAgent, HeldHook}

// HeldState is the state of a held resource.
type HeldState string

// The states of a held resource. HeldCloseFailed lasts until a later close succeeds; Detail has the reason.
const (
	HeldStarting    HeldState = "starting"
	HeldReady       HeldState = "ready"
	HeldBackoff     HeldState = "backoff"
	HeldFailed      HeldState = "failed"
	HeldClosing     HeldState = "closing"
	HeldCloseFailed HeldState = "close failed"
)

// Held is one resource that a session or the gateway holds. Its processes are rows of their own, with the same owner.
type Held struct {
	Kind HeldKind `json:"kind"`
	// ID is unique among the rows of its kind and session.
	ID string `json:"id"`
	// Session is the key of the session whose end closes it; empty: the gateway holds it.
	Session string `json:"session"`
	// Owner is the owner of its processes: mcp:NAME, browser, acp or hook.
	Owner string    `json:"owner"`
	State HeldState `json:"state"`
	Since Time      `json:"since"`
	// Detail is one line for people: what it does, or why it failed.
	Detail string `json:"detail"`
	// NextAt is when it does something next by itself, such as a start after a backoff; absent: it does nothing by itself.
	NextAt Time `json:"next_at,omitzero"`
}

// ServerState is the state of an MCP server.
type ServerState string

// The states of a server. ServerIdle: it is configured and not started, or was closed because it was not used. ServerBackoff: it ended
// without being asked to, and starts again later. ServerFailed: it does not start again by itself.
const (
	ServerIdle     ServerState = "idle"
	ServerStarting ServerState = "starting"
	ServerReady    ServerState = "ready"
	ServerBackoff  ServerState = "backoff"
	ServerFailed   ServerState = "failed"
	ServerClosing  ServerState = "closing"
)

// ServerStates is every state of a server.
var ServerStates = []ServerState{ServerIdle, ServerStarting, ServerReady, ServerBackoff, ServerFailed, ServerClosing}

// Troubled reports whether a server in this state does not do its work although someone uses it.
func (s ServerState) Troubled() bool { return s == ServerBackoff || s == ServerFailed }

// The scopes of a server: one of each session, or one of the gateway.
const (
	ServerOfSession = "session"
	ServerOfGateway = "gateway"
)

// Server is one MCP server: one row of each that runs, and one row of each configured one that does not run.
type Server struct {
	Name string `json:"name"`
	// Scope is ServerOfSession or ServerOfGateway.
	Scope string `json:"scope"`
	// Session is the key of the session that it belongs to; empty with the scope gateway, and while it does not run.
	Session string      `json:"session"`
	State   ServerState `json:"state"`
	// PID is the leader of its process tree; 0: it has none.
	PID int `json:"pid"`
	// Tools is how many tools it offers, as far as that is known.
	Tools     int    `json:"tools"`
	LastError string `json:"last_error"`
	Since     Time   `json:"since"`
	// Calls is how many calls of tools it has answered in this life.
	Calls int64 `json:"calls"`
	// Transport is stdio or http.
	Transport string `json:"transport,omitempty"`
}

// CompareServers is the order of servers everywhere: by name, then by session.
func CompareServers(a, b Server) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Session, b.Session))
}

// JobState is the state of a job.
type JobState string

// The states of a job. JobFailed: its last run failed, and it waits for its next one. JobEnded: its schedule has no further time.
const (
	JobWaiting JobState = "waiting"
	JobRunning JobState = "running"
	JobPaused  JobState = "paused"
	JobFailed  JobState = "failed"
	JobEnded   JobState = "ended"
)

// JobStates is every state of a job.
var JobStates = []JobState{JobWaiting, JobRunning, JobPaused, JobFailed, JobEnded}

// JobResult is how a run of a job ended.
type JobResult string

// The results of a run. JobSkipped: its time came while the run before was under way, or while the gateway was down.
const (
	JobRunDone        JobResult = "done"
	JobRunFailed      JobResult = "failed"
	JobRunInterrupted JobResult = "interrupted"
	JobRunSkipped     JobResult = "skipped"
)

// Job is one scheduled prompt.
type Job struct {
	Name     string `json:"name"`
	Schedule string `json:"schedule"`
	// Zone is the time zone of the schedule, as in the config.
	Zone   string `json:"zone"`
	NextAt Time   `json:"next_at"`
	// LastAt is when its last run began; LastResult is empty before the first run has ended.
	LastAt     Time      `json:"last_at"`
	LastResult JobResult `json:"last_result"`
	// LastError is why the last run failed; empty: it did not.
	LastError string   `json:"last_error,omitempty"`
	State     JobState `json:"state"`
	// Agent is the agent definition that runs it. Deliver is the chat that gets its answer; empty: none does.
	Agent   string `json:"agent"`
	Deliver string `json:"deliver"`
	// Origin says who made it: config, or the session whose agent did.
	Origin string `json:"origin"`
	// Session is the key of the session that it runs in.
	Session string `json:"session,omitempty"`
}

// CompareJobs is the order of jobs everywhere: by name.
func CompareJobs(a, b Job) int { return strings.Compare(a.Name, b.Name) }

// Note is one entry of an agent's memory.
type Note struct {
	ID string `json:"id"`
	// Scope says whose it is: person, chat or shared. Owner is the id of that person or chat; empty: it is shared.
	Scope string `json:"scope"`
	Owner string `json:"owner"`
	Text  string `json:"text"`
	// Withheld means that Text is not shown, because of console.texts.
	Withheld bool `json:"withheld,omitempty"`
	// By is how it came: tool, flush, review or import.
	By string `json:"by"`
	At Time   `json:"at"`
}
