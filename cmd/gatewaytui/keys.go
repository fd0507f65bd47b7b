package main

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"gatewaytui/tui"
)

// keysTopic is the help on the console's keys, made of the one table that the console itself goes by.
func keysTopic() *cobra.Command {
	c := &cobra.Command{Use: "keys", Short: "the console's keys"}
	c.SetHelpFunc(func(c *cobra.Command, _ []string) {
		printTable(c.OutOrStdout(), []column[tui.Key]{
			{"KEY", func(k tui.Key) string { return strings.Join(k.Keys, " ") }},
			{"COMMAND", func(k tui.Key) string { return ":" + k.Action }},
			{"VIEWS", func(k tui.Key) string { return cmp.Or(strings.Join(k.Views, " "), "all") }},
			{"ASKS", func(k tui.Key) string { return k.Confirm }},
			{"ON THE COMMAND LINE", func(k tui.Key) string { return k.Command }},
			{"WHAT IT DOES", func(k tui.Key) string { return k.Help }},
		}, tui.Keys())
	})
	return c
}
