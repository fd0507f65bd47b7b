package process

import (
	"context"
	"fmt"
	"time"

	"gatewaytui/core/ops"
)

const (
	// A requested sweep begins at least sweepPause after the previous one, and sweeps take at most one part in sweepShare
	// of the time, unless one takes more than sweepMost / sweepShare: orphans get their rows, and trees that are too old are ended, at most
	// sweepMost late. A scan that takes so long mostly waits for the kernel, and costs little.
	sweepPause = 50 * time.Millisecond
	sweepShare = 20
	sweepMost  = 30 * time.Second
)

// restAfter is the pause after a sweep that took so long.
func restAfter(took time.Duration) time.Duration {
	return min(max(sweepPause, sweepShare*took), sweepMost)
}

// sweepLoop notices orphans and trees that ended, and samples CPU and memory. While nothing is tracked it sleeps.
func (r *Registry) sweepLoop() {
	var again <-chan time.Time // nil: nothing is tracked
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-r.nudges:
		case <-again:
		}
		began := time.Now()
		r.oom.look(began)
		v := r.observe(context.Background(), began.Add(sweepEvery), false)
		rest := restAfter(time.Since(began))
		if v.err != nil {
			r.log.Warn("process scan failed", "error", v.err)
		}
		if v.unverified {
			nudge(r.nudges)
		}
		r.lookAtLimits()
		r.endTooOld(began)
		if !pause(rest, r.ctx.Done()) { // a nudge meanwhile waits in its channel
			return
		}
		again = nil
		if r.Count() > 0 || len(v.unattributed) > 0 {
			again = time.After(sweepEvery)
		}
	}
}

// closePipes ends the reading of the remaining output.
func (r *Registry) closePipes() {
	for _, t := range r.all() {
		if t.handle != nil {
			t.handle.treeGone()
		}
	}
}

// tooOldAgain is how soon the kill of a tree that is too old is tried again after a failure.
const tooOldAgain = time.Minute

// endTooOld begins to end the trees that are older than Options.MaxAge, all of them at once (C1). A sweep calls it
// without waiting for it. The kill ends with the registry at the latest.
func (r *Registry) endTooOld(now time.Time) {
	if r.opts.MaxAge <= 0 {
		return
	}
	old := map[*tree]bool{}
	var rows []ops.Process
	r.mu.Lock()
	for _, t := range r.trees {
		if t.killing > 0 || now.Sub(t.started) < r.opts.MaxAge || now.Sub(t.overdue) < tooOldAgain {
			continue
		}
		t.overdue = now
		old[t] = true
		rows = append(rows, r.row(t, now))
	}
	r.mu.Unlock()
	if len(old) == 0 {
		return
	}
	for _, row := range rows {
		age := time.Duration(row.AgeMS) * time.Millisecond
		r.log.Warn("process tree reached its maximum age", "pid", row.PID, "session", row.Session, "age", age, "max_age", r.opts.MaxAge)
		r.emit(ops.EventProcessTooOld, row, fmt.Sprintf("process %d is %s old, more than process.max_age allows; ending it", row.PID, age))
	}
	// Within grace and 1 s, or at once when the registry closes.
	r.loops.Go(func() { r.end(r.ctx, selection{tree: func(t *tree) bool { return old[t] }}, r.opts.KillGrace) })
}
