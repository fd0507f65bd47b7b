package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"gatewaytui/core/gateway"
	"gatewaytui/core/lives"
	"gatewaytui/core/ops"
	"gatewaytui/tui"
	"gatewaytui/views/lines"
)

// front is the console in front of the gateway of this process; nil is none. The gateway goes its way whatever becomes
// of it: it never waits for a terminal, and a console that is left, lost or broken is a line in the log. Only the exit
// waits for it, for leaveBound and twice writeBound at the most.
type front struct {
	p       *program
	t       *terminal
	look    consoleFlags
	home    string
	showLog func()   // lets the log go to stderr
	crash   *os.File // where the trace of a crash goes; nil: nowhere
	stage   *stage   // of a demo, nil: the gateway is none
	hangs   []string // of a demo: the platforms that never let go

	ctx    context.Context // the console's
	cancel context.CancelFunc
	up     atomic.Bool   // open was called
	done   chan struct{} // closed when the console has been left
	hungUp atomic.Bool   // leave was called
	silent bool          // the terminal is gone or takes nothing; read after done
	left   bool          // it was left by hand; read after done
	resets sync.Once
}

// front returns the console that is wanted and can be had, or says in a few words why there is none.
func (p *program) front(look consoleFlags, home string) (*front, string) {
	_, lines := look.lines(p.getenv)
	t, why := p.terminal(lines)
	if t == nil {
		return nil, why
	}
	f := &front{p: p, t: t, look: look, home: home, done: make(chan struct{})}
	f.ctx, f.cancel = context.WithCancel(context.Background()) // its end is close or leave, and no other context's
	return f, ""
}

// options completes o with what the flags, the surroundings and the terminal say.
func (p *program) options(t *terminal, look consoleFlags, o tui.Options) tui.Options {
	o.In, o.Out, o.Version = t.in, t.out, versionInfo().Version
	o.ASCII = look.ascii || !unicodeLocale(p.getenv)
	o.NoColor = p.getenv("NO_COLOR") != ""
	o.Slow = p.getenv("SSH_CONNECTION") != ""
	return o
}

// unicodeLocale reports whether the locale may be one of UTF-8: a container has none and a terminal that has it.
func unicodeLocale(getenv func(string) string) bool {
	locale := strings.ToLower(cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG")))
	return locale == "" || strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
}

// nameOf is what people call the gateway on home; empty for the one on the default home.
func nameOf(home string) string {
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

// open shows g until the console is left. lost is called when the terminal is gone. While the console is up, whatever is
// written to stderr is a line of the log.
func (f *front) open(g *gateway.Gateway, files lives.Files, log *slog.Logger, theme string, lost func()) {
	if f == nil {
		return
	}
	f.up.Store(true)
	f.crash, _ = files.Create("crash") // without it a trace is lost, which is no reason not to start
	release, err := captureStderr(f.crash, func(line string) { log.Warn("written to stderr", "text", line) })
	if err != nil {
		log.Warn("stderr is not kept off the screen", "error", err.Error())
		release = func() {}
	}
	tty, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.t.in.Fd())) // unknown is nothing
	c := operator{g, ops.Actor{Via: "console", UID: os.Getuid(), PID: os.Getpid(), TTY: tty}}
	go func() { // close waits for it
		defer close(f.done)
		exit, err := f.show(f.ctx, c, theme)
		release()
		f.dropCrash()
		if err != nil {
			log.Error("the console has failed; the gateway goes on", "error", err.Error())
		} else {
			log.Info("console left", "how", exit.How.String())
		}
		f.silent = err != nil && f.ctx.Err() != nil || err == nil && exit.How == tui.TerminalLost
		f.farewell(exit, err, c, lost)
	}()
}

// farewell says on the normal screen what goes on without the console.
func (f *front) farewell(exit tui.Exit, err error, c ops.Console, lost func()) {
	f.left = true
	switch {
	case f.hungUp.Load(): // a terminal that is gone takes the sentence as well
		f.say("the gateway (pid %d) keeps running without a console: gatewaytui attach%s opens one, gatewaytui stop%s stops it", os.Getpid(), f.homeFlag(), f.homeFlag())
	case f.ctx.Err() != nil: // the gateway has ended
		f.left = false
	case err != nil:
		why, _, _ := strings.Cut(err.Error(), "\n") // what follows is for the log
		f.say("the console has failed: %s", why)
		f.goOn()
	case exit.How == tui.GatewayEnded:
		f.left = false
	case exit.How == tui.TerminalLost:
		lost()
	case exit.How == tui.StopAsked:
		f.say("the stop goes on:")
		f.silent = f.follow(f.ctx, c) != nil
	default:
		f.goOn()
	}
}

// show runs the console that is wanted.
func (f *front) show(ctx context.Context, c ops.Console, theme string) (tui.Exit, error) {
	if from, lines := f.look.lines(f.p.getenv); lines {
		l := &plain{p: f.p, c: c, from: from}
		return f.t.run(ctx, func(ctx context.Context) (tui.Exit, error) { return l.run(ctx, f.p.in) })
	}
	o := f.p.options(f.t, f.look, tui.Options{Theme: theme, Name: nameOf(f.home)})
	return f.t.run(ctx, func(ctx context.Context) (tui.Exit, error) { return tui.Run(ctx, c, o) })
}

// follow says what a stop does, line by line, to somebody who left its console.
func (f *front) follow(ctx context.Context, c ops.Console) error {
	_, err := bounded(ctx, func(ctx context.Context) (tui.Exit, error) {
		s, err := c.Snapshot(ctx)
		if err != nil {
			return tui.Exit{}, err
		}
		l := f.p.follow(ctx, c, s.Seq)
		defer l.close()
		l.stopping = true
		return tui.Exit{}, l.each(ctx, func(ev ops.Event) {
			if line, ok := lines.ShutdownEvent(ev); ok {
				f.p.say("%s", line)
			}
		})
	})
	return err
}

// goOn makes the terminal that of a gateway without a console: its log follows, and ctrl+c stops it (TF21).
func (f *front) goOn() {
	f.say("the gateway (pid %d) keeps running in this terminal, and its log follows:", os.Getpid())
	f.say("  ctrl+z and bg give the shell back, ctrl+c stops the gateway,")
	f.say("  gatewaytui attach%s opens a console again", f.homeFlag())
	f.showLog()
}

// homeFlag is what a verb in another shell needs to find this gateway.
func (f *front) homeFlag() string {
	if f.p.home == "" && f.p.getenv("GATEWAYTUI_HOME") == "" {
		return ""
	}
	return " --home " + f.home
}

// say puts one line on the normal screen, if the terminal takes it.
func (f *front) say(format string, args ...any) {
	var b strings.Builder
	lines.Line(&b, format, args...)
	f.t.write(b.String())
}

// leave ends the console of a terminal that is gone. It waits for nothing.
func (f *front) leave() {
	if f != nil {
		f.hungUp.Store(true)
		f.cancel()
	}
}

// close ends the console of a gateway that has ended and leaves on the normal screen how it did.
func (f *front) close(end gateway.End) {
	if f == nil || !f.up.Load() {
		return
	}
	f.cancel()
	<-f.done // bounded by terminal.run
	if f.silent || end.Report == nil {
		return
	}
	var b strings.Builder
	shown := *f.p
	shown.out = &b
	if !f.left {
		shown.lines().Shutdown(*end.Report)
	}
	shown.say("stopped %s", lines.Stopped(*end.Report, end.ExitCode))
	if f.stage != nil && end.ExitCode != exitRestart {
		for _, line := range f.stage.farewell(*end.Report, f.hangs) {
			shown.say("%s", line)
		}
	}
	f.t.write(b.String())
}

// reset gives the terminal back for a process that ends at once.
func (f *front) reset() {
	if f == nil || !f.up.Load() {
		return
	}
	select {
	case <-f.done: // it has been given back
	default:
		f.resets.Do(f.t.reset)
	}
}

// dropCrash removes the file for a trace that was not needed.
func (f *front) dropCrash() {
	if f.crash == nil {
		return
	}
	_ = f.crash.Close()           // nothing was written to it
	_ = os.Remove(f.crash.Name()) // one that stays is pruned some day
}
