package filter

import (
	"strconv"
	"strings"

	"gatewaytui/core/ops"
)

// The fields of each kind of row. A word without a key is looked for in all of them.
var (
	// Sessions are the fields of a session.
	Sessions = []Field[ops.Session]{
		{Name: "session", Also: []string{"key"}, Text: func(r *ops.Session) string { return r.Key }},
		{Name: "adapter", Also: []string{"platform"}, Text: func(r *ops.Session) string { return r.Platform }},
		{Name: "state", Text: sessionState},
		{Name: "user", Text: func(r *ops.Session) string { return r.User }},
		{Name: "caller", Text: sessionCaller},
		{Name: "title", Text: func(r *ops.Session) string { return r.Title }},
		{Name: "agent", Text: func(r *ops.Session) string { return r.Agent }},
		{Name: "model", Text: func(r *ops.Session) string { return r.Model }},
		{Name: "doing", Text: func(r *ops.Session) string { return r.Doing }},
	}
	// Agents are the fields of an agent.
	Agents = []Field[ops.Agent]{
		{Name: "session", Text: func(r *ops.Agent) string { return r.Session }},
		{Name: "state", Text: agentState},
		{Name: "model", Text: func(r *ops.Agent) string { return r.Model }},
	}
	// Processes are the fields of a process tree.
	Processes = []Field[ops.Process]{
		{Name: "pid", Text: func(r *ops.Process) string { return strconv.Itoa(r.PID) }},
		{Name: "command", Text: processCommand},
		{Name: "state", Text: func(r *ops.Process) string { return processState(r) }},
		{Name: "session", Text: func(r *ops.Process) string { return r.Session }},
		{Name: "policy", Text: func(r *ops.Process) string { return string(r.Policy) }},
		{Name: "origin", Text: func(r *ops.Process) string { return string(r.Origin) }},
		{Name: "owner", Text: func(r *ops.Process) string { return r.Owner }},
		{Name: "environment", Text: func(r *ops.Process) string { return r.Environment }},
		{Name: "output", Text: func(r *ops.Process) string { return r.LastOutput }},
	}
	// Adapters are the fields of an adapter.
	Adapters = []Field[ops.Adapter]{
		{Name: "adapter", Also: []string{"name"}, Text: func(r *ops.Adapter) string { return r.Name }},
		{Name: "state", Text: func(r *ops.Adapter) string { return adapterState(r) }},
		{Name: "error", Text: func(r *ops.Adapter) string { return r.LastError }},
	}
	// Inbox are the fields of a request of the inbox.
	Inbox = []Field[ops.InboxItem]{
		{Name: "id", Text: func(r *ops.InboxItem) string { return r.ID }},
		{Name: "kind", Text: func(r *ops.InboxItem) string { return string(r.Kind) }},
		{Name: "state", Text: func(r *ops.InboxItem) string { return string(r.State) }},
		{Name: "session", Text: func(r *ops.InboxItem) string { return r.Session }},
		{Name: "who", Text: func(r *ops.InboxItem) string { return r.Who }},
		{Name: "text", Text: func(r *ops.InboxItem) string { return r.Text }},
		{Name: "command", Text: func(r *ops.InboxItem) string { return r.Command }},
	}
	// People are the fields of a person.
	People = []Field[ops.Person]{
		{Name: "id", Text: func(r *ops.Person) string { return r.ID }},
		{Name: "platform", Text: func(r *ops.Person) string { return r.Platform }},
		{Name: "name", Text: func(r *ops.Person) string { return r.Name }},
		{Name: "role", Text: func(r *ops.Person) string { return string(r.Role) }},
		{Name: "state", Text: func(r *ops.Person) string { return string(r.State) }},
		{Name: "source", Text: func(r *ops.Person) string { return string(r.Source) }},
	}
	// Environments are the fields of what commands run in.
	Environments = []Field[ops.Environment]{
		{Name: "id", Text: func(r *ops.Environment) string { return r.ID }},
		{Name: "kind", Text: func(r *ops.Environment) string { return string(r.Kind) }},
		{Name: "name", Text: func(r *ops.Environment) string { return r.Name }},
		{Name: "session", Text: func(r *ops.Environment) string { return r.Session }},
		{Name: "state", Text: func(r *ops.Environment) string { return string(r.State) }},
		{Name: "detail", Text: func(r *ops.Environment) string { return r.Detail }},
	}
	// Servers are the fields of an MCP server.
	Servers = []Field[ops.Server]{
		{Name: "server", Also: []string{"name"}, Text: func(r *ops.Server) string { return r.Name }},
		{Name: "state", Text: func(r *ops.Server) string { return string(r.State) }},
		{Name: "scope", Text: func(r *ops.Server) string { return r.Scope }},
		{Name: "session", Text: func(r *ops.Server) string { return r.Session }},
		{Name: "error", Text: func(r *ops.Server) string { return r.LastError }},
	}
	// Jobs are the fields of a job.
	Jobs = []Field[ops.Job]{
		{Name: "job", Also: []string{"name"}, Text: func(r *ops.Job) string { return r.Name }},
		{Name: "state", Text: func(r *ops.Job) string { return string(r.State) }},
		{Name: "result", Text: func(r *ops.Job) string { return string(r.LastResult) }},
		{Name: "schedule", Text: func(r *ops.Job) string { return r.Schedule }},
		{Name: "agent", Text: func(r *ops.Job) string { return r.Agent }},
		{Name: "deliver", Text: func(r *ops.Job) string { return r.Deliver }},
		{Name: "origin", Text: func(r *ops.Job) string { return r.Origin }},
		{Name: "error", Text: func(r *ops.Job) string { return r.LastError }},
	}
	// Held are the fields of a held resource.
	Held = []Field[ops.Held]{
		{Name: "id", Also: []string{"name"}, Text: func(r *ops.Held) string { return r.ID }},
		{Name: "kind", Text: func(r *ops.Held) string { return string(r.Kind) }},
		{Name: "owner", Text: func(r *ops.Held) string { return r.Owner }},
		{Name: "session", Text: func(r *ops.Held) string { return r.Session }},
		{Name: "state", Text: func(r *ops.Held) string { return string(r.State) }},
		{Name: "detail", Text: func(r *ops.Held) string { return r.Detail }},
	}
	// Notes are the fields of a note of an agent's memory.
	Notes = []Field[ops.Note]{
		{Name: "id", Text: func(r *ops.Note) string { return r.ID }},
		{Name: "scope", Text: func(r *ops.Note) string { return r.Scope }},
		{Name: "owner", Text: func(r *ops.Note) string { return r.Owner }},
		{Name: "by", Text: func(r *ops.Note) string { return r.By }},
		{Name: "text", Text: func(r *ops.Note) string { return r.Text }},
	}
	// Rules are the fields of a rule that an approval made.
	Rules = []Field[ops.Rule]{
		{Name: "id", Text: func(r *ops.Rule) string { return r.ID }},
		{Name: "agent", Text: func(r *ops.Rule) string { return r.Agent }},
		{Name: "environment", Text: func(r *ops.Rule) string { return r.Environment }},
		{Name: "command", Text: func(r *ops.Rule) string { return r.Executable + " " + r.Subcommand }},
		{Name: "folder", Text: func(r *ops.Rule) string { return r.Folder }},
		{Name: "by", Text: func(r *ops.Rule) string { return r.By }},
	}
	// Lives are the fields of a past life.
	Lives = []Field[ops.Life]{
		{Name: "how", Also: []string{"outcome"}, Text: lifeOutcome},
		{Name: "overran", Text: lifeOverran},
		{Name: "asked", Also: []string{"by", "reason"}, Text: func(r *ops.Life) string { return r.Reason + " " + r.By }},
		{Name: "life", Text: func(r *ops.Life) string { return r.Life }},
		{Name: "version", Text: func(r *ops.Life) string { return r.Version }},
	}
	// Log are the fields of a line of the log.
	Log = []Field[ops.LogLine]{
		{Name: "level", Text: func(r *ops.LogLine) string { return r.Level }},
		{Name: "text", Text: func(r *ops.LogLine) string { return r.Text }},
		{Name: "fields", Text: logFields},
	}
	// Events are the fields of an event.
	Events = []Field[ops.Event]{
		{Name: "type", Text: func(r *ops.Event) string { return string(r.Type) }},
		{Name: "subject", Text: func(r *ops.Event) string { return r.Subject }},
		{Name: "text", Text: func(r *ops.Event) string { return r.Text }},
	}
)

func logFields(r *ops.LogLine) string {
	var b strings.Builder
	for _, f := range r.Fields {
		b.WriteString(f.Key + "=" + f.Value + " ")
	}
	return b.String()
}

func agentState(r *ops.Agent) string {
	if r.Busy && r.State == "idle" {
		return "busy"
	}
	return string(r.State)
}

func processCommand(r *ops.Process) string {
	if r.DuplicateOf == 0 {
		return r.Command
	}
	return "dup of " + strconv.Itoa(r.DuplicateOf) + ": " + r.Command
}

func sessionState(r *ops.Session) string {
	if r.State == ops.SessionWaitingApproval {
		return "waiting_approval, asks"
	}
	if r.Attention != "" {
		return string(r.State) + ", " + r.Attention
	}
	return string(r.State)
}

func processState(r *ops.Process) string {
	if r.State == ops.ProcessKillFailed {
		return "kill failed, not killed"
	}
	return string(r.State)
}

func adapterState(r *ops.Adapter) string {
	if r.State == ops.AdapterNeedsCredentials {
		return "needs_credentials, no credential"
	}
	return string(r.State)
}

func lifeOutcome(r *ops.Life) string {
	text := string(r.Outcome)
	switch {
	case r.Outcome == ops.OutcomeCutShort:
		text = "cut_short, cut short in " + r.Phase
	case r.Shutdown != nil:
		text += ", " + r.Shutdown.Outcome
	}
	return text
}

func lifeOverran(r *ops.Life) string {
	var b strings.Builder
	for _, p := range r.Overran() {
		b.WriteString(p.Name + " ")
		for _, it := range p.Items {
			b.WriteString(it.ID + " ")
		}
	}
	return b.String()
}

func sessionCaller(r *ops.Session) string {
	if r.Caller == nil {
		return ""
	}
	return r.Caller.String()
}
