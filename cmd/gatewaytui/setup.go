package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"gatewaytui/core/config"
	"gatewaytui/core/doctor"
	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
	"gatewaytui/core/remote"
	"gatewaytui/core/service"
	"gatewaytui/core/text"
	"gatewaytui/views/lines"
)

func configVerbs(p *program) *cobra.Command {
	c := p.verb(&cobra.Command{
		Use: "config", Short: "check the config, or print a commented example",
		Example: "  gatewaytui config check\n  gatewaytui config example > ~/.config/gatewaytui/config.toml",
		Args:    group, RunE: group,
	})
	c.AddCommand(configCheckVerb(p), configExampleVerb(p))
	return c
}

// configVerdict is the JSON output of `config check`. Errors has every error, in the order of the file; the embedded fault
// repeats the first one.
type configVerdict struct {
	Valid bool `json:"valid"`
	configFault
	Errors   []configFault `json:"errors"`
	Warnings []ops.Warning `json:"warnings"`
	Values   []configValue `json:"values,omitempty"`
}

// configFault is one thing that is wrong. Source is the file, empty for a variable; Line and Column say where in it.
type configFault struct {
	Source   string `json:"source"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Variable string `json:"variable,omitempty"`
	Key      string `json:"key,omitempty"`
	Nearest  string `json:"nearest,omitempty"`
	Message  string `json:"message,omitempty"`
}

type configValue struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

func configCheckVerb(p *program) *cobra.Command {
	var path string
	var values bool
	c := p.verb(&cobra.Command{
		Use: "check", Short: "check the config, and list everything that is wrong with it (exit code 78)",
		Example: "  gatewaytui config check\n  gatewaytui config check --config ./config.toml --values",
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, note := p.configPath(cmd.Context(), path)
			loaded, err := config.Load(config.Options{Path: path})
			if all, ok := errors.AsType[config.Errors](err); ok && p.asJSON() {
				v := configVerdict{Warnings: []ops.Warning{}}
				for _, e := range all {
					v.Errors = append(v.Errors, configFault{e.File, e.Line, e.Column, e.Variable, e.Key, e.Nearest, e.Error()})
				}
				v.configFault = v.Errors[0]
				p.writeJSON(p.out, v)
				return &outcome{code: ops.ExitConfig}
			}
			if err != nil {
				return err
			}
			if note != "" {
				p.note("note: %s", note)
			}
			v := configVerdict{Valid: true, configFault: configFault{Source: loaded.Source}, Errors: []configFault{}, Warnings: append([]ops.Warning{}, loaded.Warnings...)}
			if values {
				for _, value := range loaded.Values() {
					v.Values = append(v.Values, configValue{value.Key, value.Value, value.Origin.String()})
				}
			}
			if p.asJSON() {
				p.writeJSON(p.out, v)
				return nil
			}
			p.say("%s is valid", v.Source)
			for _, w := range v.Warnings {
				p.say("warning: %s", w.Message)
			}
			facts := doctor.Facts{Config: loaded.Path, UID: os.Geteuid(), Getenv: p.getenv}
			if n := len(doctor.Dangers(loaded.Config, facts)); n > 0 {
				p.say("hint: dangerous settings: %d; gatewaytui doctor says what is dangerous", n)
			}
			if values {
				p.lines().Hidden(lines.Table(p.lines(), valueColumns, v.Values))
			}
			return nil
		},
	})
	configFlag(c.Flags(), &path)
	p.tableFlag(c)
	c.Flags().BoolVar(&values, "values", false, "list every value that is in force, and where it was set")
	return c
}

var valueColumns = []lines.Column[configValue]{
	{Head: "KEY", Cell: func(r configValue) string { return r.Key }, Rank: 0},
	{Head: "VALUE", Cell: func(r configValue) string { return r.Value }, Rank: 1},
	{Head: "FROM", Cell: func(r configValue) string { return r.Origin }, Rank: 2},
}

func configExampleVerb(p *program) *cobra.Command {
	return p.verb(&cobra.Command{
		Use: "example", Short: "print a config with every key, its default and what it does",
		Example: "  gatewaytui config example > config.toml",
		RunE: func(*cobra.Command, []string) error {
			p.show(map[string]string{"example": config.Example()}, func() { fmt.Fprint(p.out, config.Example()) })
			return nil
		},
	})
}

// configPath is the config file that a verb looks at, and a note where that is not obvious. flag, its --config, decides,
// and then $GATEWAYTUI_CONFIG. Without either it is the file of the gateway that runs on the home (TF29), and without a
// gateway the default one, for which path is empty.
func (p *program) configPath(ctx context.Context, flag string) (path, note string) {
	running, ok := remote.RunningConfig(ctx, p.home, p.getenv)
	if !ok {
		return flag, ""
	}
	return remote.AgreeConfig(flag, p.getenv, running)
}

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

func doctorVerb(p *program) *cobra.Command {
	var path string
	c := p.verb(&cobra.Command{
		Use: "doctor", Short: "check config, home, store, adapters and service definition, and suggest fixes",
		Example: "  gatewaytui doctor\n  gatewaytui doctor --json | jq '.checks[] | select(.verdict != \"ok\")'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.showCheckup(doctor.Run(cmd.Context(), doctor.Options{Home: p.home, Config: path, Getenv: p.getenv, Version: versionInfo().Version}))
		},
	})
	configFlag(c.Flags(), &path)
	return c
}

// showCheckup prints the findings; a failure among them is exit code 1.
func (p *program) showCheckup(findings []doctor.Result) error {
	count := map[doctor.Verdict]int{}
	for _, f := range findings {
		count[f.Verdict]++
	}
	if p.asJSON() {
		p.writeJSON(p.out, struct {
			OK       bool            `json:"ok"`
			Warnings int             `json:"warnings"`
			Failures int             `json:"failures"`
			Checks   []doctor.Result `json:"checks"`
		}{count[doctor.Fail] == 0, count[doctor.Warn], count[doctor.Fail], findings})
	} else {
		for _, f := range findings {
			p.say("%-5s %-12s %s", string(f.Verdict), f.Check, f.Detail)
			if f.Fix != "" {
				p.say("                   fix: %s", f.Fix)
			}
		}
		p.say("%d ok, %s, %s", count[doctor.OK], text.Count(count[doctor.Warn], "warning"), text.Count(count[doctor.Fail], "failure"))
	}
	if count[doctor.Fail] > 0 {
		return &outcome{code: exitFailed}
	}
	return nil
}

// Set by the linker: -X main.version=1.2.3 -X main.commit=abc.
var (
	version string
	commit  string
)

// buildInfo says which build this is.
type buildInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
}

// versionInfo is what the linker set, else what the Go command recorded, else "devel" and "unknown".
func versionInfo() buildInfo {
	v := buildInfo{Version: version, Commit: commit, Go: runtime.Version()}
	if b, ok := debug.ReadBuildInfo(); ok {
		if v.Version == "" && b.Main.Version != "(devel)" {
			v.Version = b.Main.Version
		}
		for _, s := range b.Settings {
			if s.Key == "vcs.revision" && v.Commit == "" {
				v.Commit = s.Value
			}
		}
	}
	if v.Version == "" {
		v.Version = "devel"
	}
	if v.Commit == "" {
		v.Commit = "unknown"
	}
	return v
}

func (v buildInfo) String() string {
	return fmt.Sprintf("gatewaytui %s, commit %s, %s", v.Version, v.Commit, v.Go)
}

func versionVerb(p *program) *cobra.Command {
	return p.verb(&cobra.Command{
		Use: "version", Short: "print version, commit and Go version", Example: "  gatewaytui version --json",
		RunE: func(*cobra.Command, []string) error {
			v := versionInfo()
			p.show(v, func() { p.say("%s", v.String()) })
			return nil
		},
	})
}
