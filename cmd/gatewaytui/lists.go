package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"gatewaytui/core/control"
	"gatewaytui/core/filter"
	"gatewaytui/core/ops"
	"gatewaytui/core/remote"
)

// listing is a verb that prints a table of rows.
type listing[T any] struct {
	use, alias, short, example string
	ask                        func(*control.Client, context.Context, ops.Query) (ops.Page[T], error)
	columns                    []column[T]
	fields                     []filter.Field[T] // what --filter can name
	// show prints rows in another form than the table's, if it was asked for one; nil never does.
	show func([]T) bool
	// down answers without a gateway, given the error that says so, and names on stderr what it has not from a gateway; nil,
	// and a false answer, leave the error as it is.
	down func(err error, q ops.Query) (page ops.Page[T], answered bool, _ error)
}

func (l listing[T]) verb(p *program) *cobra.Command {
	var q ops.Query
	c := p.verb(&cobra.Command{
		Use: l.use, Short: l.short, Example: l.example,
		PreRunE: func(*cobra.Command, []string) error {
			if q.Limit < 0 {
				return wrongUsage("give a number from 1", "--limit is %d", q.Limit)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var page ops.Page[T]
			err := p.asking(func(ctx context.Context, g *remote.Gateway, _ []string) (err error) {
				page, err = whole(ctx, q, func(ctx context.Context, q ops.Query) (ops.Page[T], error) { return l.ask(g.Client, ctx, q) })
				return err
			})(cmd, args)
			if err != nil && l.down != nil {
				var answered bool
				var downErr error
				if page, answered, downErr = l.down(err, q); answered {
					err = downErr
				}
			}
			if err != nil {
				return err
			}
			if p.json {
				p.writeJSON(p.out, page)
				return nil
			}
			if l.show == nil || !l.show(page.Items) {
				p.hidden(table(p, p.out, l.columns, page.Items))
			}
			if page.Next != "" {
				fmt.Fprintf(p.err, "there are more: --cursor %q\n", page.Next)
			}
			return nil
		},
	})
	p.tableFlag(c)
	if l.alias != "" {
		c.Aliases = []string{l.alias}
	}
	c.Flags().IntVar(&q.Limit, "limit", 0, fmt.Sprintf("at most `N` rows (default %d)", ops.DefaultLimit))
	c.Flags().StringVar(&q.Cursor, "cursor", "", "continue after the page that returned `CURSOR`")
	c.Flags().StringVar(&q.Filter, "filter", "", fmt.Sprintf("only rows that match `FILTER`: %s; the keys are %s", filter.Summary, strings.Join(filter.Names(l.fields), ", ")))
	completeFilter(p, c, l)
	return c
}

// whole asks for a page and, where the gateway ended it before its limit because a filter had looked at enough rows, for
// the next page, until the page is full or the list ends.
func whole[T any](ctx context.Context, q ops.Query, ask func(context.Context, ops.Query) (ops.Page[T], error)) (ops.Page[T], error) {
	page, err := ask(ctx, q)
	limit := q.Limit
	if limit <= 0 {
		limit = ops.DefaultLimit
	}
	for err == nil && page.Scanned > 0 && page.Next != "" && len(page.Items) < min(limit, ops.MaxLimit) {
		rows := page.Items
		q.Cursor, q.Limit = page.Next, min(limit, ops.MaxLimit)-len(rows)
		page, err = ask(ctx, q)
		page.Items = append(rows, page.Items...)
	}
	page.Scanned = 0
	return page, err
}

// doing is what the session's turn does now, in the words of the console; empty if no turn runs.
func doing(s ops.Session) string {
	if s.Doing == "" {
		return ""
	}
	return ops.StepWords(s.Doing)
}

func sessionsVerb(p *program) *cobra.Command {
	return listing[ops.Session]{
		use: "sessions", short: "list the sessions: what needs attention, then running ones, then idle ones by last activity",
		example: "  gatewaytui sessions --filter telegram\n  gatewaytui sessions --filter state:running",
		ask:     (*control.Client).Sessions, fields: filter.Sessions,
		columns: []column[ops.Session]{
			{"KEY", func(r ops.Session) string { return r.Key }, 0},
			{"STATE", func(r ops.Session) string { return words(r.State) }, 1},
			{"USER", func(r ops.Session) string { return r.User }, 6},
			{"TURN", func(r ops.Session) string { return ago(r.TurnStartedAt) }, 3},
			{"DOING", func(r ops.Session) string { return r.Activity(time.Now()) }, 2},
			{"LAST", func(r ops.Session) string { return ago(r.LastActivityAt) }, 4},
			{"QUEUED", func(r ops.Session) string { return strconv.Itoa(r.Queued) }, 5},
			{"TOKENS", func(r ops.Session) string { return fmt.Sprintf("%d/%d", r.TokensIn, r.TokensOut) }, 8},
			{"PROCS", func(r ops.Session) string { return strconv.Itoa(r.Processes) }, 7},
			{"CACHED", func(r ops.Session) string { return yes(r.Cached) }, 9},
			{"CALLER", func(r ops.Session) string { return callerOf(r) }, 10},
		},
	}.verb(p)
}

// callerOf is who sent the session's last message over the API.
func callerOf(r ops.Session) string {
	if r.Caller == nil {
		return "-"
	}
	return r.Caller.String()
}

func agentsVerb(p *program) *cobra.Command {
	return listing[ops.Agent]{
		use: "agents", short: "list the agents, running and cached", example: "  gatewaytui agents --json",
		ask: (*control.Client).Agents, fields: filter.Agents,
		columns: []column[ops.Agent]{
			{"SESSION", func(r ops.Agent) string { return r.Session }, 0},
			{"MODEL", func(r ops.Agent) string { return r.Model }, 3},
			{"STATE", func(r ops.Agent) string { return words(r.State) }, 1},
			{"SIZE", func(r ops.Agent) string { return size(r.Bytes) }, 4},
			{"MESSAGES", func(r ops.Agent) string { return strconv.Itoa(r.Messages) }, 5},
			{"IDLE", func(r ops.Agent) string { return millis(r.IdleMS) }, 2},
			{"BUSY", func(r ops.Agent) string { return yes(r.Busy) }, 7},
			{"CHILDREN", func(r ops.Agent) string { return strconv.Itoa(r.Children) }, 6},
		},
	}.verb(p)
}

func processesVerb(p *program) *cobra.Command {
	return listing[ops.Process]{
		use: "processes", alias: "ps", short: "list the process trees that tools started", example: "  gatewaytui processes\n  gatewaytui ps --filter sleep",
		ask: (*control.Client).Processes, fields: filter.Processes,
		columns: []column[ops.Process]{
			{"PID", func(r ops.Process) string { return strconv.Itoa(r.PID) }, 0},
			{"STATE", processState, 2},
			{"AGE", func(r ops.Process) string { return millis(r.AgeMS) }, 3},
			{"CPU%", func(r ops.Process) string { return fmt.Sprintf("%.1f", r.CPUPct) }, 5},
			{"MEMORY", func(r ops.Process) string { return size(r.RSSBytes) }, 4},
			{"TREE", func(r ops.Process) string { return strconv.Itoa(r.TreeSize) }, 7},
			{"ENDS WITH", func(r ops.Process) string { return string(r.Policy) }, 8},
			{"SESSION", func(r ops.Process) string { return r.Session }, 6},
			{"COMMAND", func(r ops.Process) string { return r.Command }, 1},
			{"DUPLICATE OF", duplicateOf, 9},
			{"LAST OUTPUT", func(r ops.Process) string { return r.LastOutput }, 10},
		},
	}.verb(p)
}

// processState is the state of a tree in words. One whose leader has exited while its children live is not over.
func processState(r ops.Process) string {
	if r.State == ops.ProcessExited {
		return fmt.Sprintf("leader exited, %d left", r.TreeSize)
	}
	return words(r.State)
}

// duplicateOf names the process that does the same work already, if there is one.
func duplicateOf(r ops.Process) string {
	if r.DuplicateOf == 0 {
		return "-"
	}
	return strconv.Itoa(r.DuplicateOf)
}

var adapterColumns = []column[ops.Adapter]{
	{"NAME", func(r ops.Adapter) string { return r.Name }, 0},
	{"STATE", func(r ops.Adapter) string { return words(r.State) }, 1},
	{"FOR", func(r ops.Adapter) string { return ago(r.Since) }, 4},
	{"LAST HEARD", func(r ops.Adapter) string { return cmp.Or(ago(r.LastInboundAt), "never") }, 3},
	{"ATTEMPT", func(r ops.Adapter) string { return strconv.Itoa(r.Attempt) }, 6},
	{"NEXT", func(r ops.Adapter) string { return until(r.NextAttemptAt) }, 5},
	{"QUEUE", func(r ops.Adapter) string { return strconv.Itoa(r.Queue) }, 7},
	{"LAST ERROR", func(r ops.Adapter) string { return r.LastError }, 2},
}

func adaptersVerb(p *program) *cobra.Command {
	return listing[ops.Adapter]{
		use: "adapters", short: "list the chat platforms and their connections", example: "  gatewaytui adapters",
		ask: (*control.Client).Adapters, fields: filter.Adapters, columns: adapterColumns,
	}.verb(p)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func size(bytes int64) string { return humanize.IBytes(uint64(max(bytes, 0))) }
