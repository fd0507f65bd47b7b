package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"gatewaytui/core/config"
	"gatewaytui/core/instance"
	"gatewaytui/core/service"
)

func unitVerb(p *program) *cobra.Command {
	c := p.verb(&cobra.Command{
		Use: "unit", Short: "print or install the service definition computed from this config",
		Example: "  gatewaytui unit systemd\n  gatewaytui unit systemd --user --write",
		Args:    group, RunE: group,
	})
	c.AddCommand(
		definitionVerb(p, service.Systemd, "print the unit file for systemd, or install it",
			"  gatewaytui unit systemd --user --write\n  gatewaytui unit systemd --system > gatewaytui.service"),
		definitionVerb(p, service.Launchd, "print the property list for launchd, or install it",
			"  gatewaytui unit launchd --write"),
	)
	return c
}

func definitionVerb(p *program, kind service.Kind, short, example string) *cobra.Command {
	var forUser, system, write, force bool
	var path string
	c := p.verb(&cobra.Command{Use: string(kind), Short: short, Example: example})
	f := c.Flags()
	f.BoolVar(&forUser, "user", false, "for your own services (the default)")
	f.BoolVar(&system, "system", false, "for the machine's services")
	f.BoolVar(&write, "write", false, "install it instead of printing it")
	f.BoolVar(&force, "force", false, "with --write: overwrite an edited file, keeping a .old copy")
	configFlag(f, &path)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case forUser && system:
			return wrongUsage("give one of them", "--user and --system exclude each other")
		case force && !write:
			return wrongUsage("add --write", "--force is about a file that --write would replace")
		}
		path, note := p.configPath(cmd.Context(), path)
		loaded, err := config.Load(config.Options{Path: path})
		if err != nil {
			return err
		}
		home, err := instance.Resolve(p.home, p.getenv)
		if err != nil {
			return err
		}
		d, err := service.Define(kind, system, loaded, home, p.getenv)
		if err != nil {
			return err
		}
		if note != "" {
			p.note("note: %s", note)
		}
		return p.deliver(d, write, force)
	}
	return c
}

// deliver prints the definition, or puts it in place and says what comes next.
func (p *program) deliver(d service.Definition, write, force bool) error {
	if write {
		var err error
		if d.Written, err = d.Install(force); err != nil {
			return err
		}
	}
	switch {
	case p.asJSON():
		p.writeJSON(p.out, d)
	case !write:
		fmt.Fprint(p.out, d.Text)
	case d.Written:
		p.say("written     %s", d.Path)
	default:
		p.say("unchanged   %s is as this config asks", d.Path)
	}
	if d.Warning != "" && !p.asJSON() {
		p.note("gatewaytui: %s", d.Warning)
	}
	if write && !p.asJSON() {
		for _, command := range d.Next {
			p.say("next        %s", command)
		}
	}
	return nil
}
