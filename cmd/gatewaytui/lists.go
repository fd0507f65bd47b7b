package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"gatewaytui/core/control"
	"gatewaytui/core/ops"
)

// listing is a verb that prints a table of rows.
type listing[T any] struct {
	use, alias, short, example string
	ask                        func(*control.Client, context.Context, ops.Query) (ops.Page[T], error)
	columns                    []column[T]
	// show prints rows in another form than the table's, if it was asked for one; nil never does.
	show func([]T) bool
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
		RunE: p.asking(func(ctx context.Context, g *remote, _ []string) error {
			page, err := l.ask(g.Client, ctx, q)
			if err != nil {
				return err
			}
			if p.json {
				p.writeJSON(p.out, page)
				return nil
			}
			if l.show == nil || !l.show(page.Items) {
				printTable(p.out, l.columns, page.Items)
			}
			if page.Next != "" {
				fmt.Fprintf(p.err, "there are more: --cursor %q\n", page.Next)
			}
			return nil
		}),
	})
	if l.alias != "" {
		c.Aliases = []string{l.alias}
	}
	c.Flags().IntVar(&q.Limit, "limit", 0, fmt.Sprintf("at most `N` rows (default %d)", ops.DefaultLimit))
	c.Flags().StringVar(&q.Cursor, "cursor", "", "go on behind the page that ended with `CURSOR`")
	c.Flags().StringVar(&q.Filter, "filter", "", "only rows that contain `TEXT`")
	return c
}

func sessionsVerb(p *program) *cobra.Command {
	return listing[ops.Session]{
		use: "sessions", short: "list the sessions, running ones first", example: "  gatewaytui sessions --filter telegram",
		ask: (*control.Client).Sessions,
		columns: []column[ops.Session]{
			{"KEY", func(r ops.Session) string { return r.Key }},
			{"STATE", func(r ops.Session) string { return words(r.State) }},
			{"USER", func(r ops.Session) string { return r.User }},
			{"TURN", func(r ops.Session) string { return ago(r.TurnStartedAt) }},
			{"DOING", func(r ops.Session) string { return r.Doing }},
			{"LAST", func(r ops.Session) string { return ago(r.LastActivityAt) }},
			{"QUEUED", func(r ops.Session) string { return strconv.Itoa(r.Queued) }},
			{"TOKENS", func(r ops.Session) string { return fmt.Sprintf("%d/%d", r.TokensIn, r.TokensOut) }},
			{"PROCS", func(r ops.Session) string { return strconv.Itoa(r.Processes) }},
			{"CACHED", func(r ops.Session) string { return yes(r.Cached) }},
		},
	}.verb(p)
}

func agentsVerb(p *program) *cobra.Command {
	return listing[ops.Agent]{
		use: "agents", short: "list the agents, running and cached", example: "  gatewaytui agents --json",
		ask: (*control.Client).Agents,
		columns: []column[ops.Agent]{
			{"SESSION", func(r ops.Agent) string { return r.Session }},
			{"MODEL", func(r ops.Agent) string { return r.Model }},
			{"STATE", func(r ops.Agent) string { return words(r.State) }},
			{"SIZE", func(r ops.Agent) string { return size(r.Bytes) }},
			{"MESSAGES", func(r ops.Agent) string { return strconv.Itoa(r.Messages) }},
			{"IDLE", func(r ops.Agent) string { return millis(r.IdleMS) }},
			{"BUSY", func(r ops.Agent) string { return yes(r.Busy) }},
			{"CHILDREN", func(r ops.Agent) string { return strconv.Itoa(r.Children) }},
		},
	}.verb(p)
}

func processesVerb(p *program) *cobra.Command {
	return listing[ops.Process]{
		use: "processes", alias: "ps", short: "list the process trees that tools started", example: "  gatewaytui processes\n  gatewaytui ps --filter sleep",
		ask: (*control.Client).Processes,
		columns: []column[ops.Process]{
			{"PID", func(r ops.Process) string { return strconv.Itoa(r.PID) }},
			{"STATE", func(r ops.Process) string { return words(r.State) }},
			{"AGE", func(r ops.Process) string { return millis(r.AgeMS) }},
			{"CPU%", func(r ops.Process) string { return fmt.Sprintf("%.1f", r.CPUPct) }},
			{"MEMORY", func(r ops.Process) string { return size(r.RSSBytes) }},
			{"TREE", func(r ops.Process) string { return strconv.Itoa(r.TreeSize) }},
			{"ENDS WITH", func(r ops.Process) string { return r.Policy }},
			{"SESSION", func(r ops.Process) string { return r.Session }},
			{"COMMAND", func(r ops.Process) string { return r.Command }},
			{"DUPLICATE OF", duplicateOf},
			{"LAST OUTPUT", func(r ops.Process) string { return r.LastOutput }},
		},
	}.verb(p)
}

// duplicateOf names the process that does the same work already, if there is one.
func duplicateOf(r ops.Process) string {
	if r.DuplicateOf == 0 {
		return "-"
	}
	return strconv.Itoa(r.DuplicateOf)
}

var adapterColumns = []column[ops.Adapter]{
	{"NAME", func(r ops.Adapter) string { return r.Name }},
	{"STATE", func(r ops.Adapter) string { return words(r.State) }},
	{"FOR", func(r ops.Adapter) string { return ago(r.Since) }},
	{"LAST HEARD", func(r ops.Adapter) string { return ago(r.LastInboundAt) }},
	{"ATTEMPT", func(r ops.Adapter) string { return strconv.Itoa(r.Attempt) }},
	{"NEXT", func(r ops.Adapter) string { return until(r.NextAttemptAt) }},
	{"QUEUE", func(r ops.Adapter) string { return strconv.Itoa(r.Queue) }},
	{"LAST ERROR", func(r ops.Adapter) string { return r.LastError }},
}

func adaptersVerb(p *program) *cobra.Command {
	return listing[ops.Adapter]{
		use: "adapters", short: "list the chat platforms and their connections", example: "  gatewaytui adapters",
		ask: (*control.Client).Adapters, columns: adapterColumns,
	}.verb(p)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func size(bytes int64) string { return humanize.IBytes(uint64(max(bytes, 0))) }
