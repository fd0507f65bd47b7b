package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gatewaytui/core/config"
	"gatewaytui/core/fence"
	"gatewaytui/core/instance"
	"gatewaytui/core/text"
	"gatewaytui/views/lines"
)

func approvalsVerbs(p *program) *cobra.Command {
	c := p.verb(&cobra.Command{
		Use: "approvals", Short: "show the rules of approvals, and the verdict on a command of a model",
		Example: "  gatewaytui approvals rules\n  gatewaytui approvals check \"git status\"",
		Args:    group, RunE: group,
	})
	c.AddCommand(approvalsCheckVerb(p), rulesVerb(p))
	return c
}

func approvalsCheckVerb(p *program) *cobra.Command {
	var path, agent string
	environment := string(fence.Local)
	var environments []string
	for _, e := range fence.Environments() {
		environments = append(environments, string(e))
	}
	c := p.verb(&cobra.Command{
		Use: "check COMMAND", Short: "print the verdict on a command without running it: allowed, ask or never",
		Example: "  gatewaytui approvals check \"git log --oneline | head\"\n" +
			"  gatewaytui approvals check --environment sandbox \"npm install\"\n" +
			"  gatewaytui approvals check --json \"sudo rm -rf build\" | jq -r '.commands[].command'",
		Long: `Reads COMMAND as bash and judges each simple command inside: those in substitutions and functions, and
those that bash -c, sudo, env, xargs, find -exec and the like would run. The verdict is the worst one:
  allowed  it is on the list of harmless commands, or approvals.allow names it
  ask      everything else, and what cannot be read before it runs
  never    it ruins the machine or a home, betrays secrets, or approvals.never names it
A sandbox or a container holds commands by itself: there most of them are allowed.
The verdict helps the person who decides. It is not a wall: an allowed program may have been replaced.`,
		Args: arguments("COMMAND"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, note := p.configPath(cmd.Context(), path)
			loaded, err := config.Load(config.Options{Path: path})
			if err != nil {
				return err
			}
			if note != "" {
				p.note("note: %s", note)
			}
			definition, known := loaded.Config.AgentsByName()[agent]
			if !known {
				names := config.Names(loaded.Config.AgentsByName())
				hint := "the config has " + strings.Join(names, ", ")
				if near := text.Suggest(agent, names); near != "" {
					hint = "did you mean " + near + "?"
				}
				return wrongUsage(hint, "unknown agent %.64q", agent)
			}
			home, err := instance.Resolve(p.home, p.getenv)
			if err != nil {
				return err
			}
			if !slices.Contains(loaded.Config.Callable(definition), "terminal") {
				p.note("note: the agent %s runs no commands: it does not have the tool terminal", agent)
			}
			f := loaded.Fence(fence.Environment(environment), home, instance.WorkDir(home), p.getenv)
			p.showJudgement(f.Judge(args[0], f.Work))
			return nil
		},
	})
	configFlag(c.Flags(), &path)
	c.Flags().StringVar(&agent, "agent", config.DefaultName, "the agent whose command it is: its `AGENT` name in the config")
	c.Flags().Var(choice{&environment, environments}, "environment", "where the command would run")
	_ = c.RegisterFlagCompletionFunc("agent", func(cmd *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		path, _ := p.configPath(cmd.Context(), path)
		var fitting []cobra.Completion
		if loaded, err := config.Load(config.Options{Path: path}); err == nil {
			for _, name := range config.Names(loaded.Config.AgentsByName()) {
				if strings.HasPrefix(name, begun) && typable(name) {
					fitting = append(fitting, name)
				}
			}
		}
		return fitting, cobra.ShellCompDirectiveNoFileComp
	}) // the flag is c's
	p.tableFlag(c)
	return c
}

// showJudgement prints the verdict and the commands that were found.
func (p *program) showJudgement(j fence.Judgement) {
	p.show(j, func() {
		p.say("%s", string(j.Verdict))
		if len(j.Commands) == 0 {
			p.say("there is no command in it")
			return
		}
		p.say("")
		p.lines().Hidden(lines.Table(p.lines(), judgementColumns, j.Commands))
	})
}

var judgementColumns = []lines.Column[fence.Command]{
	{Head: "VERDICT", Cell: func(c fence.Command) string { return string(c.Verdict) }, Rank: 0},
	{Head: "COMMAND", Cell: func(c fence.Command) string { return c.Command }, Rank: 0},
	{Head: "WITHIN", Cell: func(c fence.Command) string { return strings.Join(c.Within, ", ") }, Rank: 2},
	{Head: "WHY", Cell: func(c fence.Command) string { return strings.Join(c.Reasons, "; ") }, Rank: 1},
}
