package shutdown

import (
	"sync/atomic"
	"time"
)

// watchdog ends the process when a stop has not ended in time. It takes no lock, so that nothing the executor holds can
// block it (A8).
type watchdog struct {
	began      time.Time
	at         atomic.Int64 // nanoseconds after began
	bound      time.Duration
	o          Options
	moved      chan struct{} // holds one token
	quit, gone chan struct{}
}

// arm starts a watchdog that fires at the given time, and gives the dump bound before it ends the process.
func arm(at time.Time, bound time.Duration, o Options) *watchdog {
	w := &watchdog{
		began: time.Now(), bound: bound, o: o,
		moved: make(chan struct{}, 1), quit: make(chan struct{}), gone: make(chan struct{}),
	}
	w.move(at)
	go w.run()
	return w
}

// move makes it fire at another time.
func (w *watchdog) move(at time.Time) {
	w.at.Store(int64(at.Sub(w.began)))
	select {
	case w.moved <- struct{}{}:
	default:
	}
}

// disarm ends it and waits until it is gone. One that has fired already ends the process.
func (w *watchdog) disarm() {
	close(w.quit)
	<-w.gone
}

func (w *watchdog) run() {
	defer close(w.gone)
	for {
		timer := time.NewTimer(time.Duration(w.at.Load()) - time.Since(w.began))
		select {
		case <-w.quit:
			timer.Stop()
			return
		case <-w.moved:
			timer.Stop()
		case <-timer.C:
			if time.Since(w.began) >= time.Duration(w.at.Load()) {
				w.bite()
				return
			}
		}
	}
}

// bite writes the stacks, if that does not take too long, and ends the process.
func (w *watchdog) bite() {
	told := make(chan struct{})
	go func() {
		defer close(told)
		ignore := func(failure) {}
		if w.o.Dump != nil {
			guard(func() error { w.o.Dump(); return nil }, ignore)
		}
		guard(func() error {
			w.o.Log.Error("shutdown.watchdog", "elapsed_ms", time.Since(w.began).Milliseconds(), "exit_code", ExitWatchdog)
			return nil
		}, ignore)
	}()
	waitUntil(told, time.Now().Add(w.bound))
	w.o.Exit(ExitWatchdog)
}
