package ops

import "gatewaytui/core/text"

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
	// Budgets are what each budget has used today.
	Budgets []BudgetToday `json:"budgets,omitempty"`
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
	// Generation numbers the config in force: 1 at the start, one more after each reload that changed something.
	Generation int `json:"generation"`
	// Changes are what a reload would change, as far as it is known; Problem says why the file cannot be applied.
	Changes []ConfigChange `json:"changes,omitempty"`
	Problem string         `json:"problem,omitempty"`
}

// Counts are the sizes of the gateway's tables.
type Counts struct {
	Sessions     int `json:"sessions"`
	RunningTurns int `json:"running_turns"`
	CachedAgents int `json:"cached_agents"`
	Processes    int `json:"processes"`
	// Inbox is how many requests wait for a person.
	Inbox int `json:"inbox"`
	// QueuedMessages is how many messages wait behind running turns, in all sessions.
	QueuedMessages    int `json:"queued_messages,omitempty"`
	AdaptersConnected int `json:"adapters_connected"`
	Adapters          int `json:"adapters"`
	// Servers is how many MCP servers run or should run, and ServersTroubled how many of them do not work. Browsers are not among them.
	Servers         int `json:"servers,omitempty"`
	ServersTroubled int `json:"servers_troubled,omitempty"`
	Browsers        int `json:"browsers,omitempty"`
	// Jobs is how many jobs are known, JobsRunning how many run, and JobsFailed how many failed in their last run.
	Jobs        int `json:"jobs,omitempty"`
	JobsRunning int `json:"jobs_running,omitempty"`
	JobsFailed  int `json:"jobs_failed,omitempty"`
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

// LastEnd is how the life ended, with what the report of its stop says: the outcome, where it was not clean, and how it became
// stronger.
func (l Life) LastEnd() *LastEnd {
	at, _ := l.End()
	e := &LastEnd{Life: l.Life, Outcome: l.Outcome, Phase: l.Phase, Reason: l.Reason, By: l.By, At: at, RSSBytes: l.RSSBytes}
	if report := l.Shutdown; report != nil {
		if report.Outcome == ShutdownIncomplete || report.Outcome == ShutdownForced {
			e.Stop = report.Outcome
		}
		if len(report.Escalations) > 0 {
			e.StopMode = report.ModeText()
		}
	}
	return e
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
	// SessionLimits are the controllers that bound all processes of a session together (TR7): cpu, memory, pids. What is not among them is bounded
	// for no session: a limit of a process (ulimit) counts per process or per user.
	SessionLimits []string `json:"session_limits,omitempty"`
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
	// Servers, Jobs and Held are their first SnapshotHeld rows each.
	Servers []Server `json:"servers,omitempty"`
	Jobs    []Job    `json:"jobs,omitempty"`
	Held    []Held   `json:"held,omitempty"`
	// Inbox is the first SnapshotInbox requests in the order of CompareInbox.
	Inbox    []InboxItem `json:"inbox"`
	Shutdown *Shutdown   `json:"shutdown,omitempty"`
	// Omitted is what the bounds of a snapshot left out; nil: nothing.
	Omitted *Omitted `json:"omitted,omitempty"`
}

// The largest numbers of rows of each kind in a snapshot. SnapshotHeld is for servers, jobs and held resources each.
const (
	SnapshotSessions = 1000
	SnapshotInbox    = 200
	SnapshotHeld     = 500
)

// Omitted is how many rows of each table are not in a snapshot. The pages of the lists have all of them.
type Omitted struct {
	Sessions  int `json:"sessions"`
	Agents    int `json:"agents,omitempty"`
	Processes int `json:"processes,omitempty"`
	Inbox     int `json:"inbox,omitempty"`
	Servers   int `json:"servers,omitempty"`
	Jobs      int `json:"jobs,omitempty"`
	Held      int `json:"held,omitempty"`
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
	// TableHeld bounds servers, jobs and held resources, each.
	TableHeld Table = "held"
)

// Most bounds a table of a snapshot: at most so many rows, the first ones in the order of its list; 0 leaves it out.
type Most struct {
	Table Table
	Rows  int
}

// Limit is one bound of the section [limits] of the config.
type Limit struct {
	// Name is the key in the config: limits.turns.
	Name string `json:"name"`
	// Per is what the bound is counted for: turn, session, tree (of processes), or absent for the whole gateway. Used is then
	// the largest figure of any of them.
	Per   string `json:"per,omitempty"`
	Used  int64  `json:"used"`
	Bound int64  `json:"bound"`
	// Unit is bytes, or absent for a count.
	Unit string `json:"unit,omitempty"`
	// Waiting is how many wait for the bound now; 0 also where what is over the bound is refused.
	Waiting int `json:"waiting"`
	// Reached is how often in this life something had to wait or was refused, LastReachedAt when it was the last time.
	Reached       uint64 `json:"reached"`
	LastReachedAt Time   `json:"last_reached_at"`
}

// StateFor is the state of a gateway for people, and how long the gateway has been in it. While it drains or stops, that is
// not the time since its start.
func (s Status) StateFor() string {
	up := text.Millis(s.UptimeMS)
	switch {
	case s.State == StateDraining && s.Drain != nil:
		by := ""
		if s.Drain.By != "" {
			by = " by " + text.Words(s.Drain.By)
		}
		return text.Words(s.State) + " for " + text.Ago(s.Drain.Since.Time) + by + ", started " + up + " ago"
	case s.State == StateDraining || s.State == StateStopping:
		return text.Words(s.State) + ", started " + up + " ago"
	}
	return text.Words(s.State) + " for " + up
}
