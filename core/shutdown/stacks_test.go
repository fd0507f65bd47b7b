package shutdown

import (
	"context"
	"io"
	"runtime/pprof"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/ops"
)

// hangsOnPurpose is where the stuck item of this test waits.
func hangsOnPurpose(release <-chan struct{}) { <-release }

// A9: of an item that says nothing the report says what its goroutine waits for, and in the end what it last waited for.
func TestA9_AnItemThatSaysNothingIsDescribedByItsStack(t *testing.T) {
	for budget, look := range map[time.Duration]time.Duration{10 * time.Second: firstLook, time.Second: 400 * time.Millisecond} {
		t.Run(budget.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				defer close(release)
				p := Plan{[]Phase{{Name: "adapters", Budget: budget, List: func(context.Context, *Run) []Item {
					return []Item{{Kind: "adapter", ID: "dock", Run: func(context.Context) error {
						done := make(chan struct{})
						go func() { hangsOnPurpose(release); close(done) }() // it inherits the labels
						<-done
						return nil
					}}}
				}}}}
				r := Start(p, Options{Exit: noExit(t), Stacks: func(w io.Writer) error { return pprof.Lookup("goroutine").WriteTo(w, 1) }})
				time.Sleep(look + 100*time.Millisecond)
				synctest.Wait()
				running := r.Report().Phases[0].Items[0]
				if running.State != ops.StepRunning || !strings.Contains(running.Detail, "waits in ") || !strings.Contains(running.Detail, "stacks_test.go:") {
					t.Errorf("while it runs its detail is %q", running.Detail)
				}
				<-r.Done()
				ended := r.Report().Phases[0].Items[0]
				if ended.State != ops.StepTimedOut || !strings.Contains(ended.Detail, "stacks_test.go:") {
					t.Errorf("in the end its detail is %q", ended.Detail)
				}
			})
		})
	}
}

func TestTheMostTellingStackIsReported(t *testing.T) {
	const profile = `goroutine profile: total 4
1 @ 0x1
# labels: {"item":"adapter:dock", "phase":"adapters"}
#	0x1	gatewaytui/core/bound.Run+0x12	/src/core/bound/bound.go:40

1 @ 0x2
# labels: {"item":"adapter:dock", "phase":"adapters"}
#	0x2	internal/poll.runtime_pollWait+0x84	/go/src/runtime/netpoll.go:351
#	0x3	net.(*conn).Read+0x1	/go/src/net/net.go:194
#	0x4	gatewaytui/core/adapter/dock.(*conn).Disconnect+0x1	/src/core/adapter/dock/conn.go:99

1 @ 0x8
# labels: {"item":"adapter:ship", "phase":"adapters"}
#	0x1	gatewaytui/core/bound.Call[...]+0x12	/src/core/bound/bound.go:57
#	0x1	gatewaytui/core/adapter.(*managedAdapter).down+0x12	/src/core/adapter/managed.go:1
#	0x1	gatewaytui/core/gateway.(*Gateway).stop+0x12	/src/core/gateway/plan.go:1

1 @ 0x9
# labels: {"item":"adapter:ship", "phase":"adapters"}
#	0x1	gatewaytui/core/adapter/ship.(*conn).hang+0x12	/src/core/adapter/ship/conn.go:7

1 @ 0x5
# labels: {"item":"adapter:ferry \"x\"", "phase":"adapters"}
#	0x5	sync.runtime_SemacquireMutex+0x25	/go/src/runtime/sema.go:95
#	0x6	gatewaytui/core/adapter/ferry.(*conn).Close+0x1	/src/core/adapter/ferry/conn.go:12

1 @ 0x7
# labels: {"item":"store:gateway.db", "phase":"stores"}
#	0x7	gatewaytui/core/store.(*Store).Close+0x1	/src/core/store/store.go:1
`
	got := waitsOf(profile, "adapters")
	want := map[string]string{
		"adapter:dock":      "waits for the network or a file in dock.(*conn).Disconnect (conn.go:99)",
		"adapter:ship":      "waits in ship.(*conn).hang (conn.go:7)",
		`adapter:ferry "x"`: "waits for a lock or a group in ferry.(*conn).Close (conn.go:12)",
	}
	if len(got) != len(want) {
		t.Fatalf("it says %v", got)
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("of %s it says %q, want %q", name, got[name], text)
		}
	}
}

func FuzzWaitsOf(f *testing.F) {
	f.Add("1 @ 0x1\n# labels: {\"item\":\"a:b\", \"phase\":\"adapters\"}\n#\t0x1\tf+0x1\t/x/y.go:1\n")
	f.Add("# labels: {\"phase\":\"adapters\", \"item\":")
	f.Fuzz(func(t *testing.T, profile string) {
		for name, why := range waitsOf(profile, "adapters") {
			if why == "" || strings.ContainsAny(why, "\n\x1b") {
				t.Fatalf("of %q it says %q", name, why)
			}
		}
	})
}
