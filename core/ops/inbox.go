package ops

import (
	"cmp"
	"slices"
)

// InboxKind is a kind of request that waits for a person.
type InboxKind string

// The kinds. The first five ask whether a step may be done; InboxQuestion asks for a text, and InboxPairing whether a person may
// come in.
const (
	InboxCommand  InboxKind = "command"
	InboxWrite    InboxKind = "write"
	InboxHost     InboxKind = "host"
	InboxTool     InboxKind = "tool"
	InboxStop     InboxKind = "stop"
	InboxQuestion InboxKind = "question"
	InboxPairing  InboxKind = "pairing"
	// InboxBudget says that a part of a budget is used. It waits for no answer.
	InboxBudget InboxKind = "budget"
	// InboxSuspended, InboxLooping, InboxAdapter and InboxUndelivered are states that need a person, who chooses one of the item's
	// options. They end with the state.
	InboxSuspended   InboxKind = "suspended"
	InboxLooping     InboxKind = "looping"
	InboxAdapter     InboxKind = "adapter"
	InboxUndelivered InboxKind = "delivery"
	// InboxJob says that runs of a job fail, and InboxServer that an MCP server failed and does not start again by itself. Both end with the state.
	InboxJob    InboxKind = "job"
	InboxServer InboxKind = "server"
	// InboxConfig says that the config file has changed. Its option reload applies what the row shows.
	InboxConfig InboxKind = "config"
	// InboxWarning is a warning of the status. It waits for no answer.
	InboxWarning InboxKind = "warning"
)

// Remedied reports whether a request of this kind is answered by one of its options, each of which does something.
func (k InboxKind) Remedied() bool {
	switch k {
	case InboxSuspended, InboxLooping, InboxAdapter, InboxUndelivered, InboxJob, InboxServer, InboxConfig:
		return true
	}
	return false
}

// InboxState is what became of a request of the inbox.
type InboxState string

// The states. All but InboxWaiting are final. InboxRefused: it was refused at once, because its caller cannot wait. InboxWithdrawn:
// what asked for it has ended.
const (
	InboxWaiting   InboxState = "waiting"
	InboxAllowed   InboxState = "allowed"
	InboxDenied    InboxState = "denied"
	InboxAnswered  InboxState = "answered"
	InboxExpired   InboxState = "expired"
	InboxWithdrawn InboxState = "withdrawn"
	InboxRefused   InboxState = "refused"
	InboxNoted     InboxState = "noted" // it asks for nothing
)

// Scope is how far an approval reaches.
type Scope string

// The scopes. ScopeAlways makes a rule, which ends after approvals.always_expires.
const (
	ScopeOnce    Scope = "once"
	ScopeTurn    Scope = "turn"
	ScopeSession Scope = "session"
	ScopeAlways  Scope = "always"
)

// Scopes are the scopes that a command can have. An item's options say which of them it takes.
var Scopes = []Scope{ScopeOnce, ScopeTurn, ScopeSession, ScopeAlways}

// InboxItem is a request that waits for a person, or waited for one a short time ago (TR4). Its texts come from models and from
// chats; the gateway has cleaned them.
type InboxItem struct {
	// ID names it in approve, deny and answer, and is never used again.
	ID      string    `json:"id"`
	Kind    InboxKind `json:"kind"`
	Session string    `json:"session"`
	// Turn is the turn that waits for the answer, empty where none does.
	Turn    string     `json:"turn"`
	AskedAt Time       `json:"asked_at"`
	Expires Time       `json:"expires_at"`
	State   InboxState `json:"state"`
	// Who is who may answer, in words.
	Who string `json:"who"`
	// Text says in one line what is asked, without what follows.
	Text string `json:"text"`
	// Command is what would run, or the path or host of a write or a call. Folder and Environment are where.
	Command     string `json:"command"`
	Folder      string `json:"folder"`
	Environment string `json:"environment"`
	// Reasons say why it is asked.
	Reasons []string `json:"reasons"`
	// Options are the scopes that an approval can have, the answers to choose from, or what can be done; a question without options takes any text.
	Options []string `json:"options"`
	// By is who answered and AnsweredAt when it ended; empty while it waits.
	By         string `json:"by,omitempty"`
	AnsweredAt Time   `json:"answered_at"`
}

// CompareInbox is the order of the inbox everywhere: what waits, oldest first, and then what has ended, newest first.
func CompareInbox(a, b InboxItem) int {
	waits, bWaits := a.State == InboxWaiting, b.State == InboxWaiting
	switch {
	case waits && !bWaits:
		return -1
	case bWaits && !waits:
		return 1
	case waits:
		return cmp.Or(a.AskedAt.Compare(b.AskedAt.Time), cmp.Compare(a.ID, b.ID))
	}
	return cmp.Or(b.AskedAt.Compare(a.AskedAt.Time), cmp.Compare(a.ID, b.ID))
}

// Takes reports whether an approval of the item can have this scope; the empty scope is ScopeOnce.
func (i InboxItem) Takes(s Scope) bool {
	return s == "" || s == ScopeOnce || slices.Contains(i.Options, string(s))
}

// Rule is what an approval with the scope always made: such a command runs without a question until the rule ends.
type Rule struct {
	ID string `json:"id"`
	// Agent and Environment are those that it is for.
	Agent       string `json:"agent"`
	Environment string `json:"environment"`
	// Executable and Subcommand are the beginning of the command; Subcommand is empty where there is none. For a tool of a server they are
	// the server and its tool.
	Executable string `json:"executable"`
	Subcommand string `json:"subcommand"`
	Folder     string `json:"folder"`
	// By is who made it, in words.
	By      string `json:"by"`
	MadeAt  Time   `json:"made_at"`
	Expires Time   `json:"expires_at"`
}
