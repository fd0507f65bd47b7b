package main

import (
	"context"
	"os"
	"strings"

	platforms "gatewaytui/core/adapter/demo"
	"gatewaytui/core/host"
	"gatewaytui/tui"
	"gatewaytui/tui/console"
)

// runOptions are the flags of the command without a verb.
type runOptions struct {
	host.Options
	NoTUI, Replace bool
	Console        consoleFlags
}

// run runs the gateway from its config to its end. An error carries its exit code; nil is a planned stop.
func (p *program) run(ctx context.Context, o runOptions) error {
	h := o.Options
	h.Home, h.Getenv, h.Version, h.StderrIsTerminal = p.home, p.getenv, versionInfo().Version, tui.IsTerminal(os.Stderr)
	if o.Replace {
		h.Replace = p.replace
	}
	if !o.NoTUI {
		h.Console = func(c host.ConsoleOptions) (host.Console, string) { return p.embed(o.Console.wanted(), c) }
	}
	code, err := host.Run(ctx, h)
	if err == nil && code != exitDone {
		err = &outcome{code: code}
	}
	return err
}

// embed makes the console in front of the gateway of this process, or says why there is none.
func (p *program) embed(look console.Look, c host.ConsoleOptions) (host.Console, string) {
	e, why := p.place().Embed(look, c.Home, c.Named)
	if e == nil {
		return nil, why
	}
	e.Farewell = c.Farewell
	return embedded{e}, ""
}

// embedded is a console.Embedded for a host.
type embedded struct{ *console.Embedded }

// Open implements host.Console.
func (e embedded) Open(s host.Showing) {
	e.ShowLog = s.ShowLog
	e.Embedded.Open(s.Gateway, s.Crash, s.Log, s.Theme, s.Lost)
}

// behaviours lists what a made-up platform can be told to do, for the help.
func behaviours() string {
	var names []string
	for _, b := range platforms.Behaviours() {
		names = append(names, b.Name)
	}
	return strings.Join(names, ", ")
}
