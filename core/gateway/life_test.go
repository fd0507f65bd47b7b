package gateway

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// A17: fifty lives in one process leave no goroutine, no descriptor and no memory.
func TestA17_FiftyLivesLeaveNothingBehind(t *testing.T) {
	live := func() {
		t.Run("a life", func(t *testing.T) { // whose cleanup holds it until then
			l := start(t)
			l.ask("api:user:a", "sh: echo x")
			l.job("api:user:a", "sleep 300")
			l.send("api:user:b", "hang")
			l.running("api:user:b")
			l.stop(ops.ModeFast)
		})
	}
	descriptors := func() int {
		open, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(open)
	}
	inUse := func() uint64 {
		runtime.GC()
		runtime.GC() // what the first one's finalizers let go
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	live() // what is made once is made now
	goroutines, fds, heap := runtime.NumGoroutine(), descriptors(), inUse()
	lives := soak.Count(t, 6, 50)
	for range lives {
		live()
	}
	if !eventually.Within(func() bool { return runtime.NumGoroutine() <= goroutines && descriptors() <= fds }) {
		t.Fatalf("after %d lives there are %d goroutines and %d descriptors, before them %d and %d", lives, runtime.NumGoroutine(), descriptors(), goroutines, fds)
	}
	const perLife = 64 << 10 // a life that is kept costs 500 KiB and more: its ring of events alone does
	if !eventually.Within(func() bool { return inUse() <= heap+uint64(lives)*perLife }) {
		t.Fatalf("after %d lives %d KiB of heap are in use, before them %d", lives, inUse()>>10, heap>>10)
	}
	t.Logf("heap in use: %d KiB after the first life, %d KiB after %d more", heap>>10, inUse()>>10, lives)
}

// manager is a service manager that notes what it receives.
type manager struct {
	mu    sync.Mutex
	words []string
}

func (n *manager) say(format string, args ...any) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.words = append(n.words, fmt.Sprintf(format, args...))
	return nil
}

func (n *manager) Ready(string) error            { return n.say("ready") }
func (n *manager) Stopping(status string) error  { return n.say("stopping %s", status) }
func (n *manager) Status(text string) error      { return n.say("status %s", text) }
func (n *manager) Extend(by time.Duration) error { return n.say("extend %s", by) }

// G2: the service manager hears that the gateway is ready, that it stops, in which phase and for what, and is asked for more
// time when an operator gives some, and only then.
func TestTheServiceManagerIsKeptInformed(t *testing.T) {
	n := &manager{}
	l := start(t, func(s *setup) {
		s.cfg.Shutdown.DrainTimeout.Duration = time.Minute
		s.opts = func(o *Options) { o.Supervisor.Notify = n }
	})
	l.send("api:user:a", "hang")
	l.running("api:user:a")
	l.g.Stop(StopRequest{Mode: ops.ModeGraceful, Reason: "SIGTERM", By: "signal"})
	l.wait("it drains", func() bool {
		s, err := l.g.Shutdown(context.Background())
		p, running := s.Running()
		return err == nil && running && p.Name == "drain"
	})
	l.do(ops.Command{Verb: ops.VerbExtend, ByMS: 5000})
	l.do(ops.Command{Verb: ops.VerbForce})
	l.report()
	all := strings.Join(n.words, "\n")
	for _, want := range []string{"ready\n", "stopping stopping: SIGTERM", "status stopping: drain, at most 1m, waiting for turn:api:user:a", "extend 5s", "status stopping: surrender"} {
		if !strings.Contains(all, want) {
			t.Errorf("it did not hear %q, only:\n%s", want, all)
		}
	}
	if strings.Count(all, "extend") != 1 {
		t.Errorf("it was asked for more time more than once:\n%s", all)
	}
}
