package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"gatewaytui/core/ops"
	"gatewaytui/core/remote"
	"gatewaytui/views/lines"
)

func searchVerb(p *program) *cobra.Command {
	var q ops.SearchQuery
	c := p.verb(&cobra.Command{
		Use: "search TEXT", Short: "find what was said, newest first: messages that have all the words",
		Example: "  gatewaytui search \"disk full\"\n  gatewaytui search 'back*' --session telegram:dm:4711\n  gatewaytui search --json invoice | jq -r '.items[].session'",
		Long: `Finds the messages of users and agents that have all the words of TEXT, newest first. Case and accents do not matter.
Words in double quotes stand in a row; four letters or more and a * stand for all words
that begin with them. Tools' results are not searched.`,
		Args: arguments("TEXT"),
		PreRunE: func(*cobra.Command, []string) error {
			if q.Limit < 0 {
				return wrongUsage("give a number from 1", "--limit is %d", q.Limit)
			}
			return nil
		},
	})
	c.RunE = p.asking(func(ctx context.Context, g *remote.Gateway, args []string) error {
		q.Text = args[0]
		found, err := g.Search(ctx, q)
		if err != nil {
			return err
		}
		p.show(found, func() {
			p.lines().Hidden(lines.Table(p.lines(), lines.Hits, found.Items))
			if found.Next != "" {
				fmt.Fprintf(p.err, "there are more: --cursor %s\n", found.Next)
			}
			if found.Unindexed > 0 {
				p.note("the index is being built: up to %d older messages are not in it yet", found.Unindexed)
			}
		})
		return nil
	})
	p.tableFlag(c)
	c.Flags().StringVar(&q.Session, "session", "", "only conversations of the session with this `KEY`")
	c.Flags().IntVar(&q.Limit, "limit", 0, fmt.Sprintf("at most `N` rows (default %d)", ops.DefaultLimit))
	c.Flags().StringVar(&q.Cursor, "cursor", "", "continue after the page that returned `CURSOR`")
	return c
}
