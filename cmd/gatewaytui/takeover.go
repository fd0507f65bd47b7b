package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"gatewaytui/core/instance"
	"gatewaytui/core/remote"
	"gatewaytui/core/takeover"
	"gatewaytui/core/text"
	"gatewaytui/views/lines"
)

func restartFlags(f *pflag.FlagSet, r *request) {
	f.BoolVar(&r.wait, "wait", false, "show the phases of the stop")
}

// restart restarts the gateway and says which life answers then.
func (p *program) restart(ctx context.Context, g *remote.Gateway, r *request) error {
	ctx, release := signal.NotifyContext(ctx, os.Interrupt)
	defer release()
	o := takeover.RestartOptions{Command: r.Command, Began: p.began, Progress: p.showTakeover}
	if r.wait {
		v := &ending{p: p, g: g, told: map[string]bool{}}
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
	case p.json:
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
		return nil, false, &outcome{exitHeld, inside}
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
