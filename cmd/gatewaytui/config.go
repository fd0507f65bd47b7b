package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"gatewaytui/core/config"
	"gatewaytui/core/doctor"
	"gatewaytui/core/ops"
	"gatewaytui/core/remote"
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
