package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gatewaytui/core/config"
	"gatewaytui/core/control"
	"gatewaytui/core/host"
	"gatewaytui/core/lessons"
	"gatewaytui/core/ops"
	"gatewaytui/core/remote"
	"gatewaytui/tui"
	"gatewaytui/tui/console"
)

// consoleFlags are how a person wants a console to look.
type consoleFlags struct {
	console.Look
	flags *pflag.FlagSet
}

func (c *consoleFlags) add(f *pflag.FlagSet) {
	c.flags = f
	f.BoolVar(&c.ASCII, "ascii", false, "draw with ASCII characters alone")
	f.BoolVar(&c.Plain, "plain", false, "lines instead of a screen, for screen readers and slow links (default from ACCESSIBLE)")
}

// wanted is the look, once the flags are parsed.
func (c *consoleFlags) wanted() console.Look {
	c.PlainGiven = c.flags.Changed("plain")
	return c.Look
}

// place is where a console of this program is.
func (p *program) place() console.Place {
	return console.Place{In: p.in, Out: p.out, Printer: p.lines(), Getenv: p.getenv, Version: versionInfo().Version}
}

func attachVerb(p *program) *cobra.Command {
	var look consoleFlags
	var readOnly bool
	c := p.verb(&cobra.Command{
		Use: "attach", Short: "open the console for the running gateway; quitting does not affect it",
		Example: "  gatewaytui attach\n  gatewaytui attach --read-only",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.attach(cmd.Context(), look.wanted(), readOnly)
		},
	})
	look.add(c.Flags())
	c.Flags().BoolVar(&readOnly, "read-only", false, "view only; the gateway rejects changes")
	return c
}

// exitHungUp is what a shell shows for a program that SIGHUP ended.
const exitHungUp = 128 + int(syscall.SIGHUP)

// attach opens the console on the gateway of this home until it is left. The gateway does not notice.
func (p *program) attach(ctx context.Context, look console.Look, readOnly bool) error {
	if p.asJSON() {
		return wrongUsage("gatewaytui status --json is its state, gatewaytui watch --json what happens", "a console has no JSON")
	}
	g, err := p.find(control.ClientOptions{ReadOnly: readOnly})
	if err != nil {
		return err
	}
	defer g.Close()
	// A signal leaves the console in order. That of a terminal that is gone does nothing that its end would not.
	ctx, release := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer release()
	s, err := g.Status(ctx)
	if err != nil {
		return g.Explain(err)
	}
	if _, err := g.Plan(ctx); ops.HasCode(err, ops.CodeToolCaller) { // nothing that a console shows is for tools
		return err
	}
	c := remote.Console{Gateway: g}
	place := p.place()
	place.Home = g.Home
	exit, err := place.Attach(ctx, c, look, tui.Options{Attached: true, ReadOnly: readOnly, Theme: theme(), Name: console.NameOf(g.Home)})
	switch {
	case err != nil:
		return err
	case exit.How == tui.TerminalLost:
		return &outcome{code: exitHungUp} // no terminal is left to write to
	case exit.Final != nil && exit.Final.Outcome != ops.ShutdownRunning:
		final := c.Complete(*exit.Final)
		p.lines().Shutdown(final)
		p.lines().Lessons(final, g.Earlier(final.Life, lessons.Earlier-1)...)
	default:
		p.say("detached; the gateway (pid %d) keeps running", s.PID)
	}
	return nil
}

// theme is what the config of this user says about consoles. One that is wrong is the gateway's business.
func theme() string {
	loaded, err := config.Load(config.Options{})
	if err != nil {
		return config.Default().Console.Theme
	}
	return loaded.Config.Console.Theme
}

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
		h.Console = func(c host.ConsoleOptions) (host.Console, string) { return p.embed(o.Console.wanted(), c, o.Demo) }
	}
	code, err := host.Run(ctx, h)
	if err == nil && code != exitDone {
		err = &outcome{code: code}
	}
	return err
}

// embed makes the console in front of the gateway of this process, or says why there is none. That of a demo remembers nothing.
func (p *program) embed(look console.Look, c host.ConsoleOptions, demo bool) (host.Console, string) {
	place := p.place()
	if !demo {
		place.Home = c.Home
	}
	e, why := place.Embed(look, c.Home, c.Named)
	if e == nil {
		return nil, why
	}
	e.AtEnd, e.Earlier = c.LastLines, c.Earlier
	return embedded{e}, ""
}

// embedded is a console.Embedded for a host.
type embedded struct{ *console.Embedded }

// Open implements host.Console.
func (e embedded) Open(s host.Showing) {
	e.ShowLog = s.ShowLog
	e.Embedded.Open(s.Gateway, s.Crash, s.Log, s.Theme, s.Lost)
}
