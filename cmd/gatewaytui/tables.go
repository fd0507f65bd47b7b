package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gatewaytui/core/control"
	"gatewaytui/core/filter"
	"gatewaytui/core/ops"
	"gatewaytui/core/remote"
	"gatewaytui/core/shutdown"
	"gatewaytui/tui"
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
	// down answers without a gateway, given the error that says so, and names on stderr what it has not from a gateway. It
	// returns the error where it has no answer; nil never has.
	down func(err error, q ops.Query) (ops.Page[T], error)
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
				page, err = l.down(err, q)
			}
			if err != nil {
				return err
			}
			if p.asJSON() {
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

// filterValues bounds how many values of a column are offered.
const filterValues = 50

// completeFilter completes --filter of a list: the columns that a filter can name, and then the values that rows have.
func completeFilter[T any](p *program, c *cobra.Command, l listing[T]) {
	complete := func(c *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		name, _, named := strings.Cut(begun, ":")
		var offers []cobra.Completion
		if !named {
			for _, key := range filter.Names(l.fields) {
				if strings.HasPrefix(key, begun) {
					offers = append(offers, key+":")
				}
			}
			return offers, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
		at := slices.IndexFunc(l.fields, func(f filter.Field[T]) bool { return f.Name == name || slices.Contains(f.Also, name) })
		if at < 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		p.askGateway(c, func(ctx context.Context, g *control.Client) {
			ask := func(ctx context.Context, q ops.Query) (ops.Page[T], error) { return l.ask(g, ctx, q) }
			for _, row := range rows(ctx, ask) {
				value := name + ":" + l.fields[at].Text(&row)
				if strings.HasPrefix(value, begun) && typable(value) && len(offers) < filterValues && !slices.Contains(offers, value) {
					offers = append(offers, value)
				}
			}
		})
		return offers, cobra.ShellCompDirectiveNoFileComp
	}
	_ = c.RegisterFlagCompletionFunc("filter", complete) // the flag is c's, defined by its caller
}

// listVerbs are the verbs that list what the gateway has now.
func listVerbs(p *program) []*cobra.Command {
	return []*cobra.Command{
		listing[ops.Session]{
			use: "sessions", short: "list the sessions: what needs attention, then running ones, then idle ones by last activity",
			example: "  gatewaytui sessions --filter telegram\n  gatewaytui sessions --filter state:running",
			ask:     (*control.Client).Sessions, fields: filter.Sessions, columns: lines.Sessions,
		}.verb(p),
		listing[ops.Agent]{
			use: "agents", short: "list the agents, running and cached", example: "  gatewaytui agents --json",
			ask: (*control.Client).Agents, fields: filter.Agents, columns: lines.Agents,
		}.verb(p),
		listing[ops.Process]{
			use: "processes", alias: "ps", short: "list the process trees that tools started",
			example: "  gatewaytui processes\n  gatewaytui ps --filter sleep",
			ask:     (*control.Client).Processes, fields: filter.Processes, columns: lines.Processes,
		}.verb(p),
		listing[ops.Adapter]{
			use: "adapters", short: "list the chat platforms and their connections", example: "  gatewaytui adapters",
			ask: (*control.Client).Adapters, fields: filter.Adapters, columns: lines.Adapters,
		}.verb(p),
		listing[ops.Environment]{
			use: "environments", short: "list what the commands of sessions run in", example: "  gatewaytui environments\n  gatewaytui environments --filter state:failed",
			ask: (*control.Client).Environments, fields: filter.Environments, columns: lines.Environments,
		}.verb(p),
		inboxVerb(p),
		usageVerb(p),
		budgetsVerb(p),
	}
}

func planVerb(p *program) *cobra.Command {
	var assume []string
	c := p.verb(&cobra.Command{
		Use: "plan", Short: "show the shutdown as it would run now: phases, worst case, and whether it fits the service manager's limit",
		Example: "  gatewaytui plan\n  gatewaytui plan --if drain=60s --if hang=telegram --if processes=100\n  gatewaytui plan --json | jq .worst_case_ms",
		RunE: showing(p, func(g *remote.Gateway, ctx context.Context) (ops.Plan, error) {
			return g.Plan(ctx, assume...)
		}, lines.Printer.Plan),
	})
	c.Flags().StringArrayVar(&assume, "if", nil, "assume what `CASE` says, and again for more: "+shutdown.Assumptions)
	p.tableFlag(c)
	return c
}

// showing makes the body of a verb that asks the gateway one thing and shows it.
func showing[T any](p *program, ask func(*remote.Gateway, context.Context) (T, error), show func(lines.Printer, T)) func(*cobra.Command, []string) error {
	return p.asking(func(ctx context.Context, g *remote.Gateway, _ []string) error {
		answer, err := ask(g, ctx)
		if err == nil {
			p.show(answer, func() { show(p.lines(), answer) })
		}
		return err
	})
}

func historyVerb(p *program) *cobra.Command {
	var shutdowns bool
	c := listing[ops.Life]{
		use: "history", short: "list the past lives, newest first, and how each ended",
		example: "  gatewaytui history\n  gatewaytui history --shutdowns --limit 1\n  gatewaytui history --filter crashed",
		ask:     (*control.Client).History, fields: filter.Lives,
		columns: lines.Lives,
		down: func(err error, q ops.Query) (ops.Page[ops.Life], error) {
			past, ok := p.past(err)
			if !ok {
				return ops.Page[ops.Life]{}, err
			}
			page, err := past.Page(q)
			if !p.asJSON() {
				p.note("no gateway runs here; this is read from the home's files")
			}
			for _, t := range past.Problems() {
				p.note("warning: %s", t)
			}
			return page, err
		},
		show: func(lives []ops.Life) bool {
			if shutdowns {
				p.lines().Shutdowns(lives)
			}
			return shutdowns
		},
	}.verb(p)
	c.Flags().BoolVar(&shutdowns, "shutdowns", false, "show each life's shutdown with its phases and what overran")
	return c
}

// keysTopic is the help on the console's keys, made of the one table that the console itself goes by.
func keysTopic(p *program) *cobra.Command {
	c := &cobra.Command{Use: "keys", Short: "the console's keys"}
	p.tableFlag(c)
	c.SetHelpFunc(func(c *cobra.Command, _ []string) {
		shown := p.lines()
		shown.Out = c.OutOrStdout()
		shown.Hidden(lines.Table(shown, []lines.Column[tui.Key]{
			{Head: "KEY", Cell: func(k tui.Key) string { return strings.Join(k.Keys, " ") }, Rank: 0},
			{Head: "COMMAND", Cell: func(k tui.Key) string { return ":" + k.Action }, Rank: 2},
			{Head: "VIEWS", Cell: func(k tui.Key) string { return cmp.Or(strings.Join(k.Views, " "), "all") }, Rank: 4},
			{Head: "ASKS", Cell: func(k tui.Key) string { return k.Confirm }, Rank: 3},
			{Head: "ON THE COMMAND LINE", Cell: func(k tui.Key) string { return k.Command }, Rank: 5},
			{Head: "WHAT IT DOES", Cell: func(k tui.Key) string { return k.Help }, Rank: 1},
		}, tui.Keys()))
	})
	return c
}
