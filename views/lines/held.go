package lines

import (
	"cmp"
	"strconv"
	"strings"

	"gatewaytui/core/ops"
	"gatewaytui/core/text"
)

// Servers are the columns of the MCP servers.
var Servers = []Column[ops.Server]{
	{"NAME", func(r ops.Server) string { return r.Name }, 0},
	{"STATE", func(r ops.Server) string { return text.Words(r.State) }, 1},
	{"FOR", func(r ops.Server) string { return text.Ago(r.Since.Time) }, 4},
	{"SCOPE", func(r ops.Server) string { return r.Scope }, 6},
	{"SESSION", func(r ops.Server) string { return r.Session }, 3},
	{"PID", func(r ops.Server) string { return strings.TrimPrefix(strconv.Itoa(r.PID), "0") }, 7},
	{"TOOLS", func(r ops.Server) string { return strconv.Itoa(r.Tools) }, 5},
	{"CALLS", func(r ops.Server) string { return strconv.FormatInt(r.Calls, 10) }, 8},
	{"VIA", func(r ops.Server) string { return r.Transport }, 9},
	{"LAST ERROR", func(r ops.Server) string { return r.LastError }, 2},
}

// Jobs are the columns of the jobs.
var Jobs = []Column[ops.Job]{
	{"NAME", func(r ops.Job) string { return r.Name }, 0},
	{"STATE", func(r ops.Job) string { return text.Words(r.State) }, 1},
	{"NEXT", func(r ops.Job) string { return JobNext(r) }, 2},
	{"SCHEDULE", func(r ops.Job) string { return r.Schedule }, 4},
	{"ZONE", func(r ops.Job) string { return r.Zone }, 9},
	{"LAST", func(r ops.Job) string { return text.Moment(r.LastAt.Time) }, 6},
	{"RESULT", func(r ops.Job) string { return text.Words(r.LastResult) }, 3},
	{"AGENT", func(r ops.Job) string { return r.Agent }, 8},
	{"TO", func(r ops.Job) string { return r.Deliver }, 7},
	{"FROM", func(r ops.Job) string { return r.Origin }, 10},
	{"WHY", func(r ops.Job) string { return r.LastError }, 5},
}

// JobNext is in how much time the job runs next; empty: it does not.
func JobNext(r ops.Job) string {
	if r.State == ops.JobPaused {
		return ""
	}
	if in := text.Until(r.NextAt.Time); in != "" {
		return "in " + in
	}
	if !r.NextAt.IsZero() {
		return "due"
	}
	return ""
}

// Held are the columns of what sessions and the gateway hold.
var Held = []Column[ops.Held]{
	{"KIND", func(r ops.Held) string { return text.Words(r.Kind) }, 1},
	{"ID", func(r ops.Held) string { return r.ID }, 0},
	{"STATE", func(r ops.Held) string { return text.Words(r.State) }, 1},
	{"FOR", func(r ops.Held) string { return text.Ago(r.Since.Time) }, 4},
	{"SESSION", func(r ops.Held) string { return cmp.Or(r.Session, "the gateway's") }, 2},
	{"OWNER", func(r ops.Held) string { return r.Owner }, 5},
	{"DETAIL", func(r ops.Held) string { return r.Detail }, 3},
}

// Notes are the columns of the memory of agents.
var Notes = []Column[ops.Note]{
	{"ID", func(r ops.Note) string { return r.ID }, 0},
	{"SCOPE", func(r ops.Note) string { return r.Scope }, 3},
	{"OWNER", func(r ops.Note) string { return r.Owner }, 2},
	{"SINCE", func(r ops.Note) string { return text.Moment(r.At.Time) }, 4},
	{"BY", func(r ops.Note) string { return r.By }, 5},
	{"TEXT", func(r ops.Note) string {
		if r.Withheld {
			return "(not shown: console.texts)"
		}
		return r.Text
	}, 1},
}
