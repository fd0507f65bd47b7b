package shutdown

import (
	"time"

	"gatewaytui/core/ops"
)

// watchdog ends the process when a stop has not ended in time. It takes no lock, so that nothing the executor holds can
// block it (A8).
type watchdog struct {
	began time.Time
	at    time.Time // when it fires
	bound time.Duration
	o     Options
	timer *time.Timer
	gone  chan struct{} // closed when it has fired, and ended the process
}

// arm starts a watchdog that fires at the given time, and gives the dump bound before it ends the process.
func arm(at time.Time, bound time.Duration, o Options) *watchdog {
	w := &watchdog{began: time.Now(), at: at, bound: bound, o: o, gone: make(chan struct{})}
	w.timer = time.AfterFunc(time.Until(at), w.bite)
	return w
}

// move makes it fire at another time, unless it has fired. One goroutine at a time calls it.
func (w *watchdog) move(at time.Time) {
	if w.timer.Stop() {
		w.at = at
		w.timer.Reset(time.Until(at))
	}
}

// disarm ends it. One that has fired already ends the process.
func (w *watchdog) disarm() {
	if !w.timer.Stop() {
		<-w.gone
	}
}

// bite writes the stacks, if that does not take too long, and ends the process.
func (w *watchdog) bite() {
	defer close(w.gone)
	written := make(chan struct{})
	go func() {
		defer close(written)
		if w.o.Dump != nil {
			attempt(w.o.Dump)
		}
		attempt(func() {
			w.o.Log.Error(ops.LogShutdownWatchdog, "elapsed_ms", time.Since(w.began).Milliseconds(), "exit_code", ExitWatchdog)
		})
	}()
	waitUntil(written, time.Now().Add(w.bound))
	w.o.Exit(ExitWatchdog)
}
