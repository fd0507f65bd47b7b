package process

import (
	"context"
	"time"
)

const (
	// sweepEvery is how often the trees are scanned while there are some.
	sweepEvery = 2 * time.Second
	// A requested sweep begins at least sweepPause after the previous one, and sweeps take at most one part in sweepShare
	// of the time.
	sweepPause = 50 * time.Millisecond
	sweepShare = 20
)

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
		rest := max(sweepPause, sweepShare*time.Since(began))
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
