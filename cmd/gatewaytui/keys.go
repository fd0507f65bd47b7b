package main

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"gatewaytui/tui"
	"gatewaytui/views/lines"
)

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
