package process

import (
	"context"
	"time"
)

const (
	// sweepEvery is how often the trees are looked at while there are some.
	sweepEvery = 2 * time.Second
	// A sweep that was asked for comes no sooner after the one before than sweepPause, and sweeps take at most one part
	// in sweepShare of the time.
	sweepPause = 50 * time.Millisecond
	sweepShare = 20
)

// sweepLoop notices orphans and trees that ended, and samples CPU and memory. While nothing is tracked it rests.
func (r *Registry) sweepLoop() {
	timer := time.NewTimer(0)
	timer.Stop()
	for {
		select {
		case <-r.stopping:
			timer.Stop()
			return
		case <-r.nudges:
		case <-timer.C:
		}
		began := time.Now()
		r.oom.look(began)
		v := r.observe(context.Background(), began.Add(sweepEvery), false)
		rest := max(sweepPause, sweepShare*time.Since(began))
		if v.err != nil {
			r.log.Warn("process scan", "error", v.err)
		}
		if v.unsure {
			nudge(r.nudges)
		}
		r.lookAtLimits()
		r.endTooOld(began)
		// A nudge that comes meanwhile waits in its channel.
		pause := time.NewTimer(rest)
		select {
		case <-r.stopping:
			pause.Stop()
			timer.Stop()
			return
		case <-pause.C:
		}
		if r.Count() > 0 || len(v.loose) > 0 {
			timer.Reset(sweepEvery)
		} else {
			timer.Stop()
		}
	}
}

// closePipes ends the reading of what is left.
func (r *Registry) closePipes() {
	r.mu.Lock()
	var left []*Process
	for _, t := range r.trees {
		if t.handle != nil {
			left = append(left, t.handle)
		}
	}
	r.mu.Unlock()
	for _, p := range left {
		p.treeGone()
	}
}
