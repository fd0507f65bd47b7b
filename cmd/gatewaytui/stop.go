package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"gatewaytui/core/follow"
	"gatewaytui/core/instance"
	"gatewaytui/core/lessons"
	"gatewaytui/core/ops"
	"gatewaytui/core/remote"
	"gatewaytui/core/service"
	"gatewaytui/core/shutdown"
	"gatewaytui/core/takeover"
	"gatewaytui/core/text"
	"gatewaytui/views/lines"
)

func stopFlags(f *pflag.FlagSet, r *request) {
	mode := choice{(*string)(&r.Mode), []string{string(ops.ModeGraceful), string(ops.ModeFast), string(ops.ModeImmediate)}}
	f.Var(mode, "mode", "graceful waits for turns, fast interrupts them, immediate kills the processes, closes the stores and leaves (default graceful)")
	f.BoolVar(&r.wait, "wait", false, "follow its phases until the gateway is gone")
}

// stop asks the gateway to stop. With --wait it shows the phases until the gateway is gone, and how it ended.
func (p *program) stop(ctx context.Context, g *remote.Gateway, r *request) error {
	// Asked first: an order to a gateway that does not answer would be carried out whenever it goes on.
	before, err := g.Status(ctx)
	if err != nil {
		return err
	}
	if !r.wait {
		req, err := g.Do(ctx, r.Command)
		switch {
		case err != nil:
			return err
		case p.asJSON():
			p.writeJSON(p.out, req)
		case req.State == ops.RequestWaiting:
			p.showAsked(req)
		default:
			p.say("%s (request %s); gatewaytui watch follows it", cmp.Or(req.Detail, "the shutdown has begun"), req.ID)
			p.comesBack(before.Supervisor)
		}
		return failed(req)
	}
	ctx, release := signal.NotifyContext(ctx, os.Interrupt)
	defer release()
	// The events are read from before the stop is asked for: an idle gateway is gone in an instant.
	f := follow.Start(ctx, g, 0)
	defer func() { f.Close() }()
	req, err := g.Do(ctx, r.Command)
	if err == nil && req.State == ops.RequestWaiting {
		p.showAsked(req)
		_, err = g.Allowed(ctx, req)
	}
	if err != nil {
		return err
	}
	p.comesBack(before.Supervisor)
	v := &ending{p: p, g: g, life: before.Life, ended: map[string]bool{}}
	for range streams {
		err = f.Each(ctx, v.show, p.waits())
		if ops.HasCode(err, ops.CodeToolCaller) {
			return v.waitBlind(ctx)
		}
		over, now := g.Over(ctx, v.life, err)
		switch {
		case ctx.Err() != nil:
			return stopGoesOn()
		case over:
			return v.wait(ctx)
		case now != nil:
			return now
		}
		f.Close()
		f = follow.Start(ctx, g, v.seen)
	}
	return err
}

// showAsked says that a person must allow a stop before it begins.
func (p *program) showAsked(req ops.Request) {
	p.note("a person must allow this first: it waits for %s (request %s); gatewaytui inbox shows it", req.WaitingFor, req.ID)
}

// comesBack says that a service manager may start again what is stopped here.
func (p *program) comesBack(sv ops.Supervisor) {
	if down := service.Named(sv.Name).Down(); down != "" && !p.asJSON() {
		p.note("%s may start it again; to keep it down: %s", sv.Name, down)
	}
}

// streams is how often the events of one stop are begun to be read. Within a stream the client resumes by itself.
const streams = 5

func stopGoesOn() error {
	return interrupted("the stop goes on; gatewaytui watch follows it")
}

// ending is a stop as it is seen from outside.
type ending struct {
	p     *program
	g     *remote.Gateway
	life  string
	seen  uint64          // the last event
	phase string          // the last one that was seen to begin
	ended map[string]bool // the phases whose end was seen
	last  ops.ShutdownEnd // how it ends, as the gateway said in its last event; zero if that was not seen
}

// show prints what an event says of the stop: phases, and items that did not end well.
func (e *ending) show(ev ops.Event) {
	e.seen = max(e.seen, ev.Seq)
	line, ok := lines.ShutdownEvent(ev)
	switch ev.Type {
	case ops.EventShutdownPhase:
		change, _ := ops.PayloadOf[ops.PhaseChange](ev)
		switch ph := change.Phase; {
		case ph.State == ops.StepRunning:
			e.phase = ph.Name
		case ph.State.Over():
			e.ended[ph.Name] = true
		}
	case ops.EventShutdownItem:
		change, _ := ops.PayloadOf[ops.ItemChange](ev)
		ok = ok && lines.EndedBadly(change.Item)
	case ops.EventShutdownEnded:
		e.last, _ = ops.PayloadOf[ops.ShutdownEnd](ev)
	default:
		return
	}
	switch {
	case e.p.asJSON():
		e.p.writeJSON(e.p.out, ev)
	case ok:
		e.p.say("%s", line)
	}
}

// showRest prints what the report has and the events had not: the last of them are lost with the socket, and of a stop
// that is over in an instant there may be none.
func (e *ending) showRest(s ops.Shutdown) {
	for _, ph := range s.Phases {
		if e.ended[ph.Name] {
			continue
		}
		for _, it := range ph.Items {
			if lines.EndedBadly(it) {
				e.p.say("%s", lines.Item(ph.Name, it))
			}
		}
		e.p.say("%s", lines.Phase(ph))
	}
}

// waitBlind waits for the end of a stop that a tool of the gateway asked for, which may not read the events. It ends with the
// gateway, unless the gateway has lost track of it.
func (e *ending) waitBlind(ctx context.Context) error {
	if err := e.g.AwaitOver(ctx, e.life); err != nil {
		return e.interrupted(ctx, err)
	}
	return e.wait(ctx)
}

// interrupted is err, or what is said of a wait that was given up.
func (e *ending) interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return stopGoesOn()
	}
	return err
}

// wait waits for the process to end and says how it did. The report on disk is the gateway's own word, to the last phase.
func (e *ending) wait(ctx context.Context) error {
	if err := e.g.AwaitEnd(ctx, e.life); err != nil {
		return e.interrupted(ctx, err)
	}
	report, found := e.g.FinalReport(e.life)
	if !found || report.EndedAt.IsZero() {
		return e.unreported()
	}
	e.p.show(report, func() {
		e.showRest(report)
		e.p.say("stopped     %s", lines.Stopped(report, report.ExitCode))
		e.p.lines().Lessons(report, e.g.Earlier(e.life, lessons.Earlier-1)...)
	})
	return badEnd(report, "gatewaytui history --shutdowns shows what failed, once it runs again")
}

// unreported says how a stop ended whose report is not there, as far as its events told. A demo removes its home, and the report
// with it, once its stop has ended: then its last event holds.
func (e *ending) unreported() error {
	if _, err := os.Lstat(e.g.Home); errors.Is(err, fs.ErrNotExist) && e.last.Outcome != "" {
		s := ops.Shutdown{Outcome: e.last.Outcome, ElapsedMS: e.last.ElapsedMS, ExitCode: e.last.ExitCode}
		if !e.p.asJSON() { // the event was printed
			e.p.say("stopped     %s; its home is removed, and the report with it", lines.Stopped(s, s.ExitCode))
		}
		return badEnd(s, "its own terminal shows what failed; the report was removed with its home")
	}
	if e.phase == shutdown.PhaseSurrender {
		return &ops.Error{
			Code: ops.CodeInternal, Message: "the gateway is gone and its stop came to its last phase, surrender; no report of its end could be read, so its exit code is not known",
			Hint: "the disk of the home may be full, read-only or failing: gatewaytui doctor checks it",
		}
	}
	return &ops.Error{
		Code: ops.CodeInternal, Message: "the gateway is gone and did not end its stop as planned; it was last seen in phase " + cmp.Or(e.phase, "none"),
		Hint: "gatewaytui history says more once it runs again; its last lines are in logs/gateway.jsonl",
	}
}

// badEnd is the error of a stop whose exit code is not that of a planned end; nil for any other.
func badEnd(s ops.Shutdown, hint string) error {
	if planned(s) {
		return nil
	}
	return &outcome{exitFailed, &ops.Error{
		Code: ops.CodeInternal, Message: fmt.Sprintf("the stop ended with exit code %d, which is not that of a planned end", s.ExitCode), Hint: hint,
	}}
}

// planned reports whether a stop ended as one that was meant: with 0, or with 75 for a restart.
func planned(s ops.Shutdown) bool {
	return s.ExitCode == exitDone || s.Restart && s.ExitCode == ops.ExitRestart
}

func watchVerb(p *program) *cobra.Command {
	var after uint64
	c := p.verb(&cobra.Command{
		Use: "watch", Short: "follow events and shutdown phases as lines, until interrupted or until the gateway is gone",
		Example: "  gatewaytui watch\n  gatewaytui watch --json | jq -r .type",
	})
	c.RunE = p.asking(func(ctx context.Context, g *remote.Gateway, _ []string) error {
		ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
		return p.watch(ctx, g, after, c.Flags().Changed("after"))
	})
	c.Flags().Uint64Var(&after, "after", 0, "start after event `N` (0: the oldest kept; default: new events only)")
	return c
}

// watch prints events until ctx ends or the gateway does; both are its purpose and no failure.
func (p *program) watch(ctx context.Context, g *remote.Gateway, after uint64, given bool) error {
	s, err := g.Snapshot(ctx)
	if err != nil {
		return err
	}
	if !given {
		after = s.Seq
	}
	p.note("following %s, ctrl+c ends", s.Home)
	f := follow.Start(ctx, g, after)
	defer f.Close()
	f.Stopping = s.State == ops.StateStopping
	err = f.Each(ctx, func(ev ops.Event) {
		if p.asJSON() {
			p.writeJSON(p.out, ev)
			return
		}
		line, ok := lines.ShutdownEvent(ev)
		if !ok {
			line = cmp.Or(ev.Subject, "-")
			if ev.Text != "" {
				line += "  " + ev.Text
			}
		}
		p.say("%s  %-24s  %s", ev.At.Local().Format("15:04:05.000"), string(ev.Type), line)
	}, p.waits())
	over, now := g.Over(ctx, s.Life, err)
	switch {
	case err == nil || ctx.Err() != nil:
		return nil
	case remote.Gone(now):
		p.note("the gateway is gone")
		return nil
	case over:
		p.note("the gateway is gone; another life of it answers now")
		return nil
	}
	return err
}

func restartFlags(f *pflag.FlagSet, r *request) {
	f.BoolVar(&r.wait, "wait", false, "show the phases of the stop")
}

// restart restarts the gateway and says which life answers then.
func (p *program) restart(ctx context.Context, g *remote.Gateway, r *request) error {
	ctx, release := signal.NotifyContext(ctx, os.Interrupt)
	defer release()
	o := takeover.RestartOptions{Command: r.Command, Began: p.began, Progress: p.showTakeover}
	if r.wait {
		v := &ending{p: p, g: g, ended: map[string]bool{}}
		o.Show, o.Waits = v.show, p.waits()
	}
	now, err := takeover.Restart(ctx, g, o)
	switch {
	case errors.Is(err, takeover.ErrInterrupted):
		return stopGoesOn()
	case err != nil && ctx.Err() != nil:
		return interrupted("the gateway may restart; gatewaytui status shows it")
	case err != nil:
		return err
	case p.asJSON():
		p.writeJSON(p.out, now)
	default:
		p.say("restarted: life %s, pid %d", now.Life, now.PID)
	}
	return nil
}

// replace takes the home over until a signal asks this program to end: ended is true then, and the holder's stop goes on. A signal
// that comes with the lock stops the gateway that begins.
func (p *program) replace(ctx context.Context, home *instance.Home, held *instance.HeldError, record func() instance.Record) (lock *instance.Lock, ended bool, err error) {
	until, release := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer release()
	lock, err = takeover.Replace(until, takeover.Replacement{Home: home, Held: held, Record: record, Began: p.began, Progress: p.showTakeover})
	if inside, ok := errors.AsType[*takeover.InsideError](err); ok {
		return nil, false, &outcome{ops.ExitHeld, inside}
	}
	if err == nil || until.Err() == nil || ctx.Err() != nil {
		return lock, false, err
	}
	p.note("gatewaytui: ended by a signal while replacing pid %d, whose stop goes on; `gatewaytui status` shows it", held.Holder.PID)
	return nil, true, nil
}

// showTakeover says what a takeover does.
func (p *program) showTakeover(done takeover.Progress) {
	const tenth = 100 * time.Millisecond // as exact as a person wants to know
	switch d := done.(type) {
	case takeover.Replacing:
		p.note("gatewaytui: replacing pid %d, whose stop may take %s; at %s it is ended by force", d.PID, d.Bound.Round(tenth), d.Force.Round(tenth))
	case takeover.NoAnswer:
		p.note("gatewaytui: pid %d does not answer: SIGCONT", d.PID)
	case takeover.Escalating:
		p.note("gatewaytui: pid %d still holds the home: %s", d.PID, unix.SignalName(d.Signal))
	case takeover.Waiting:
		p.showWaiting(d, d.Left.Round(tenth))
	case takeover.RestartedMeanwhile:
		p.note("gatewaytui: it was restarted meanwhile")
	case takeover.EndedMeanwhile:
		p.note("gatewaytui: life %s has ended meanwhile", d.Life)
	case takeover.ByGateway:
		p.note("gatewaytui: a tool of the gateway runs this command, which ends with it; the gateway starts its next life itself")
	case takeover.Asked:
		p.showAsked(d.Request)
	case takeover.Joined:
		p.note("gatewaytui: already restarting (%s)", d.Request)
	default:
		panic(fmt.Sprintf("no text for %T", done))
	}
}

// maxBlockers is how many blockers are named at once.
const maxBlockers = 10

func (p *program) showWaiting(w takeover.Waiting, left time.Duration) {
	if w.Shutdown == nil {
		p.note("pid %d does not say what it does; it has %s left", w.PID, left)
		return
	}
	phase, _ := w.Shutdown.Running()
	p.note("pid %d is in phase %s for %s; it has %s left", w.PID, phase.Name, text.Millis(phase.ElapsedMS), left)
	for i, b := range w.Shutdown.Blockers() {
		if i == maxBlockers {
			break
		}
		p.note("%-11s waits for %s", phase.Name, lines.Blocker(*w.Shutdown, b))
	}
}
