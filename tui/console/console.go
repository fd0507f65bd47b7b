// Package console opens the console that a person wants: the screen of tui or the lines of tui/plain, on the terminal of this
// process.
//
// What it promises: the terminal is given back as it was found, however the console ends; a gateway of this process never
// waits for its console; who is at the terminal sees how the gateway has ended. It speaks to ops.Console alone.
package console

import (
	"cmp"
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"gatewaytui/core/ops"
	"gatewaytui/tui"
	"gatewaytui/tui/plain"
	"gatewaytui/views/lines"
)

// Look is how a person wants a console to look.
type Look struct {
	ASCII bool
	// Plain wants lines instead of a screen, or none of them; PlainGiven says that it was asked for.
	Plain, PlainGiven bool
}

// Lines says who wants lines instead of a screen: the flag, where it is given, beats the variable (ACCESSIBLE, as other programs
// know it).
func (l Look) Lines(getenv func(string) string) (from string, on bool) {
	if l.PlainGiven {
		return "--plain", l.Plain
	}
	v := getenv("ACCESSIBLE")
	if slices.Contains([]string{"", "0", "false", "no", "off"}, strings.ToLower(v)) {
		return "", false
	}
	return "ACCESSIBLE=" + v, true
}

// Place is where a console is.
type Place struct {
	// In and Out are stdin and stdout; Printer prints on Out.
	In      io.Reader
	Out     io.Writer
	Printer lines.Printer
	Getenv  func(string) string
	Version string
	// Home is the home of the gateway, for which the console remembers its views; empty: it does not.
	Home string
}

// show runs the console that is wanted. t is nil where lines go through a pipe.
func (p Place) show(ctx context.Context, t *tui.Terminal, c ops.Console, look Look, o tui.Options) (tui.Exit, error) {
	if from, lines := look.Lines(p.Getenv); lines {
		l := &plain.Console{Printer: p.Printer, Gateway: c, Attached: o.Attached, From: from}
		run := func(ctx context.Context) (tui.Exit, error) { return l.Run(ctx, p.In) }
		if t == nil {
			return tui.Bounded(ctx, run)
		}
		return t.Run(ctx, run)
	}
	o.Version, o.ASCII = p.Version, look.ASCII || !UnicodeLocale(p.Getenv)
	o.NoColor, o.Slow = p.Getenv("NO_COLOR") != "", p.Getenv("SSH_CONNECTION") != ""
	if f, found := habitsFile(p.Home, p.Getenv); found {
		o.Habits, o.Keep = f.load(), f.keep
	}
	return t.Show(ctx, c, o)
}

// UnicodeLocale reports whether the locale may be one of UTF-8: a container has none and a terminal that has it.
func UnicodeLocale(getenv func(string) string) bool {
	locale := strings.ToLower(cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG")))
	return locale == "" || strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
}

// NameOf is what people call the gateway on home; empty for the one on the default home.
func NameOf(home string) string {
	if name := filepath.Base(home); name != "gatewaytui" && name != ".gatewaytui" {
		return name
	}
	return ""
}

// operator gives the commands of this process's console, and says so in the audit.
type operator struct {
	ops.Console
	by ops.Actor
}

func (o operator) Do(ctx context.Context, cmd ops.Command) (ops.Request, error) {
	cmd.By = o.by
	return o.Console.Do(ctx, cmd)
}

// Attach opens the console that is wanted and can be had on a gateway of another process, until it is left or ctx ends.
func (p Place) Attach(ctx context.Context, c ops.Console, look Look, o tui.Options) (tui.Exit, error) {
	_, lines := look.Lines(p.Getenv)
	t, why := tui.FindTerminal(p.In, p.Out, p.Getenv, lines)
	if t == nil && !lines {
		return tui.Exit{}, &ops.Error{
			Code: ops.CodeInvalid, Message: "the console needs a terminal, and " + why,
			Hint: "gatewaytui watch follows as lines, gatewaytui status is one screen, gatewaytui attach --plain takes commands",
		}
	}
	return p.show(ctx, t, c, look, o)
}
