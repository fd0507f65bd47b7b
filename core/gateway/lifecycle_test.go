package gateway

import (
	"errors"
	"log/slog"
	"testing"

	"gatewaytui/core/ops"
	"gatewaytui/core/shutdown"
)

// A stop that comes after the start has ended and before the first message is taken begins at once: nothing else would begin it, and
// the process would end with 70 after abortBound. During the start it waits for the start's end, and begins then.
func TestAStopBetweenTheEndOfTheStartAndTheFirstMessageBegins(t *testing.T) {
	for name, tc := range map[string]struct {
		failed  error
		early   bool // it is asked for during the start
		begins  int  // shutdowns that have begun by the end of the start
		running bool // endStart says that one runs
	}{
		"after a start that did not fail": {},
		"during the start":                {early: true, begins: 1, running: true},
		"during a start that then fails":  {early: true, failed: errors.New("cancelled"), begins: 1, running: true},
	} {
		t.Run(name, func(t *testing.T) {
			begun := 0
			l := newLifecycle(slog.New(slog.DiscardHandler), func(StopRequest) *shutdown.Run {
				begun++
				return new(shutdown.Run)
			}, func() { t.Error("the start is overdue") })
			ctx, cancel := l.beginStart(t.Context())
			defer cancel()
			if tc.early {
				l.Stop(StopRequest{ID: "stop", Mode: ops.ModeGraceful})
				if ctx.Err() == nil || begun != 0 {
					t.Fatalf("a stop during the start: cancelled %v, %d shutdowns", ctx.Err(), begun)
				}
			}
			if running := l.endStart(tc.failed); running != tc.running || begun != tc.begins {
				t.Fatalf("at the end of the start a shutdown runs: %v, %d begun; want %v, %d", running, begun, tc.running, tc.begins)
			}
			if !tc.early {
				if id, began := l.Stop(StopRequest{ID: "stop", Mode: ops.ModeGraceful}); id != "stop" || !began || begun != 1 {
					t.Errorf("the stop has id %q, began %v, with %d shutdowns; want one at once", id, began, begun)
				}
			}
			select {
			case <-l.stopping:
			default:
				t.Error("nothing says that the gateway stops")
			}
			if l.serve() {
				t.Error("messages are taken though the stop came first")
			}
		})
	}
}
