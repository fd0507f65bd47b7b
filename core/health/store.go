package health

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// WarnStore is the code of the warning that the database rejects writes, or is slow.
const WarnStore = "store"

const (
	// checkEvery is how often the files of the store are compared with those that it holds.
	checkEvery = time.Second
	// checkBound is how long a question for readiness waits for a check. A stat(2) on a dead network mount does not return.
	checkBound = 250 * time.Millisecond
)

// WatchStore compares the store's files with those that it holds, every second and when Readiness asks for it (HF13, HF29).
// It returns when ctx ends.
func (h *Health) WatchStore(ctx context.Context) {
	tick := time.Tick(checkEvery)
	for {
		var done chan struct{}
		select {
		case <-ctx.Done():
			return
		case <-tick:
		case done = <-h.checks:
		}
		h.checkStore(ctx)
		if done != nil {
			close(done)
		}
	}
}

func (h *Health) checkStore(ctx context.Context) {
	if h.Damage() != "" {
		return // the warning about it was given
	}
	st := h.store.Load()
	h.mu.Lock()
	h.files.began = time.Now()
	h.mu.Unlock()
	bounded, cancel := st.Patience(ctx, store.Stall)
	err := st.Check(bounded)
	cancel()
	if ctx.Err() != nil {
		return
	}
	now := time.Now()
	writes := st.Health(now)
	if damage, is := errors.AsType[*store.DamagedError](errors.Join(err, writes.Err)); is {
		h.StopWriting(damage)
	}
	h.mu.Lock()
	h.files.began = time.Time{}
	if err == nil || h.files.err == nil {
		h.files.since = now
	}
	h.files.err = err
	h.mu.Unlock()
	if writes.Err != nil && !errors.Is(writes.Err, store.ErrDisplaced) {
		select {
		case h.probe <- struct{}{}:
		default:
		}
	}
	h.announceReadiness(now)
}

// Probe asks for a write while the last write of the store has failed: the first one that succeeds restores readiness.
func (h *Health) Probe() <-chan struct{} { return h.probe }

// storeTrouble is what is wrong with the store at now, from memory alone. takes reports whether the gateway takes messages
// all the same. reason is the trouble without a path. A warning without a code says that nothing is wrong.
func (h *Health) storeTrouble(now time.Time) (w ops.Warning, reason string, takes bool) {
	st := h.store.Load()
	if st == nil || h.Damage() != "" {
		return ops.Warning{}, "", true // there is no store yet, or RejectMessages has given the warning
	}
	writes := st.Health(now)
	h.mu.Lock()
	files := h.files
	h.mu.Unlock()
	nothing := func(since time.Time, text, reason string) (ops.Warning, string, bool) {
		return ops.Warning{Code: WarnStore, Message: "the store takes nothing: " + term.Clean(text, 300), Since: ops.At(since)}, "the store takes nothing: " + reason, false
	}
	switch {
	case writes.Err != nil:
		return nothing(writes.Since, writes.Err.Error(), store.Reason(writes.Err))
	case files.err != nil:
		return nothing(files.since, files.err.Error(), store.Reason(files.err))
	case writes.Running >= store.Stall:
		text := fmt.Sprintf("its last write has not ended for %s", ops.Clock(writes.Running))
		return nothing(now.Add(-writes.Running), text, text)
	case !files.began.IsZero() && now.Sub(files.began) >= store.Stall:
		text := fmt.Sprintf("its disk has not answered for %s", ops.Clock(now.Sub(files.began)))
		return nothing(files.began, text, text)
	case writes.Slow >= 2:
		return ops.Warning{
			Code: WarnStore, Since: ops.At(now),
			Message: fmt.Sprintf("store is slow: p99 of a write is %.1f s over the last minute (%d writes), and every message waits for two; look at the disk of the home", writes.P99.Seconds(), writes.Transactions),
		}, "", true
	}
	return ops.Warning{}, "", true
}

// Readiness is why the gateway takes no messages; nil if it does. Its text has no paths. It has the files of the store
// checked, and waits at most 250 ms for that.
func (h *Health) Readiness(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkBound)
	defer cancel()
	done := make(chan struct{})
	select {
	case h.checks <- done:
		select {
		case <-done:
		case <-ctx.Done():
		}
	case <-ctx.Done(): // a check is under way that does not end, or there is no watcher
	}
	return h.LastReadiness(time.Now())
}

// LastReadiness is Readiness as it was last seen, from memory alone.
func (h *Health) LastReadiness(now time.Time) error {
	state, ready := h.o.Gateway.State()
	if !ready {
		return errors.New("starting")
	}
	if state != ops.StateRunning {
		return errors.New(string(state))
	}
	if damage := h.Damage(); damage != "" {
		return errors.New("no message is taken: " + damage)
	}
	if _, reason, takes := h.storeTrouble(now); !takes {
		return errors.New(reason)
	}
	return nil
}

// announceReadiness tells the log and the service manager when the store begins to reject writes, and when it takes them
// again.
func (h *Health) announceReadiness(now time.Time) {
	w, reason, takes := h.storeTrouble(now)
	if takes {
		reason = ""
	}
	state, _ := h.o.Gateway.State()
	h.mu.Lock()
	changed := reason != h.files.said
	h.files.said = reason
	h.mu.Unlock()
	switch {
	case !changed || state != ops.StateRunning:
		return
	case reason != "":
		h.log.Error("not ready", "code", w.Code, "text", w.Message)
	default:
		h.log.Info("ready again")
	}
	h.o.Gateway.ReadinessChanged(reason)
}
