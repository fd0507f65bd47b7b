// Command gatewaytui runs a gateway for AI agents, shows it and steers it.
//
// Without a verb it is the gateway; with one it asks the gateway that runs on this home over its control socket. What it
// prints for people is safe for a terminal, also where it comes from a chat, a model or a process; with --json it is what the
// socket answers, and every exit code is one of CONTRACT.md, 1.
package main

import (
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"

	platforms "gatewaytui/core/adapter/demo"
	"gatewaytui/core/host"
	"gatewaytui/core/process"
	"gatewaytui/tui"
)

func main() {
	// A tool's own command stays readable: its gateway tells by its environment which session asks. It was started without
	// the gateway's secrets, and what it starts itself with run is protected there.
	if _, tool := os.LookupEnv(process.EnvLife); !tool {
		_ = process.Protect() // run does it once more, and says what failed
	}
	p := &program{
		began: process.Began(),
		in:    os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.Getenv,
		asks:     tui.IsTerminal(os.Stdin) && tui.IsTerminal(os.Stderr),
		armAfter: armAfter,
		columns:  terminalColumns(os.Stdout, os.Getenv),
	}
	os.Exit(p.execute(context.Background(), os.Args[1:]))
}

// execute runs the command line and returns the exit code.
func (p *program) execute(ctx context.Context, args []string) int {
	root := newRoot(p)
	root.SetArgs(args)
	return p.report(root.ExecuteContext(ctx))
}

// The groups under which the help lists the verbs.
const (
	groupLook  = "look"
	groupSteer = "steer"
	groupSetUp = "setup"
)

// adapterVerbs are the verbs of the group adapter that a build tag can leave out.
var adapterVerbs []func(*program) *cobra.Command

func newRoot(p *program) *cobra.Command {
	o := runOptions{Options: host.Options{LogFormat: "auto"}}
	var showVersion bool
	root := &cobra.Command{
		Use:   "gatewaytui",
		Short: "run, show and steer a gateway for AI agents",
		Long: `gatewaytui runs AI agents behind chat platforms. Without a verb it is the gateway;
each verb shows or steers the gateway that runs on the same home.`,
		Example: `  gatewaytui                       # run the gateway behind its console
  gatewaytui --no-tui              # run it alone, log lines on stderr
  gatewaytui attach                # open the console on it
  gatewaytui send "hello"          # talk to an agent
  gatewaytui status                # one screen
  gatewaytui stop --wait           # stop it and see what it waits for`,
		SilenceErrors: true, // report says them once
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && !showVersion {
				return unknownVerb(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if showVersion {
				p.say("%s", versionInfo())
				return nil
			}
			return p.run(cmd.Context(), o)
		},
	}
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().StringVar(&p.home, "home", "", "the gateway's home `DIR` (default: $GATEWAYTUI_HOME, else ~/.local/state/gatewaytui)")
	f := root.Flags()
	f.BoolVarP(&showVersion, "version", "v", false, "print version, commit and Go version") // cobra's own needs a template, for which the linker keeps every method
	f.BoolVar(&o.NoTUI, "no-tui", false, "run without the console; log lines on stderr")
	configFlag(f, &o.Config)
	f.BoolVar(&o.Replace, "replace", false, "stop the gateway that holds this home, wait for it, and take its place")
	f.BoolVar(&o.TrustClock, "trust-clock", false, "take the wall clock for right although it disagrees with the lives before")
	f.BoolVar(&o.FreshStore, "fresh-store", false, "move a damaged database to aside/ and start with an empty one")
	f.BoolVar(&o.ReadOnlyStore, "read-only-store", false, "run on a damaged database without writing to it; messages are refused")
	lockDirFlag(f, &o.LockDir)
	f.BoolVar(&o.NoResume, "no-resume", false, "do not resume work left unfinished by the previous run")
	f.BoolVar(&o.Demo, "demo", false, "play a demo: made-up platforms and people, a scripted model, a home of its own; reads no config")
	f.StringVar(&o.DemoPlatforms, "demo-platforms", "", "add made-up platforms, a `LIST` of NAME=BEHAVIOUR[:TEXT]; behaviours: "+strings.Join(platforms.Behaviours(), ", "))
	o.Console.add(f)
	f.Var(choice{&o.LogLevel, []string{"debug", "info", "warn", "error"}}, "log-level", "minimum log level (default: from the config)")
	f.Var(choice{&o.LogFormat, []string{"auto", "text", "json"}}, "log-format", "log format; auto: text on a terminal, JSON otherwise")

	root.AddGroup(
		&cobra.Group{ID: groupLook, Title: "Look:"},
		&cobra.Group{ID: groupSteer, Title: "Talk and steer:"},
		&cobra.Group{ID: groupSetUp, Title: "Set up:"},
	)
	add := func(group string, verbs ...*cobra.Command) {
		for _, v := range verbs {
			v.GroupID = group
			root.AddCommand(v)
		}
	}
	add(groupLook, attachVerb(p), statusVerb(p), transcriptVerb(p), timelineVerb(p), searchVerb(p), exportVerb(p), watchVerb(p), logsVerb(p), planVerb(p), historyVerb(p), replayVerb(p))
	add(groupLook, listVerbs(p)...)
	add(groupLook, heldVerbs(p)...)
	add(groupSteer, actionVerbs(p)...)
	for _, verb := range adapterVerbs {
		child(root, "adapter").AddCommand(verb(p))
	}
	add(groupSetUp, setupVerb(p), configVerbs(p), approvalsVerbs(p), doctorVerb(p), unitVerb(p), importVerb(p), versionVerb(p))
	root.AddCommand(keysTopic(p))
	addHelp(p, root)
	p.completeAll(root)
	return root
}

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
