package setup

import (
	"context"
	"slices"

	"gatewaytui/core/config"
)

// running are the tools that run commands.
var running = []string{"terminal", "process"}

// askCommands asks where the commands of the model run.
func (s *setup) askCommands(ctx context.Context) error {
	c := s.now.Config
	table := []string{"agent"}
	if config.Lookup(s.text, "agents", config.DefaultName) != nil {
		table = []string{"agents", config.DefaultName}
	}
	auto := "in a sandbox: they write in the work folder, have no network, and nothing is asked"
	if why := s.Checks.Sandbox(ctx); why != nil {
		auto = "fenced to the work folder; what is not known as harmless is asked. A sandbox would ask nothing, and does not work here: " + shown(why.Error())
	}
	choices := []string{
		auto,
		"on this machine as it is; what is not known as harmless is asked",
		"nowhere: it can talk and work with files, and runs no commands",
	}
	can := slices.ContainsFunc(running, func(tool string) bool { return slices.Contains(c.Tools.Enabled, tool) })
	standard := 0
	switch e := c.Agent.Environment; {
	case !can:
		standard = 2
	case e == config.EnvironmentLocal:
		standard = 1
	case e != config.EnvironmentAuto:
		choices = append(choices, "in the environment "+shown(e)+", as it is now")
		standard = 3
	}
	choice, err := s.choose(ctx, choices, standard)
	if err != nil {
		return err
	}
	if choice == standard {
		return nil // as it is
	}
	if choice < 2 {
		s.set([]string{config.EnvironmentAuto, config.EnvironmentLocal}[choice], append(table, "environment")...)
	}
	if choice == 2 {
		s.set(slices.DeleteFunc(slices.Clone(c.Tools.Enabled), func(tool string) bool { return slices.Contains(running, tool) }), "tools", "enabled")
	} else if !can {
		s.set(slices.Concat(running, c.Tools.Enabled), "tools", "enabled")
	}
	return nil
}
