package ops

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Verb is something an operator can ask of a gateway.
type Verb string

// The verbs.
const (
	VerbReset     Verb = "session.reset"
	VerbEvict     Verb = "session.evict"
	VerbInterrupt Verb = "session.interrupt"
	VerbMessage   Verb = "session.message"
	VerbKill      Verb = "process.kill"
	VerbPause     Verb = "adapter.pause"
	VerbResume    Verb = "adapter.resume"
	VerbReconnect Verb = "adapter.reconnect"
	VerbDrain     Verb = "drain"
	VerbUndrain   Verb = "undrain"
	VerbStop      Verb = "stop"
	VerbRestart   Verb = "restart"
	VerbSkip      Verb = "shutdown.skip"
	VerbExtend    Verb = "shutdown.extend"
	VerbForce     Verb = "shutdown.force"
	VerbDiagnose  Verb = "diagnose"
	VerbBackup    Verb = "backup"
)

// TargetKind is a kind of thing that a verb acts on.
type TargetKind string

// The kinds. A session is named by its key, a process by its pid and an adapter by its name.
const (
	TargetSession TargetKind = "session"
	TargetProcess TargetKind = "process"
	TargetAdapter TargetKind = "adapter"
)

// VerbSpec is all that the socket, the command line, the consoles, completion and the documentation need to know of a verb. They are
// made from Verbs: a new verb is one entry here and its implementation in the gateway.
type VerbSpec struct {
	Verb Verb
	// Path is where the control socket takes it, by POST; {target} is the command's target.
	Path string
	// Group and Name are its command: gatewaytui GROUP NAME. Group is empty for one at the root. The console of lines has the name
	// alone.
	Group, Name string
	// Target is the kind of thing that it acts on, empty for the gateway.
	Target TargetKind
	// Args are its arguments on the command line; empty is the placeholder of Target.
	Args string
	// Rest is what a console takes after the target.
	Rest Rest
	// Summary completes "gatewaytui can …". Doing and Done read before what it acts on, while it runs and when it is done.
	Summary, Doing, Done string
	// Examples are command lines, one a line.
	Examples string
	// Ends says that it ends something, so that it has a dry run and asks before it ends running work.
	Ends bool
	// Word is what a person types to confirm it, where what it loses cannot be had again; empty asks for a y.
	Word string
	// WhileStopping says that it is taken while a shutdown runs.
	WhileStopping bool
	// DryRun says that it has a dry run although it ends nothing: it waits for running work.
	DryRun bool
	// OfLife says that Command.Expect names the life of the gateway that the caller saw.
	OfLife bool
	// ByTools says that a tool of the gateway may ask for it, if the config lets tools stop the gateway (HF7).
	ByTools bool
}

// Verbs is every verb, in the order in which they are listed to people.
var Verbs = []VerbSpec{
	{
		Verb: VerbMessage, Path: "/v1/sessions/{target}/message", Name: "send", Target: TargetSession, Args: "TEXT", Rest: RestText,
		Summary: "send a message to a session's agent", Doing: "waiting for the reply of", Done: "sent",
		Examples: "gatewaytui send \"what is the load of this machine?\"\ngatewaytui send --session telegram:dm:4711 \"the deploy is done\"\necho \"a long text\" | gatewaytui send -",
	},
	{
		Verb: VerbReset, Path: "/v1/sessions/{target}/reset", Name: "reset", Target: TargetSession,
		Summary: "end a session and start a fresh one", Doing: "resetting", Done: "reset",
		Examples: "gatewaytui reset telegram:dm:4711\ngatewaytui reset cli:local --dry-run",
		Ends:     true,
	},
	{
		Verb: VerbEvict, Path: "/v1/sessions/{target}/evict", Name: "evict", Target: TargetSession, Rest: RestInterrupt,
		Summary: "drop a session's cached agent, keeping session and processes", Doing: "evicting", Done: "evicted",
		Examples: "gatewaytui evict api:user:alice\ngatewaytui evict api:user:alice --interrupt",
		Ends:     true,
	},
	{
		Verb: VerbInterrupt, Path: "/v1/sessions/{target}/interrupt", Name: "interrupt", Target: TargetSession,
		Summary: "stop a session's running turn", Doing: "interrupting", Done: "interrupted",
		Examples: "gatewaytui interrupt api:user:alice --yes",
		Ends:     true, WhileStopping: true,
	},
	{
		Verb: VerbKill, Path: "/v1/processes/{target}/kill", Name: "kill", Target: TargetProcess,
		Summary: "end one tracked process tree", Doing: "ending process tree", Done: "ended process tree",
		Examples: "gatewaytui kill 4711\ngatewaytui kill 4711 --dry-run",
		Ends:     true, WhileStopping: true,
	},
	{
		Verb: VerbPause, Path: "/v1/adapters/{target}/pause", Group: "adapter", Name: "pause", Target: TargetAdapter,
		Summary: "disconnect one platform until it is resumed", Doing: "pausing", Done: "paused",
		Examples: "gatewaytui adapter pause telegram",
		Ends:     true,
	},
	{
		Verb: VerbResume, Path: "/v1/adapters/{target}/resume", Group: "adapter", Name: "resume", Target: TargetAdapter,
		Summary: "connect a paused platform again", Doing: "resuming", Done: "resumed",
		Examples: "gatewaytui adapter resume telegram",
	},
	{
		Verb: VerbReconnect, Path: "/v1/adapters/{target}/reconnect", Group: "adapter", Name: "reconnect", Target: TargetAdapter,
		Summary: "drop one platform's connection and make a new one", Doing: "reconnecting", Done: "reconnect",
		Examples: "gatewaytui adapter reconnect telegram",
		Ends:     true,
	},
	{
		Verb: VerbDrain, Path: "/v1/drain", Name: "drain", Rest: RestReason,
		Summary: "take no new turns, let running ones finish, keep running", Doing: "draining", Done: "draining",
		Examples: "gatewaytui drain --reason \"deploy at 15:00\"\ngatewaytui drain --dry-run",
		DryRun:   true, OfLife: true,
	},
	{
		Verb: VerbUndrain, Path: "/v1/undrain", Name: "undrain",
		Summary: "take new turns again", Doing: "accepting new turns", Done: "accepting new turns",
		Examples: "gatewaytui undrain",
		OfLife:   true,
	},
	{
		Verb: VerbStop, Path: "/v1/stop", Name: "stop", Rest: RestMode,
		Summary: "stop the gateway", Doing: "stopping", Done: "stopping",
		Examples: "gatewaytui stop --wait\ngatewaytui stop --dry-run\ngatewaytui stop --mode fast --yes --reason \"kernel update\"",
		Ends:     true, WhileStopping: true, OfLife: true, ByTools: true,
	},
	{
		Verb: VerbRestart, Path: "/v1/restart", Name: "restart",
		Summary: "stop the gateway with exit code 75, so that the service manager starts it again", Doing: "restarting", Done: "restarting",
		Examples: "gatewaytui restart --wait",
		Ends:     true, WhileStopping: true, OfLife: true, ByTools: true,
	},
	{
		Verb: VerbSkip, Path: "/v1/shutdown/skip", Group: groupShutdown, Name: "skip",
		Summary: "stop waiting for a phase or an item of the running shutdown", Doing: "abandoning", Done: "no longer waiting for",
		Examples: "gatewaytui shutdown skip\ngatewaytui shutdown skip --phase adapters --item telegram",
		Ends:     true, WhileStopping: true,
	},
	{
		Verb: VerbExtend, Path: "/v1/shutdown/extend", Group: groupShutdown, Name: "extend", Rest: RestTime,
		Summary: "give the running phase more time, within the service manager's limit", Doing: "asking for more time for", Done: "more time for",
		Examples:      "gatewaytui shutdown extend --by 30s",
		WhileStopping: true,
	},
	{
		Verb: VerbForce, Path: "/v1/shutdown/force", Group: groupShutdown, Name: "force",
		Summary: "end the running shutdown as fast as the stores can be closed", Doing: "forcing", Done: "forced",
		Examples: "gatewaytui shutdown force --yes",
		Ends:     true, Word: "force", WhileStopping: true,
	},
	{
		Verb: VerbBackup, Path: "/v1/backup", Name: "backup", Args: "FILE",
		Summary: "write a consistent copy of the database to a file, while the gateway runs", Doing: "backing up", Done: "backup",
		Examples: "gatewaytui backup /var/backups/gateway.db\ngatewaytui backup --abort",
	},
	{
		Verb: VerbDiagnose, Path: "/v1/diagnose", Name: "diagnose",
		Summary: "write goroutines, process trees, sockets and the phase log into one file", Doing: "diagnosing", Done: "diagnosed",
		Examples:      "gatewaytui diagnose",
		WhileStopping: true,
	},
}

// groupShutdown is the group of the verbs that act on a running shutdown.
const groupShutdown = "shutdown"

// Spec returns the row of v.
func (v Verb) Spec() (VerbSpec, bool) {
	for _, s := range Verbs {
		if s.Verb == v {
			return s, true
		}
	}
	return VerbSpec{}, false
}

// TakesTarget reports whether the verb acts on one named thing.
func (s VerbSpec) TakesTarget() bool { return s.Target != "" }

// OfStop reports whether the verb acts on the running shutdown.
func (s VerbSpec) OfStop() bool { return s.Group == groupShutdown }

// Usage is its name and its arguments on the command line: "reset KEY".
func (s VerbSpec) Usage() string {
	args := s.Args
	if args == "" {
		args = map[TargetKind]string{TargetSession: "KEY", TargetProcess: "PID", TargetAdapter: "NAME"}[s.Target]
	}
	return strings.TrimSpace(s.Name + " " + args)
}

// CommandLine is the whole command: "gatewaytui adapter pause NAME".
func (s VerbSpec) CommandLine() string {
	return "gatewaytui " + strings.TrimSpace(s.Group+" "+s.Usage())
}

// Command is a verb with its arguments. On the wire it is the POST's body; verb, target and actor come from the path
// and from the socket.
type Command struct {
	Verb   Verb   `json:"-"`
	Target string `json:"-"`
	By     Actor  `json:"-"`

	Reason string `json:"reason,omitempty"`
	// Mode is for stop; empty is graceful.
	Mode Mode `json:"mode,omitempty"`
	// Text is for message: at most 1 MiB.
	Text string `json:"text,omitempty"`
	// File is for backup: the absolute path of the copy; empty is a new file in the folder backups of the home. Abort ends
	// the backup that runs.
	File  string `json:"file,omitempty"`
	Abort bool   `json:"abort,omitempty"`
	// Phase and Item name what skip, extend and force act on; empty is the running phase and all of its items.
	Phase string `json:"phase,omitempty"`
	Item  string `json:"item,omitempty"`
	// ByMS is for extend; 0 is 30 s.
	ByMS int64 `json:"by_ms,omitempty"`
	// Expect names the object that the caller saw; if the target is a different one now, the answer is CodeConflict and
	// nothing is done. Empty accepts the current object.
	//
	// For stop, restart, drain and undrain it is the life: the turns that run do not matter. For the verbs of a session it
	// is the session id or a turn id. A session id names the conversation and not its current turn: an interrupt then means the
	// turn that runs now. A turn id names that turn alone.
	Expect string `json:"expect,omitempty"`
	// Interrupt is for evict: interrupt the running turn first. The agent is dropped when that turn releases it, before
	// the session's next turn can take it. Without it a busy agent is refused with CodeBusy.
	Interrupt bool `json:"interrupt,omitempty"`
	// Respawn is for restart where no service manager starts the next life: the gateway does, without a console, when it
	// ends. Without it that is left to who asks.
	Respawn bool `json:"respawn,omitempty"`
}

// ParsePID reads the target of VerbKill. ok is false for what cannot be a tracked process: pid 1 and everything that is not
// a number above it.
func ParsePID(target string) (pid int, ok bool) {
	pid, err := strconv.Atoi(target)
	return pid, err == nil && pid > 1
}

// Actor is who sent a command, for the audit.
type Actor struct {
	// Via is how it came: socket, console, signal, chat or gateway.
	Via  string `json:"via"`
	UID  int    `json:"uid"`
	PID  int    `json:"pid"`
	TTY  string `json:"tty,omitempty"`
	User string `json:"user,omitempty"`
	// Tool says that a process that the gateway tracks asked: a tool, or what a tool has started. The process registry tells
	// it, not the caller (HF7).
	Tool bool `json:"tool,omitempty"`
	// Session is the session that the tool belongs to, empty if that is not known: a stop never waits for its turn (A5).
	Session string `json:"session,omitempty"`
}

// RequestState is how far a request has come.
type RequestState string

// The states of a request.
const (
	RequestAccepted RequestState = "accepted"
	RequestRunning  RequestState = "running"
	RequestDone     RequestState = "done"
	RequestFailed   RequestState = "failed"
)

// Over reports whether the request has ended.
func (s RequestState) Over() bool { return s == RequestDone || s == RequestFailed }

// Request is an accepted command and what became of it.
type Request struct {
	ID     string       `json:"request"`
	State  RequestState `json:"state"`
	Verb   Verb         `json:"verb"`
	Target string       `json:"target,omitempty"`
	By     string       `json:"by,omitempty"`
	At     Time         `json:"at"`
	// Detail says in one line for people what is happening or what was done, and what was not.
	Detail string `json:"detail,omitempty"`
	// Joined says that another request does the same already: ID and Verb are of that request.
	Joined bool `json:"joined,omitempty"`
	// Result is the verb's own answer: MessageResult, KillResult, DiagnoseResult, BackupResult.
	Result json.RawMessage `json:"result,omitempty"`
	Error  *Error          `json:"error,omitempty"`
}

// MessageResult is the Result of VerbMessage.
type MessageResult struct {
	Message string `json:"message"`
	Session string `json:"session"`
	Reply   string `json:"reply"`
}

// KillResult is the Result of VerbKill.
type KillResult struct {
	PID       int   `json:"pid"`
	Killed    []int `json:"killed"`
	Survivors []int `json:"survivors"`
	// TermAt and KillAt are when the first TERM and the first KILL went out; null: none did. Escalated is how many
	// processes needed KILL (C7).
	TermAt    Time `json:"term_at"`
	KillAt    Time `json:"kill_at"`
	Escalated int  `json:"escalated"`
}

// DiagnoseResult is the Result of VerbDiagnose.
type DiagnoseResult struct {
	Path string `json:"path"`
}

// BackupResult is the Result of VerbBackup.
type BackupResult struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// Preview is what a command would do.
type Preview struct {
	Verb   Verb   `json:"verb"`
	Target string `json:"target,omitempty"`
	// EndsWork says that running work would end: without a terminal and without --yes the verb is not given.
	EndsWork  bool     `json:"ends_work"`
	WaitsFor  []string `json:"waits_for"`
	Interrupt []string `json:"interrupts"`
	Closes    []string `json:"closes"`
	Kills     []string `json:"kills"`
	Keeps     []string `json:"keeps"`
	Loses     []string `json:"loses"`
	// WorstCaseMS is what it may take.
	WorstCaseMS int64 `json:"worst_case_ms,omitempty"`
}
