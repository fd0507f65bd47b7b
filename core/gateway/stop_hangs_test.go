package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
	"gatewaytui/core/shutdown"
	"gatewaytui/core/store"
)

// S6, A2: a notice that never completes neither delays the others nor is sent twice.
func TestS6_NoticesAreBoundedAndNoChatGetsTwo(t *testing.T) {
	var mu sync.Mutex
	notices := map[string]int{}
	l := start(t, func(s *setup) {
		s.chat.send = func(ctx context.Context, m adapter.Outgoing) error {
			mu.Lock()
			notices[m.Target]++
			mu.Unlock()
			if m.Target == "1" {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
	})
	for _, target := range []string{"1", "2", "3"} {
		l.say("chat:dm:"+target, target, "hang")
		l.running("chat:dm:" + target)
	}
	// A second session in the same chat: one chat gets one notice.
	l.say("chat:dm:2:topic:7", "2", "hang")
	l.running("chat:dm:2:topic:7")
	l.g.Stop(StopRequest{Mode: ops.ModeGraceful, Reason: "test", By: "the test"})
	l.wait("the notices are out", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(notices) == 3
	})
	mu.Lock()
	for target, n := range notices {
		if n != 1 {
			t.Errorf("chat %s got %d notices while the notices went out", target, n)
		}
	}
	mu.Unlock()
	report := l.report()
	notify := phaseOf(t, report, "notify")
	if len(notify.Items) != 3 || notify.ElapsedMS > notify.BudgetMS+(patience/4).Milliseconds() {
		t.Fatalf("notify: %+v, want three chats within its budget", notify)
	}
}

// S5, A1: sixteen adapters that never disconnect cost one bound, not sixteen.
func TestS5_WedgedAdaptersCostTheSlowestNotTheSum(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	const bound = 500 * time.Millisecond
	l := start(t, func(s *setup) {
		s.cfg.Shutdown.AdapterTimeout.Duration = bound
		for i := range 16 {
			s.platforms = append(s.platforms, &platform{name: fmt.Sprintf("p%d", i), disconnect: func(context.Context) error {
				<-release
				return nil
			}})
		}
	})
	l.wait("all are connected", func() bool { n, _ := l.g.adapters.Counts(); return n == 17 })
	report := l.stop(ops.ModeGraceful)
	p := phaseOf(t, report, "adapters")
	if took := time.Duration(p.ElapsedMS) * time.Millisecond; took > 16*bound/2 {
		t.Fatalf("the phase took %v at a bound of %v each", took, bound)
	}
	late := 0
	for _, it := range p.Items {
		if it.State == ops.StepTimedOut {
			late++
		}
	}
	if late != 16 {
		t.Fatalf("%d of 16 wedged adapters are named as timed out: %+v", late, p.Items)
	}
	if report.ExitCode != 0 || report.Outcome != ops.ShutdownIncomplete {
		t.Fatalf("the stop ended %s with %d, want incomplete with 0: what hangs never changes the exit code", report.Outcome, report.ExitCode)
	}
}

// S17: a store that cannot be closed does not keep the next from being closed.
func TestS17_AStoreThatFailsToCloseDoesNotKeepTheNextOpen(t *testing.T) {
	var closed atomic.Bool
	l := start(t, func(s *setup) {
		s.opts = func(o *Options) {
			o.Stores = []shutdown.Item{
				{Kind: "store", ID: "broken", Run: func(context.Context) error { return errors.New("disk gone") }},
				{Kind: "store", ID: "panicking", Run: func(context.Context) error { panic("bug") }},
				{Kind: "store", ID: "good", Run: func(context.Context) error { closed.Store(true); return nil }},
			}
		}
	})
	report := l.stop(ops.ModeGraceful)
	if !closed.Load() {
		t.Fatal("the good store was not closed")
	}
	// The phase is the critical one: a store that did not close is worth a failed exit.
	if p := phaseOf(t, report, "stores"); p.State != ops.StepFailed || report.ExitCode != 1 {
		t.Fatalf("stores: %+v, exit code %d", p, report.ExitCode)
	}
	again, err := store.Open(context.Background(), store.Options{Path: l.dir + "/gateway.db", Log: l.g.opts.Log})
	if err != nil {
		t.Fatalf("the store of the ended life: %v", err)
	}
	if err := again.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// Everything at once: no adapter disconnects, no model answers, a turn ignores its end, no notice can be sent, trees
// ignore TERM. The stop still ends within its plan and nothing is left.
func TestEverythingHangsAndTheStopIsStillBounded(t *testing.T) {
	release := make(chan struct{})
	l := start(t, func(s *setup) {
		hang := func(ctx context.Context) error { <-release; return ctx.Err() }
		s.chat.disconnect = hang
		s.chat.send = func(ctx context.Context, m adapter.Outgoing) error {
			if strings.HasPrefix(m.Text, "The gateway is stopping") {
				return hang(ctx)
			}
			return nil
		}
	})
	pid := l.job("api:user:job", "trap '' TERM HUP; (setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done') & while :; do sleep 1; done")
	l.say("chat:dm:1", "1", "wedge")
	l.running("chat:dm:1")
	l.say("chat:dm:2", "2", "hang")
	l.running("chat:dm:2")
	plan, err := l.g.Plan(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	report := l.stop(ops.ModeGraceful)
	close(release)
	if report.ElapsedMS > plan.WorstCaseMS {
		t.Fatalf("the stop took %d ms, its plan said %d at the worst", report.ElapsedMS, plan.WorstCaseMS)
	}
	if alive(pid) {
		t.Fatalf("process %d outlives the gateway", pid)
	}
	if err := syscall.Kill(-pid, 0); err == nil {
		t.Fatalf("the group of %d outlives the gateway", pid)
	}
	if report.ExitCode != 0 || report.Outcome != ops.ShutdownIncomplete {
		t.Fatalf("the stop ended %s with %d", report.Outcome, report.ExitCode)
	}
}
