package recovery

import (
	"context"
	"errors"
	"time"

	"gatewaytui/core/process"
	"gatewaytui/core/store"
)

// The times of heartbeats are how exactly the next start can say when a life crashed. The first ones come earlier, so that
// a life that crashed soon after its start is not said to have lasted no time.
const (
	heartbeatFirst = time.Second
	heartbeatEvery = 30 * time.Second
	// probeEvery is how often a store whose last write failed is asked for another one.
	probeEvery = 2 * time.Second
)

// Beat writes the heartbeats of this life. While the last write of the store failed it tries one every probeEvery: the first
// that succeeds makes the gateway ready again. It returns when ctx ends.
func (r *Recovery) Beat(ctx context.Context) {
	next := time.After(heartbeatFirst)
	var last time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-next:
			next = time.After(min(max(now.Sub(r.o.Health.Started()), heartbeatFirst), heartbeatEvery))
			r.listLife(LifeRow(r.Row()))
		case <-r.o.Health.Probe():
			if time.Since(last) < probeEvery {
				continue
			}
		}
		if r.o.Health.Damage() != "" {
			continue
		}
		last = time.Now()
		bounded, cancel := r.Store().Patience(ctx, store.Stall)
		err := r.Store().Heartbeat(bounded, r.o.Life, last, process.Resident())
		cancel()
		if damage, is := errors.AsType[*store.DamagedError](err); is && ctx.Err() == nil {
			r.o.Health.StopWriting(damage)
		}
	}
}
