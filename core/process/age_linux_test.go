package process

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/syncbuf"
)

// C1: a tree that is older than allowed is ended with everything below it, under any policy, and who that was is in the
// log and in an event. A younger one is left alone.
func TestC1_ATreeThatIsTooOldIsEnded(t *testing.T) {
	const maxAge = 4 * time.Second
	var mu sync.Mutex
	var log syncbuf.Buffer
	var named []int
	var early []int64 // ages in milliseconds at which a tree was too old, and may not have been
	r := registry(t, func(o *Options) {
		o.MaxAge = maxAge
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
		o.OnEvent = func(typ ops.EventType, row ops.Process, text string) {
			mu.Lock()
			defer mu.Unlock()
			if typ == ops.EventProcessTooOld {
				named = append(named, row.PID)
				if row.AgeMS < maxAge.Milliseconds() {
					early = append(early, row.AgeMS)
				}
			}
		}
	})
	old := sh(t, r, `trap '' TERM; sleep 1000 & echo child=$!; echo ready; wait; sleep 1000`, func(s *Spec) { s.Policy = PolicyGateway })
	child := said(t, old, "child")
	ready(t, old)
	began := time.Now()
	eventually.True(t, "it is as old as half of what is allowed", func() bool { return time.Since(began) > r.opts.MaxAge/2 })
	young := sh(t, r, `exec sleep 1000`)

	eventually.True(t, "the old tree is gone", func() bool {
		_, there := r.Get(old.PID())
		return there && !slices.ContainsFunc(r.Rows(), func(row ops.Process) bool { return row.PID == old.PID() })
	})
	if lives(child) {
		t.Error("its child lives on")
	}
	mu.Lock()
	defer mu.Unlock()
	// On a slow machine the younger one may be too old as well by now.
	if len(named) == 0 || named[0] != old.PID() || len(named) > 1 && named[1] != young.PID() || len(early) > 0 {
		t.Errorf("the events name %v, and not %d first; ended too early, in ms: %v", named, old.PID(), early)
	}
	if !strings.Contains(log.String(), "process tree reached its maximum age") {
		t.Errorf("the log says %s", log.String())
	}
}
