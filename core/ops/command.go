package ops

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gatewaytui/core/text"
)

// Command is a verb with its arguments. On the wire it is the POST's body; verb, target and actor come from the path
// and from the socket.
type Command struct {
	Verb   Verb   `json:"-"`
	Target string `json:"-"`
	By     Actor  `json:"-"`
	// PID is Target of VerbKill as a number, once Parse has read it.
	PID int `json:"-"`

	Reason string `json:"reason,omitempty"`
	// Mode is for stop; empty is graceful.
	Mode Mode `json:"mode,omitempty"`
	// Text is for message, at most 1 MiB, for title, for answer, and the code of VerbLetIn.
	Text string `json:"text,omitempty"`
	// File is for backup: the absolute path of the copy; empty is a new file in the folder backups of the home. Abort ends
	// the backup that runs.
	File  string `json:"file,omitempty"`
	Abort bool   `json:"abort,omitempty"`
	// Scope is how far an approval reaches; empty is ScopeOnce.
	Scope Scope `json:"scope,omitempty"`
	// Amount is by how much a budget is raised: money such as 2.50, or tokens such as 500000tokens. Until is when that ends: a moment, a
	// day, a time of day or a duration; empty is the end of the day.
	Amount string `json:"amount,omitempty"`
	Until  string `json:"until,omitempty"`
	// Role is what a person becomes; empty: a guest for VerbLetIn, a member for VerbAddPerson.
	Role Role `json:"role,omitempty"`
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
	// turn that runs now. A turn id names that turn alone. For approve, deny and answer it is the turn that waits for the answer.
	Expect string `json:"expect,omitempty"`
	// Child is for interrupt and message: the child agent of the running turn that is meant, as Agent.Delegates names it; empty: the
	// turn as a whole. A child reads a message after its next step, and gives no reply.
	Child string `json:"child,omitempty"`
	// Interrupt is for evict: interrupt the running turn first. The agent is dropped when that turn releases it, before
	// the session's next turn can take it. Without it a busy agent is refused with CodeBusy.
	Interrupt bool `json:"interrupt,omitempty"`
	// Respawn is for restart where no service manager starts the next life: the gateway does, without a console, when it
	// ends. Without it that is left to who asks.
	Respawn bool `json:"respawn,omitempty"`
}

// MaxText is the most bytes of a message's text.
const MaxText = 1 << 20

// Parse checks the form of a command, in each state of the gateway, and reads PID. It is the one place that does: every way in
// calls it.
func (c *Command) Parse() error {
	spec, known := c.Verb.Spec()
	if !known {
		var verbs []string
		for _, v := range Verbs {
			verbs = append(verbs, string(v.Verb))
		}
		return UnknownName("verb", string(c.Verb), verbs)
	}
	switch {
	case spec.TakesTarget() && c.Target == "":
		return invalid(string(c.Verb)+" needs a target", "name what it acts on")
	case !spec.TakesTarget() && c.Target != "":
		return invalid(string(c.Verb)+" takes no target", "leave it out")
	case c.Mode != "" && !slices.Contains(Modes, c.Mode):
		return invalid(fmt.Sprintf("unknown mode %.64q", string(c.Mode)), "use graceful, fast or immediate")
	case c.Scope != "" && !slices.Contains(Scopes, c.Scope):
		return invalid(fmt.Sprintf("unknown scope %.64q", string(c.Scope)), "use once, turn, session or always")
	case c.Role != "" && !slices.Contains(Roles, c.Role):
		_, err := ReadRole(string(c.Role))
		return err
	case c.ByMS < 0:
		return invalid(fmt.Sprintf("by_ms is %d", c.ByMS), "give milliseconds from 0")
	case len(c.Text) > MaxText:
		return invalid(fmt.Sprintf("the text has %d bytes, at most %d are taken", len(c.Text), MaxText), "send it in parts, or as a file that a tool can read")
	case spec.Rest == RestText && strings.TrimSpace(c.Text) == "":
		return invalid(string(c.Verb)+" has no text", "put it in the field text")
	case spec.Target == TargetProcess:
		pid, err := ParsePID(c.Target)
		c.PID = pid
		return err
	}
	return nil
}

// ParsePID reads a pid. It refuses what cannot be a tracked process: pid 1, and everything that is not a number
// above it.
func ParsePID(target string) (int, error) {
	pid, err := strconv.Atoi(target)
	if err != nil || pid < 2 {
		return 0, invalid(fmt.Sprintf("%.64q is not a process id", target), "GET /v1/processes lists those that are tracked")
	}
	return pid, nil
}

// UnknownName is the answer to a name that is not one of known, with the nearest that is.
func UnknownName(what, name string, known []string) error {
	hint := "none is taken"
	if len(known) > 0 {
		hint = "the nearest is " + strconv.Quote(text.Nearest(fmt.Sprintf("%.64s", name), known))
	}
	return invalid(fmt.Sprintf("%.64q is no %s that is known here", name, what), hint)
}

func invalid(message, hint string) error {
	return &Error{Code: CodeInvalid, Message: message, Hint: hint}
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
	RequestWaiting  RequestState = "waiting" // for what Request.WaitingFor names
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
	// WaitingFor is what a request in the state RequestWaiting waits for: "approval 7K3M9Q", the id of a request in the inbox.
	WaitingFor string `json:"waiting_for,omitempty"`
	// Turn is the turn that works on a message, once it has begun.
	Turn string `json:"turn,omitempty"`
	// Joined says that another request does the same already: ID and Verb are of that request.
	Joined bool `json:"joined,omitempty"`
	// Result is the verb's own answer: MessageResult, TitleResult, ForgetResult, KillResult, DiagnoseResult, BackupResult.
	Result json.RawMessage `json:"result,omitempty"`
	Error  *Error          `json:"error,omitempty"`
}

// MessageResult is the Result of VerbMessage.
type MessageResult struct {
	Message string `json:"message"`
	Session string `json:"session"`
	Reply   string `json:"reply"`
	// Withheld means that Reply is not shown, because of console.texts.
	Withheld bool `json:"withheld,omitempty"`
}

// Text is the reply, or what stands in its place.
func (m MessageResult) Text() string {
	if m.Withheld {
		return "(answered; console.texts does not show the reply)"
	}
	return m.Reply
}

// TitleResult is the Result of VerbTitle.
type TitleResult struct {
	Title string `json:"title"`
}

// ForgetResult is the Result of VerbForget: how many rows and other things were deleted, by kind.
type ForgetResult struct {
	Person  string         `json:"person"`
	Deleted map[string]int `json:"deleted"`
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
	// Applies, Loosens and Restarts are what a reload of the config changes: at once, at once with a possible loss of security, and
	// only after a restart.
	Applies  []string `json:"applies,omitempty"`
	Loosens  []string `json:"loosens,omitempty"`
	Restarts []string `json:"restarts,omitempty"`
	// Seen names the state that was looked at, for Command.Expect; empty: the verb knows none.
	Seen string `json:"seen,omitempty"`
	// WorstCaseMS is what it may take.
	WorstCaseMS int64 `json:"worst_case_ms,omitempty"`
}
