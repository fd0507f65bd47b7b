package main

import (
	"github.com/spf13/cobra"
)

// addHelp adds help and completion. Both are cobra's, less its way of being content with a verb that does not exist.
func addHelp(p *program, root *cobra.Command) {
	help := &cobra.Command{
		Use: "help [VERB]", Short: "explain a verb", Example: "  gatewaytui help stop",
		DisableFlagsInUseLine: true,
		GroupID:               groupSetUp,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return verbNames(root), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			about := root
			for _, name := range args {
				next := child(about, name)
				if next == nil {
					return unknownVerb(about, name)
				}
				about = next
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
	p.tableFlag(help) // for the topics that are tables
	root.SetHelpCommand(help)
	root.SetCompletionCommandGroupID(groupSetUp)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	completion := child(root, "completion")
	completion.Args, completion.RunE = group, group
	completion.Short = "print the completion script for a shell"
	completion.Example = "  gatewaytui completion bash > /etc/bash_completion.d/gatewaytui"
	for _, shell := range completion.Commands() {
		shell.Args = arguments()
		shell.Example = "  gatewaytui completion " + shell.Name()
	}
}

// child is the sub-command of c that is called name, or nil.
func child(c *cobra.Command, name string) *cobra.Command {
	for _, sub := range c.Commands() {
		if sub.Name() == name || sub.HasAlias(name) {
			return sub
		}
	}
	return nil
}
