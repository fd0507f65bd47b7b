package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

const (
	// WarnStore is the code of the warning that the store takes nothing, or is slow.
	WarnStore = "store"
	// lookEvery is how often the files of the store are compared with those that it holds, and probeEvery how often a store
	// whose last write failed is asked for another one.
	lookEvery, probeEvery = time.Second, 2 * time.Second
	// lookBound is how long a question for readiness waits for a look. A stat(2) on a dead network mount does not return.
	lookBound = 250 * time.Millisecond
)

// storeWatch is how the store's watchers and those who ask for readiness meet.
type storeWatch struct {
	asks  chan chan struct{} // each is closed when a look that began after it is over
	probe chan struct{}      // room for one: the last write failed

	// Gateway.mu guards what follows.
	err   error     // what the last look found; nil: nothing
	since time.Time // when err was first found
	began time.Time // of the look under way; zero: there is none
	said  string    // what the service manager and the log were last told; empty: that messages are taken
}

// lookAtStore compares the store's files with those it holds, every lookEvery and when it is asked to (HF13, HF29). It
// returns when ctx ends.
func (g *Gateway) lookAtStore(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		var done chan struct{}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case done = <-g.watched.asks:
		}
		g.look(ctx)
		if done != nil {
			close(done)
		}
	}
}

func (g *Gateway) look(ctx context.Context) {
	if g.damage() != "" {
		return // what is wrong with the store was said
	}
	g.mu.Lock()
	g.watched.began = time.Now()
	g.mu.Unlock()
	bounded, cancel := g.store.Patience(ctx, store.Stall)
	err := g.store.Check(bounded)
	cancel()
	if ctx.Err() != nil {
		return
	}
	now := time.Now()
	health := g.store.Health(now)
	if damage, is := errors.AsType[*store.DamagedError](errors.Join(err, health.Err)); is {
		g.stopWriting(damage)
	}
	g.mu.Lock()
	g.watched.began = time.Time{}
	if err == nil || g.watched.err == nil {
		g.watched.since = now
	}
	g.watched.err = err
	g.mu.Unlock()
	if health.Err != nil && !errors.Is(health.Err, store.ErrDisplaced) {
		select {
		case g.watched.probe <- struct{}{}:
		default:
		}
	}
	g.sayReadiness(now)
}

// beat writes this life's heartbeats. While the last write of the store failed it tries one every probeEvery: the first
// that succeeds makes the gateway ready again. It returns when ctx ends.
func (g *Gateway) beat(ctx context.Context) {
	timer := time.NewTimer(heartbeatFirst)
	defer timer.Stop()
	var last time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-timer.C:
			timer.Reset(min(max(now.Sub(g.started), heartbeatFirst), heartbeatEvery))
			g.keepLives(lifeOf(g.lifeRow()))
		case <-g.watched.probe:
			if time.Since(last) < probeEvery {
				continue
			}
		}
		if g.damage() != "" {
			continue
		}
		last = time.Now()
		bounded, cancel := g.store.Patience(ctx, store.Stall)
		err := g.store.Heartbeat(bounded, g.life, last, process.Resident())
		cancel()
		if damage, is := errors.AsType[*store.DamagedError](err); is && ctx.Err() == nil {
			g.stopWriting(damage)
		}
	}
}

// storeTrouble is what is wrong with the store at now, from memory alone. takes reports whether it takes messages all the
// same. reason is the trouble without a path. A warning without a code says that nothing is wrong.
func (g *Gateway) storeTrouble(now time.Time) (w ops.Warning, reason string, takes bool) {
	st := g.db()
	if st == nil || g.damage() != "" {
		return ops.Warning{}, "", true // there is no store yet, or closeDoor has said what is wrong with it
	}
	h := st.Health(now)
	g.mu.Lock()
	watched := g.watched
	g.mu.Unlock()
	nothing := func(since time.Time, text, reason string) (ops.Warning, string, bool) {
		return ops.Warning{Code: WarnStore, Message: "the store takes nothing: " + term.Clean(text, 300), Since: ops.At(since)}, "the store takes nothing: " + reason, false
	}
	switch {
	case h.Err != nil:
		return nothing(h.Since, h.Err.Error(), store.Reason(h.Err))
	case watched.err != nil:
		return nothing(watched.since, watched.err.Error(), store.Reason(watched.err))
	case h.Running >= store.Stall:
		text := fmt.Sprintf("its last write has not ended for %s", ops.Clock(h.Running))
		return nothing(now.Add(-h.Running), text, text)
	case !watched.began.IsZero() && now.Sub(watched.began) >= store.Stall:
		text := fmt.Sprintf("its disk has not answered for %s", ops.Clock(now.Sub(watched.began)))
		return nothing(watched.began, text, text)
	case h.Slow >= 2:
		return ops.Warning{
			Code: WarnStore, Since: ops.At(now),
			Message: fmt.Sprintf("store is slow: p99 of a write is %.1f s over the last minute (%d writes), and every message waits for two; look at the disk of the home", h.P99.Seconds(), h.Transactions),
		}, "", true
	}
	return ops.Warning{}, "", true
}

// Readiness is why the gateway takes no messages; nil if it does. Its text has no paths. It looks at the files of the store,
// and waits at most lookBound for that.
func (g *Gateway) Readiness(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookBound)
	defer cancel()
	done := make(chan struct{})
	select {
	case g.watched.asks <- done:
		select {
		case <-done:
		case <-ctx.Done():
		}
	case <-ctx.Done(): // a look is under way that does not end, or there is no watcher
	}
	return g.readiness(time.Now())
}

// readiness is Readiness as it was last seen, from memory alone.
func (g *Gateway) readiness(now time.Time) error {
	select {
	case <-g.ready:
	default:
		return errors.New("starting")
	}
	g.mu.Lock()
	state := g.state
	g.mu.Unlock()
	if state != ops.StateRunning {
		return errors.New(string(state))
	}
	if damage := g.damage(); damage != "" {
		return errors.New("no message is taken: " + damage)
	}
	if _, reason, takes := g.storeTrouble(now); !takes {
		return errors.New(reason)
	}
	return nil
}

// sayReadiness tells the log and the service manager when the store begins to take nothing, and when it takes messages
// again.
func (g *Gateway) sayReadiness(now time.Time) {
	w, reason, takes := g.storeTrouble(now)
	if takes {
		reason = ""
	}
	g.mu.Lock()
	changed := reason != g.watched.said
	g.watched.said = reason
	running := g.state == ops.StateRunning
	g.mu.Unlock()
	if !changed || !running {
		return
	}
	if reason != "" {
		g.log.Error("not ready", "code", w.Code, "text", w.Message)
		g.notify(func(n Notifier) error { return n.Status("not ready: " + term.Clean(reason, 200)) })
		return
	}
	g.log.Info("ready again")
	g.notify(func(n Notifier) error { return n.Status(g.statusLine()) })
}

// statusLine is what a service manager shows of a gateway that runs.
func (g *Gateway) statusLine() string {
	connected, all := g.adapters.Counts()
	return fmt.Sprintf("running, %d of %d adapters connected", connected, all)
}
