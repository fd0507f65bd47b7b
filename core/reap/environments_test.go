package reap

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// closes notes the sessions whose environments are closed.
type closes struct{ sessions []string }

func (c *closes) Close(_ context.Context, session string) error {
	c.sessions = append(c.sessions, session)
	return nil
}

func TestTR6_AnEnvironmentIsClosedAfterTheCommandsOfAStopHaveEnded(t *testing.T) {
	for _, tt := range []struct {
		name   string
		kill   time.Duration // from the call of Close; negative: no kill runs
		bound  time.Duration
		after  time.Duration
		closed bool
	}{
		{"at once where no kill runs", -1, time.Second, 0, true},
		{"when the kill has ended", 300 * time.Millisecond, time.Second, 300 * time.Millisecond, true},
		{"by the sweep where the kill takes longer than its agent has time", time.Minute, time.Second, time.Second - handOver, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				trees, held := New(nil, 0), &closes{}
				if tt.kill >= 0 {
					op := &sessionKill{done: make(chan struct{})}
					trees.joined.Store(op)
					time.AfterFunc(tt.kill, func() { close(op.done) })
				}
				ctx, cancel := context.WithTimeout(t.Context(), tt.bound)
				defer cancel()
				began := time.Now()
				if err := (Environments{trees, held}).Close(ctx, "s"); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took != tt.after || (len(held.sessions) == 1) != tt.closed {
					t.Errorf("after %v, closed %v; want %v, %v", took, held.sessions, tt.after, tt.closed)
				}
			})
		})
	}
}
