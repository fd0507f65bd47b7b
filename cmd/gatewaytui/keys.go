package main

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"gatewaytui/tui"
)

// keysTopic is the help on the console's keys, made of the one table that the console itself goes by.
func keysTopic(p *program) *cobra.Command {
	c := &cobra.Command{Use: "keys", Short: "the console's keys"}
	p.tableFlag(c)
	c.SetHelpFunc(func(c *cobra.Command, _ []string) {
		p.hidden(table(p, c.OutOrStdout(), []column[tui.Key]{
			{"KEY", func(k tui.Key) string { return strings.Join(k.Keys, " ") }, 0},
			{"COMMAND", func(k tui.Key) string { return ":" + k.Action }, 2},
			{"VIEWS", func(k tui.Key) string { return cmp.Or(strings.Join(k.Views, " "), "all") }, 4},
			{"ASKS", func(k tui.Key) string { return k.Confirm }, 3},
			{"ON THE COMMAND LINE", func(k tui.Key) string { return k.Command }, 5},
			{"WHAT IT DOES", func(k tui.Key) string { return k.Help }, 1},
		}, tui.Keys()))
	})
	return c
}
