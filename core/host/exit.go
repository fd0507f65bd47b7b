package host

import (
	"context"
	"os"
	"time"

	"gatewaytui/core/bound"
	"gatewaytui/core/shutdown"
	"gatewaytui/core/takeover"
	"gatewaytui/core/term"
)

// logBound is what the last lines may take to be written once everything else is over.
const logBound = 500 * time.Millisecond

// Once the stop has run to its end, everything that is left to do is bounded and takes some milliseconds. endBound is when
// the process is ended all the same, with its exit code, even if something hangs (A8); endSlack is what that may take, before
// nothing at all is waited for.
const (
	endBound = 2 * time.Second
	endSlack = time.Second
)

// backstop sees to it that the process ends with code: by exit, if it has not ended by itself within endBound, and
// by atOnce, if that hangs as well. It is never taken back.
func backstop(code int, exit, atOnce func(code int)) {
	time.AfterFunc(endBound, func() { exit(code) })
	time.AfterFunc(endBound+endSlack, func() { atOnce(code) })
}

// Exit ends the process at once, with the terminal as it was. What is logged by then is written, if that does not take
// long.
func (l *life) Exit(code int) {
	l.console.Reset()
	ctx, cancel := context.WithTimeout(context.Background(), logBound)
	defer cancel()
	_ = l.logs.Close(ctx) // no reader is left
	if code == shutdown.ExitWatchdog {
		l.succeedByForce()
	}
	os.Exit(code)
}

// succession bounds the start of the next life where this one is ended by force: a fork may hang.
const succession = time.Second

// succeed starts the next life after a restart, where no service manager does. The home is free by then: if another gateway
// has taken it, the next life leaves it alone.
func (l *life) succeed() {
	next, err := takeover.OwnInvocation(l.environ, l.home.Dir())
	if err == nil {
		err = next.Start()
	}
	if err != nil {
		l.log.Error("next life not started", "error", term.Clean(err.Error(), maxLine), "hint", "start it by hand")
		return
	}
	l.log.Info("next life started")
}

// succeedByForce is succeed where the stop did not come to its end, so that we may still hold the home: the next life
// waits for it. It waits for no lock of this process, which may be what the stop hangs at.
func (l *life) succeedByForce() {
	_ = bound.Run(context.Background(), succession, func(context.Context) error { // no reader of an error is left
		if l.gateway == nil || !l.gateway.StartsNext() {
			return nil
		}
		next, err := takeover.OwnInvocation(l.environ, l.home.Dir())
		if err != nil {
			return err
		}
		next.Waits()
		return next.Start()
	})
}
