package lines

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"gatewaytui/core/ops"
	"gatewaytui/core/text"
)

// Sessions are the columns of the sessions.
var Sessions = []Column[ops.Session]{
	{"KEY", func(r ops.Session) string { return r.Key }, 0},
	{"STATE", func(r ops.Session) string { return text.Words(r.State) }, 1},
	{"USER", func(r ops.Session) string { return r.User }, 6},
	{"TURN", func(r ops.Session) string { return text.Ago(r.TurnStartedAt.Time) }, 3},
	{"DOING", func(r ops.Session) string { return cmp.Or(r.AttentionReason, r.Activity(time.Now())) }, 2},
	{"LAST", func(r ops.Session) string { return text.Ago(r.LastActivityAt.Time) }, 4},
	{"QUEUED", func(r ops.Session) string { return strconv.Itoa(r.Queued) }, 5},
	{"TOKENS", func(r ops.Session) string { return fmt.Sprintf("%d/%d", r.TokensIn, r.TokensOut) }, 8},
	{"AGENT", func(r ops.Session) string { return r.Agent }, 11},
	{"MODEL", func(r ops.Session) string { return r.Model }, 12},
	{"COST", func(r ops.Session) string { return Cost(r.Cost) }, 13},
	{"CONTEXT", func(r ops.Session) string { return Context(r) }, 14},
	{"PROCS", func(r ops.Session) string { return strconv.Itoa(r.Processes) }, 7},
	{"TITLE", func(r ops.Session) string { return r.Title }, 11},
	{"CACHED", func(r ops.Session) string { return yes(r.Cached) }, 9},
	{"CALLER", func(r ops.Session) string {
		if r.Caller == nil {
			return ""
		}
		return r.Caller.String()
	}, 10},
}

// Context is how much of the model's context a conversation uses, empty where that is unknown.
func Context(r ops.Session) string {
	if r.ContextWindow == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", r.ContextUsed, r.ContextWindow)
}

// Cost is an amount of money, empty where it is unknown.
func Cost(amount *float64) string {
	if amount == nil {
		return ""
	}
	return ops.Amount(*amount)
}

// Doing is what the session's turn does now, in the words of the console; empty if no turn runs.
func Doing(s ops.Session) string {
	if s.Doing == "" {
		return ""
	}
	return ops.StepWords(s.Doing)
}

// Agents are the columns of the agents.
var Agents = []Column[ops.Agent]{
	{"SESSION", func(r ops.Agent) string { return r.Session }, 0},
	{"MODEL", func(r ops.Agent) string { return r.Model }, 3},
	{"STATE", func(r ops.Agent) string { return text.Words(r.State) }, 1},
	{"SIZE", func(r ops.Agent) string { return Size(r.Bytes) }, 4},
	{"MESSAGES", func(r ops.Agent) string { return strconv.Itoa(r.Messages) }, 5},
	{"IDLE", func(r ops.Agent) string { return text.Millis(r.IdleMS) }, 2},
	{"BUSY", func(r ops.Agent) string { return yes(r.Busy) }, 7},
	{"CHILDREN", func(r ops.Agent) string { return strconv.Itoa(r.Children) }, 6},
}

// Processes are the columns of the process trees.
var Processes = []Column[ops.Process]{
	{"PID", func(r ops.Process) string { return strconv.Itoa(r.PID) }, 0},
	{"STATE", ProcessState, 2},
	{"AGE", func(r ops.Process) string { return text.Millis(r.AgeMS) }, 3},
	{"CPU%", func(r ops.Process) string { return fmt.Sprintf("%.1f", r.CPUPct) }, 5},
	{"MEMORY", func(r ops.Process) string { return Size(r.RSSBytes) }, 4},
	{"TREE", func(r ops.Process) string { return strconv.Itoa(r.TreeSize) }, 7},
	{"ENDS WITH", func(r ops.Process) string { return string(r.Policy) }, 8},
	{"SESSION", func(r ops.Process) string { return r.Session }, 6},
	{"COMMAND", func(r ops.Process) string { return r.Command }, 1},
	{"DUPLICATE OF", func(r ops.Process) string { return strings.TrimPrefix(strconv.Itoa(r.DuplicateOf), "0") }, 9},
	{"LAST OUTPUT", func(r ops.Process) string { return cmp.Or(r.Limit, r.LastOutput) }, 10},
}

// ProcessState is the state of a tree in words. One whose leader has exited while its children live is not over.
func ProcessState(r ops.Process) string {
	if r.State == ops.ProcessExited {
		return fmt.Sprintf("leader exited, %d left", r.TreeSize)
	}
	return text.Words(r.State)
}

// Adapters are the columns of the chat platforms.
var Adapters = []Column[ops.Adapter]{
	{"NAME", func(r ops.Adapter) string { return r.Name }, 0},
	{"STATE", func(r ops.Adapter) string { return text.Words(r.State) }, 1},
	{"FOR", func(r ops.Adapter) string { return text.Ago(r.Since.Time) }, 4},
	{"LAST HEARD", func(r ops.Adapter) string { return cmp.Or(text.Ago(r.LastInboundAt.Time), "never") }, 3},
	{"ATTEMPT", func(r ops.Adapter) string { return strconv.Itoa(r.Attempt) }, 6},
	{"NEXT", func(r ops.Adapter) string { return text.Until(r.NextAttemptAt.Time) }, 5},
	{"QUEUE", func(r ops.Adapter) string { return strconv.Itoa(r.Queue) }, 7},
	{"LAST ERROR", func(r ops.Adapter) string { return r.LastError }, 2},
	{"CAN", func(r ops.Adapter) string { return strings.Join(r.Abilities, ", ") }, 8},
}

// Inbox are the columns of the inbox.
var Inbox = []Column[ops.InboxItem]{
	{"ID", func(r ops.InboxItem) string { return r.ID }, 0},
	{"KIND", func(r ops.InboxItem) string { return text.Words(r.Kind) }, 5},
	{"STATE", func(r ops.InboxItem) string { return text.Words(r.State) }, 2},
	{"AGE", func(r ops.InboxItem) string { return text.Ago(r.AskedAt.Time) }, 4},
	{"EXPIRES", func(r ops.InboxItem) string { return ifWaits(r, text.Until(r.Expires.Time)) }, 6},
	{"SESSION", func(r ops.InboxItem) string { return r.Session }, 3},
	{"WHO", func(r ops.InboxItem) string { return cmp.Or(r.By, ifWaits(r, r.Who)) }, 9},
	{"WHAT", func(r ops.InboxItem) string { return cmp.Or(r.Command, r.Text) }, 1},
	{"FOLDER", func(r ops.InboxItem) string { return r.Folder }, 8},
	{"ENVIRONMENT", func(r ops.InboxItem) string { return r.Environment }, 10},
	{"WHY", func(r ops.InboxItem) string { return strings.Join(r.Reasons, "; ") }, 7},
	{"OPTIONS", func(r ops.InboxItem) string { return strings.Join(r.Options, ", ") }, 11},
}

// Environments are the columns of what commands run in.
var Environments = []Column[ops.Environment]{
	{"ID", func(r ops.Environment) string { return r.ID }, 0},
	{"KIND", func(r ops.Environment) string { return string(r.Kind) }, 1},
	{"NAME", func(r ops.Environment) string { return r.Name }, 5},
	{"STATE", func(r ops.Environment) string { return string(r.State) }, 2},
	{"SESSION", func(r ops.Environment) string { return r.Session }, 1},
	{"SINCE", func(r ops.Environment) string { return text.Moment(r.Since.Time) }, 4},
	{"DETAIL", func(r ops.Environment) string { return r.Detail }, 3},
}

// ifWaits is s for a request that waits, and empty for one that has ended.
func ifWaits(r ops.InboxItem, s string) string {
	if r.State != ops.InboxWaiting {
		return ""
	}
	return s
}

// Rules are the columns of the rules that approvals made.
var Rules = []Column[ops.Rule]{
	{"ID", func(r ops.Rule) string { return r.ID }, 0},
	{"COMMAND", RuleCommand, 1},
	{"FOLDER", func(r ops.Rule) string { return r.Folder }, 2},
	{"AGENT", func(r ops.Rule) string { return r.Agent }, 4},
	{"ENVIRONMENT", func(r ops.Rule) string { return r.Environment }, 5},
	{"MADE", func(r ops.Rule) string { return text.Moment(r.MadeAt.Time) }, 6},
	{"ENDS", func(r ops.Rule) string { return text.Moment(r.Expires.Time) }, 3},
	{"BY", func(r ops.Rule) string { return r.By }, 7},
}

// People are the columns of who may speak.
var People = []Column[ops.Person]{
	{"ID", func(p ops.Person) string { return p.ID }, 0},
	{"NAME", func(p ops.Person) string { return p.Name }, 3},
	{"ROLE", func(p ops.Person) string { return text.Words(p.Role) }, 1},
	{"STATE", func(p ops.Person) string { return text.Words(p.State) }, 1},
	{"FROM", func(p ops.Person) string { return text.Words(p.Source) }, 2},
	{"BY", func(p ops.Person) string { return p.By }, 5},
	{"SINCE", func(p ops.Person) string { return text.Moment(p.At.Time) }, 4},
}

// RuleCommand is the beginning of the commands that a rule is for.
func RuleCommand(r ops.Rule) string { return strings.TrimSpace(r.Executable + " " + r.Subcommand) }

// Hits are the columns of what a search found.
var Hits = []Column[ops.Hit]{
	{"WHEN", func(r ops.Hit) string { return text.Moment(r.At.Time) }, 1},
	{"SESSION", func(r ops.Hit) string { return r.Session }, 2},
	{"TITLE", func(r ops.Hit) string { return r.Title }, 6},
	{"WHO", func(r ops.Hit) string { return cmp.Or(r.Who, "agent") }, 3},
	{"TEXT", func(r ops.Hit) string { return r.Snippet + undone(r.Undone) }, 0},
	{"ID", func(r ops.Hit) string { return r.ID }, 7},
}

// Lives are the columns of the past lives.
var Lives = []Column[ops.Life]{
	{"LIFE", func(r ops.Life) string { return r.Life }, 0},
	{"STARTED", func(r ops.Life) string { return text.Moment(r.StartedAt.Time) }, 3},
	{"ENDED", ended, 5},
	{"LASTED", lasted, 2},
	{"OUTCOME", func(r ops.Life) string { return text.Words(r.Outcome) }, 1},
	{"PHASE", func(r ops.Life) string { return r.Phase }, 6},
	{"STOP", stopSummary, 7},
	{"OVERRAN", Overran, 9},
	{"BY", func(r ops.Life) string { return r.By }, 8},
	{"REASON", func(r ops.Life) string { return r.Reason }, 4},
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// Size is a number of bytes for people.
func Size(bytes int64) string { return humanize.IBytes(uint64(max(bytes, 0))) }
