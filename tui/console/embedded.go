package console

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"gatewaytui/core/follow"
	"gatewaytui/core/lessons"
	"gatewaytui/core/ops"
	"gatewaytui/tui"
	"gatewaytui/views/lines"
)

// Embedded is the console in front of the gateway of this process; nil is none. The gateway does not depend
// on it: it never waits for a terminal, and a console that is left, lost or broken is a line in the log. Only the exit
// waits for it, for leaveBound and twice writeBound at most.
type Embedded struct {
	// AtEnd is what is said after the end, given the report of the stop and the exit code; nil is nothing. Earlier are the
	// reports of the stops before that of a life, newest first; nil: none is known. ShowLog lets the log of a gateway whose
	// console was left go to stderr. All are set before Open.
	AtEnd   func(report ops.Shutdown, exitCode int) []string
	Earlier func(life string, most int) []ops.Shutdown
	ShowLog func()

	p     Place
	t     *tui.Terminal
	look  Look
	home  string
	named bool     // the home is not the default one
	crash *os.File // where the trace of a crash goes; nil: nowhere

	ctx    context.Context // the console's
	cancel context.CancelFunc
	up     atomic.Bool   // Open was called
	done   chan struct{} // closed when the console has been left
	hungUp atomic.Bool   // Leave was called
	silent bool          // the terminal is gone or takes nothing; read after done
	left   bool          // it was left by hand; read after done
	resets sync.Once
}

// Embed returns the console that is wanted and can be had for the gateway on home, or says in a few words why there is none. named
// says that home is not the default one.
func (p Place) Embed(look Look, home string, named bool) (*Embedded, string) {
	_, lines := look.Lines(p.Getenv)
	t, why := tui.FindTerminal(p.In, p.Out, p.Getenv, lines)
	if t == nil {
		return nil, why
	}
	f := &Embedded{p: p, t: t, look: look, home: home, named: named, done: make(chan struct{}), ShowLog: func() {}}
	f.ctx, f.cancel = context.WithCancel(context.Background()) // its end is Close or Leave, and no other context's
	return f, ""
}

// Open shows the gateway g until the console is left. crash makes the file that takes the trace of a crash. lost is called when the
// terminal is gone. While the console is up, what is written to stderr is a line of the log.
func (f *Embedded) Open(g ops.Console, crash func() (*os.File, error), log *slog.Logger, theme string, lost func()) {
	if f == nil {
		return
	}
	f.up.Store(true)
	f.crash, _ = crash() // without it a trace is lost, and the start goes on
	release, err := tui.CaptureStderr(f.crash, func(line string) { log.Warn("written to stderr", "text", line) })
	if err != nil {
		log.Warn("stderr not redirected", "error", err.Error())
		release = func() {}
	}
	c := operator{g, ops.Actor{Via: "console", UID: os.Getuid(), PID: os.Getpid(), TTY: f.t.Name()}}
	go func() { // close waits for it
		defer close(f.done)
		exit, err := f.p.show(f.ctx, f.t, c, f.look, tui.Options{Theme: theme, Name: NameOf(f.home)})
		release()
		f.dropCrash()
		if err != nil {
			log.Error("the console has failed; the gateway goes on", "error", err.Error())
		} else {
			log.Info("console left", "how", exit.How.String())
		}
		f.silent = err != nil && f.ctx.Err() != nil || err == nil && exit.How == tui.TerminalLost
		f.sayLeft(exit, err, c, lost)
	}()
}

// sayLeft says on the normal screen what goes on without the console.
func (f *Embedded) sayLeft(exit tui.Exit, err error, c ops.Console, lost func()) {
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

// follow says what a stop does, line by line, after its console was left.
func (f *Embedded) follow(ctx context.Context, c ops.Console) error {
	_, err := tui.Bounded(ctx, func(ctx context.Context) (tui.Exit, error) {
		s, err := c.Snapshot(ctx)
		if err != nil {
			return tui.Exit{}, err
		}
		l := follow.Start(ctx, c, s.Seq)
		defer l.Close()
		l.Stopping = true
		return tui.Exit{}, l.Each(ctx, func(ev ops.Event) {
			if line, ok := lines.ShutdownEvent(ev); ok {
				f.p.Printer.Say("%s", line)
			}
		}, f.p.Printer.Waits)
	})
	return err
}

// goOn makes the terminal that of a gateway without a console: its log follows, and ctrl+c stops it (TF21).
func (f *Embedded) goOn() {
	f.say("the gateway (pid %d) keeps running in this terminal, and its log follows:", os.Getpid())
	f.say("  ctrl+z and bg give the shell back, ctrl+c stops the gateway,")
	f.say("  gatewaytui attach%s opens a console again", f.homeFlag())
	f.ShowLog()
}

// homeFlag is what a verb in another shell needs to find this gateway.
func (f *Embedded) homeFlag() string {
	if !f.named {
		return ""
	}
	return " --home " + f.home
}

// say puts one line on the normal screen, if the terminal takes it.
func (f *Embedded) say(format string, args ...any) {
	var b strings.Builder
	lines.Line(&b, format, args...)
	f.t.Write(b.String())
}

// Leave ends the console of a terminal that is gone. It waits for nothing.
func (f *Embedded) Leave() {
	if f != nil {
		f.hungUp.Store(true)
		f.cancel()
	}
}

// Close ends the console of a gateway that has ended and leaves on the normal screen how it did. report is nil for a gateway that
// has not run.
func (f *Embedded) Close(report *ops.Shutdown, exitCode int) {
	if f == nil || !f.up.Load() {
		return
	}
	f.cancel()
	<-f.done // bounded by Terminal.Run
	if f.silent || report == nil {
		return
	}
	var b strings.Builder
	shown := f.p.Printer
	shown.Out = &b
	if !f.left {
		shown.Shutdown(*report)
	}
	shown.Say("stopped %s", lines.Stopped(*report, exitCode))
	var earlier []ops.Shutdown
	if f.Earlier != nil {
		earlier = f.Earlier(report.Life, lessons.Earlier-1)
	}
	shown.Lessons(*report, earlier...)
	if f.AtEnd != nil {
		for _, line := range f.AtEnd(*report, exitCode) {
			shown.Say("%s", line)
		}
	}
	f.t.Write(b.String())
}

// Reset gives the terminal back for a process that ends at once.
func (f *Embedded) Reset() {
	if f == nil || !f.up.Load() {
		return
	}
	select {
	case <-f.done: // it has been given back
	default:
		f.resets.Do(f.t.Reset)
	}
}

// dropCrash removes the file for a trace that was not needed.
func (f *Embedded) dropCrash() {
	if f.crash == nil {
		return
	}
	_ = f.crash.Close()           // nothing was written to it
	_ = os.Remove(f.crash.Name()) // one that stays is pruned some day
}
