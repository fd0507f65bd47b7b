package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gatewaytui/core/control"
	"gatewaytui/core/filter"
	"gatewaytui/core/ops"
	"gatewaytui/core/remote"
	"gatewaytui/views/lines"
)

// listing is a verb that prints a table of rows.
type listing[T any] struct {
	use, alias, short, example string
	ask                        func(*control.Client, context.Context, ops.Query) (ops.Page[T], error)
	columns                    []lines.Column[T]
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
				page, err = ops.Fill(ctx, q, func(ctx context.Context, q ops.Query) (ops.Page[T], error) { return l.ask(g.Client, ctx, q) })
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
				p.lines().Hidden(lines.Table(p.lines(), l.columns, page.Items))
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

func sessionsVerb(p *program) *cobra.Command {
	return listing[ops.Session]{
		use: "sessions", short: "list the sessions: what needs attention, then running ones, then idle ones by last activity",
		example: "  gatewaytui sessions --filter telegram\n  gatewaytui sessions --filter state:running",
		ask:     (*control.Client).Sessions, fields: filter.Sessions,
		columns: lines.Sessions,
	}.verb(p)
}

func agentsVerb(p *program) *cobra.Command {
	return listing[ops.Agent]{
		use: "agents", short: "list the agents, running and cached", example: "  gatewaytui agents --json",
		ask: (*control.Client).Agents, fields: filter.Agents,
		columns: lines.Agents,
	}.verb(p)
}

func processesVerb(p *program) *cobra.Command {
	return listing[ops.Process]{
		use: "processes", alias: "ps", short: "list the process trees that tools started", example: "  gatewaytui processes\n  gatewaytui ps --filter sleep",
		ask: (*control.Client).Processes, fields: filter.Processes,
		columns: lines.Processes,
	}.verb(p)
}

func adaptersVerb(p *program) *cobra.Command {
	return listing[ops.Adapter]{
		use: "adapters", short: "list the chat platforms and their connections", example: "  gatewaytui adapters",
		ask: (*control.Client).Adapters, fields: filter.Adapters, columns: lines.Adapters,
	}.verb(p)
}
