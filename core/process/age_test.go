package process

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"gatewaytui/core/ops"
)

// C1: a tree that is older than allowed is ended with everything below it, whatever its policy, and who that was is in the
// log and in an event. A younger one is left alone.
func TestC1_ATreeThatIsTooOldIsEnded(t *testing.T) {
	var mu sync.Mutex
	var log bytes.Buffer
	var told []int
	r := registry(t, func(o *Options) {
		o.MaxAge = 4 * time.Second
		o.Log = slog.New(slog.NewTextHandler(&locked{mu: &mu, b: &log}, nil))
		o.OnEvent = func(e Event) {
			mu.Lock()
			defer mu.Unlock()
			if e.Type == ops.EventProcessTooOld {
				told = append(told, e.Process.PID)
			}
		}
	})
	old := sh(t, r, `trap '' TERM; sleep 1000 & echo child=$!; echo ready; wait; sleep 1000`, func(s *Spec) { s.Policy = PolicyGateway })
	child := said(t, old, "child")
	ready(t, old)
	began := time.Now()
	eventually(t, "it is as old as half of what is allowed", func() bool { return time.Since(began) > r.opts.MaxAge/2 })
	young := sh(t, r, `exec sleep 1000`)

	eventually(t, "the old tree is gone", func() bool {
		_, there := r.Get(old.PID())
		rows := r.Rows()
		return len(rows) == 1 && rows[0].PID == young.PID() && there
	})
	if age := time.Since(old.StartedAt()); age < r.opts.MaxAge {
		t.Errorf("it was ended after %v, and %v is allowed", age, r.opts.MaxAge)
	}
	if lives(child) {
		t.Error("its child lives on")
	}
	mu.Lock()
	defer mu.Unlock()
	if len(told) != 1 || told[0] != old.PID() {
		t.Errorf("the events name %v, not %d alone", told, old.PID())
	}
	if !strings.Contains(log.String(), "process tree ended for its age") {
		t.Errorf("the log says %s", log.String())
	}
}

// locked is a buffer behind a lock.
type locked struct {
	mu *sync.Mutex
	b  *bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}
