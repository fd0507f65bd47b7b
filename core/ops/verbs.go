package ops

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Verb is something an operator can ask of a gateway.
type Verb string

// The verbs.
const (
	VerbReset     Verb = "session.reset"
	VerbEvict     Verb = "session.evict"
	VerbInterrupt Verb = "session.interrupt"
	VerbMessage   Verb = "session.message"
	VerbTitle     Verb = "session.title"
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
	// VerbReload applies the config file (OP4).
	VerbReload  Verb = "reload"
	VerbForget  Verb = "people.forget"
	VerbApprove Verb = "inbox.approve"
	VerbDeny    Verb = "inbox.deny"
	VerbAnswer  Verb = "inbox.answer"
	// VerbLetIn lets in the person of a code. VerbAddPerson and VerbRemovePerson say by id who may speak.
	VerbLetIn        Verb = "people.approve"
	VerbAddPerson    Verb = "people.add"
	VerbRemovePerson Verb = "people.remove"
	VerbSetRole      Verb = "people.role"
	// VerbRemoveRule removes a rule that an approval made.
	VerbRemoveRule Verb = "approvals.rules.remove"
	// VerbRaise lifts a budget for a time (TR8).
	VerbRaise Verb = "budgets.raise"
	// VerbRestartServer restarts an MCP server, and the next four act on a job.
	VerbRestartServer Verb = "servers.restart"
	VerbRunJob        Verb = "jobs.run"
	VerbPauseJob      Verb = "jobs.pause"
	VerbResumeJob     Verb = "jobs.resume"
	VerbDeleteJob     Verb = "jobs.delete"
	// VerbForgetNote deletes a note of an agent's memory.
	VerbForgetNote Verb = "memory.forget"
)

// TargetKind is a kind of thing that a verb acts on.
type TargetKind string

// The kinds. A session is named by its key, a process by its pid, an adapter by its name, and a person by platform
// and id: telegram:4711. A request of the inbox, a rule and a note have ids; a budget, a server and a job have names.
const (
	TargetSession TargetKind = "session"
	TargetProcess TargetKind = "process"
	TargetAdapter TargetKind = "adapter"
	TargetPerson  TargetKind = "person"
	TargetInbox   TargetKind = "inbox"
	TargetRule    TargetKind = "rule"
	TargetBudget  TargetKind = "budget"
	TargetServer  TargetKind = "server"
	TargetJob     TargetKind = "job"
	TargetNote    TargetKind = "note"
)

// VerbSpec is all that the socket, the command line, the consoles, completion and the documentation need to know of a verb. They are
// made from Verbs: a new verb is one entry here and its implementation in the gateway.
type VerbSpec struct {
	Verb Verb
	// Path is where the control socket takes it, by POST; {target} is the command's target.
	Path string
	// Group and Name are its command: gatewaytui GROUP NAME. Group is empty for one at the root.
	Group, Name string
	// Console is what the consoles call it; empty is Name.
	Console string
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
		Verb: VerbTitle, Path: "/v1/sessions/{target}/title", Name: "title", Target: TargetSession, Args: "KEY TEXT", Rest: RestText,
		Summary: "name a session's conversation", Doing: "naming", Done: "named",
		Examples: "gatewaytui title telegram:dm:4711 \"holiday plans\"",
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
		Verb: VerbReload, Path: "/v1/reload", Name: "reload",
		Summary: "apply the config file without a restart", Doing: "reloading", Done: "reloaded",
		Examples: "gatewaytui reload --dry-run\ngatewaytui reload",
		DryRun:   true,
	},
	{
		Verb: VerbBackup, Path: "/v1/backup", Name: "backup", Args: "FILE",
		Summary: "write a consistent copy of the database to a file, while the gateway runs", Doing: "backing up", Done: "backup",
		Examples: "gatewaytui backup /var/backups/gateway.db\ngatewaytui backup --abort",
	},
	{
		Verb: VerbLetIn, Path: "/v1/people/approve", Group: "people", Name: "approve", Console: "let-in", Args: "CODE", Rest: RestText,
		Summary: "let in the person who has a code, as a guest", Doing: "letting in", Done: "let in",
		Examples: "gatewaytui people approve 4KQ7RTWD\ngatewaytui people approve 4KQ7RTWD --role member",
	},
	{
		Verb: VerbAddPerson, Path: "/v1/people/{target}/add", Group: "people", Name: "add", Console: "add-person", Target: TargetPerson, Rest: RestRole,
		Summary: "let in a person by id, as a member", Doing: "adding", Done: "added",
		Examples: "gatewaytui people add telegram:4711\ngatewaytui people add telegram:4711 --role owner",
	},
	{
		Verb: VerbRemovePerson, Path: "/v1/people/{target}/remove", Group: "people", Name: "remove", Console: "remove-person", Target: TargetPerson,
		Summary: "let a person speak no more, also one whom the config names", Doing: "removing", Done: "removed",
		Examples: "gatewaytui people remove telegram:4711\ngatewaytui people remove telegram:4711 --dry-run",
		Ends:     true,
	},
	{
		Verb: VerbSetRole, Path: "/v1/people/{target}/role", Group: "people", Name: "role", Console: "set-role", Target: TargetPerson, Args: "ID ROLE", Rest: RestRole,
		Summary: "change what a person may do: owner, member or guest", Doing: "changing the role of", Done: "changed the role of",
		Examples: "gatewaytui people role telegram:4711 owner",
	},
	{
		Verb: VerbForget, Path: "/v1/people/{target}/forget", Group: "people", Name: "forget", Target: TargetPerson,
		Summary: "delete what is kept of a person, and say what was deleted", Doing: "forgetting", Done: "forgot",
		Examples: "gatewaytui people forget telegram:4711\ngatewaytui people forget telegram:4711 --dry-run",
		Ends:     true, Word: "forget",
	},
	{
		Verb: VerbApprove, Path: "/v1/inbox/{target}/approve", Name: "approve", Target: TargetInbox, Rest: RestScope,
		Summary: "allow what a request of the inbox asks for", Doing: "approving", Done: "approved",
		Examples: "gatewaytui approve 7K3M9Q\ngatewaytui approve 7K3M9Q --session",
	},
	{
		Verb: VerbDeny, Path: "/v1/inbox/{target}/deny", Name: "deny", Target: TargetInbox, Rest: RestReason,
		Summary: "refuse what a request of the inbox asks for", Doing: "denying", Done: "denied",
		Examples: "gatewaytui deny 7K3M9Q --reason \"use the staging host\"",
	},
	{
		Verb: VerbAnswer, Path: "/v1/inbox/{target}/answer", Name: "answer", Target: TargetInbox, Args: "ID TEXT", Rest: RestText,
		Summary: "answer a question of the inbox", Doing: "answering", Done: "answered",
		Examples: "gatewaytui answer 7K3M9Q \"the second one\"",
	},
	{
		Verb: VerbRemoveRule, Path: "/v1/approvals/rules/{target}/remove", Group: "approvals rules", Name: "remove", Console: "remove-rule", Target: TargetRule,
		Summary: "remove a rule, so that its commands are asked about again", Doing: "removing rule", Done: "removed rule",
		Examples: "gatewaytui approvals rules remove 9F2C",
	},
	{
		Verb: VerbRaise, Path: "/v1/budgets/{target}/raise", Group: "budgets", Name: "raise", Console: "raise-budget", Target: TargetBudget, Rest: RestAmount,
		Summary: "lift a budget for a time", Doing: "raising budget", Done: "raised budget",
		Examples: "gatewaytui budgets raise default --by 5\ngatewaytui budgets raise default --by 500000tokens --until 18:00",
	},
	{
		Verb: VerbRestartServer, Path: "/v1/servers/{target}/restart", Group: "servers", Name: "restart", Console: "restart-server", Target: TargetServer,
		Summary: "end an MCP server and start it again with the next call", Doing: "restarting server", Done: "restarted server",
		Examples: "gatewaytui servers restart files\ngatewaytui servers restart files --dry-run",
		Ends:     true,
	},
	{
		Verb: VerbRunJob, Path: "/v1/jobs/{target}/run", Group: "jobs", Name: "run", Console: "run-job", Target: TargetJob,
		Summary: "run a job now, in addition to its schedule", Doing: "starting job", Done: "started job",
		Examples: "gatewaytui jobs run morning",
	},
	{
		Verb: VerbPauseJob, Path: "/v1/jobs/{target}/pause", Group: "jobs", Name: "pause", Console: "pause-job", Target: TargetJob,
		Summary: "start no run of a job until it is resumed", Doing: "pausing job", Done: "paused job",
		Examples: "gatewaytui jobs pause morning",
	},
	{
		Verb: VerbResumeJob, Path: "/v1/jobs/{target}/resume", Group: "jobs", Name: "resume", Console: "resume-job", Target: TargetJob,
		Summary: "run a paused job by its schedule again", Doing: "resuming job", Done: "resumed job",
		Examples: "gatewaytui jobs resume morning",
	},
	{
		Verb: VerbDeleteJob, Path: "/v1/jobs/{target}/delete", Group: "jobs", Name: "delete", Console: "delete-job", Target: TargetJob,
		Summary: "delete a job that an agent or a person made", Doing: "deleting job", Done: "deleted job",
		Examples: "gatewaytui jobs delete morning\ngatewaytui jobs delete morning --dry-run",
		Ends:     true,
	},
	{
		Verb: VerbForgetNote, Path: "/v1/notes/{target}/forget", Group: "memory", Name: "forget", Console: "forget-note", Target: TargetNote,
		Summary: "delete a note of an agent's memory", Doing: "forgetting note", Done: "forgot note",
		Examples: "gatewaytui memory forget 01M8FV",
		Ends:     true,
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
	args := cmp.Or(s.Args, map[TargetKind]string{TargetSession: "KEY", TargetProcess: "PID", TargetAdapter: "NAME", TargetPerson: "ID", TargetInbox: "ID", TargetRule: "RULE", TargetBudget: "BUDGET", TargetServer: "SERVER", TargetJob: "JOB", TargetNote: "NOTE"}[s.Target])
	return strings.TrimSpace(s.Name + " " + args)
}

// ConsoleName is what the consoles call it.
func (s VerbSpec) ConsoleName() string { return cmp.Or(s.Console, s.Name) }

// CommandLine is the whole command: "gatewaytui adapter pause NAME".
func (s VerbSpec) CommandLine() string {
	return "gatewaytui " + strings.TrimSpace(s.Group+" "+s.Usage())
}

// Rest is what a command of a console takes after its target, as its help shows it.
type Rest string

// The kinds: none, the text of a message, a reason, the mode of a stop, the word interrupt, a duration, and the scope of an approval, and
// an amount with the time at which it ends.
const (
	RestNone      Rest = ""
	RestText      Rest = "TEXT"
	RestReason    Rest = "[REASON]"
	RestMode      Rest = "[fast|immediate]"
	RestInterrupt Rest = "[interrupt]"
	RestTime      Rest = "[30s]"
	RestScope     Rest = "[turn|session|always]"
	RestAmount    Rest = "N [UNTIL]"
	RestRole      Rest = "[owner|member|guest]"
)

// Free reports whether the rest is any text.
func (r Rest) Free() bool { return r == RestText || r == RestReason }

// ReadRest reads what was typed after the target into cmd. An error says what can be typed.
func (s VerbSpec) ReadRest(cmd *Command, rest string) error {
	quoted := strconv.Quote(rest)
	switch s.Rest {
	case RestText:
		if cmd.Text = rest; rest == "" {
			return invalid("the message has no text", s.Name+" 2 hello")
		}
	case RestReason:
		cmd.Reason = rest
	case RestMode:
		cmd.Mode = Mode(rest)
	case RestInterrupt:
		if cmd.Interrupt = rest == "interrupt"; rest != "" && !cmd.Interrupt {
			return invalid(quoted+" is not an option of "+s.Name, s.Name+" 2 interrupt")
		}
	case RestRole:
		cmd.Role = Role(rest) // Parse refuses one that there is not
	case RestScope:
		if cmd.Scope = Scope(rest); rest != "" && !slices.Contains(Scopes, cmd.Scope) {
			return invalid(quoted+" is not a scope", "it takes turn, session or always; without one the approval is for this request alone")
		}
	case RestAmount:
		if cmd.Amount, cmd.Until, _ = strings.Cut(rest, " "); cmd.Amount == "" {
			return invalid("by how much is missing", s.ConsoleName()+" default 5 18:00")
		}
	case RestTime:
		if rest == "" {
			break
		}
		d, err := time.ParseDuration(rest)
		if err != nil || d < time.Millisecond {
			return invalid(quoted+" is not a duration", "it takes a duration from 1ms, such as 30s")
		}
		cmd.ByMS = d.Milliseconds()
	case RestNone:
		if rest != "" {
			return invalid(quoted+" is one word too many", "help lists the commands")
		}
	}
	return nil
}

// Part is what a preview says of one kind of thing: what the command would do to it, and to which.
type Part struct {
	Does string
	What []string
}

// Parts are all that the preview says, in the order in which people read it.
func (p Preview) Parts() []Part {
	return []Part{
		{"wait for", p.WaitsFor},
		{"interrupt", p.Interrupt},
		{"close", p.Closes},
		{"kill", p.Kills},
		{"lose", p.Loses},
		{"keep", p.Keeps},
		{"change", p.Applies},
		{"loosen", p.Loosens},
		{"defer", p.Restarts},
	}
}
