package gateway

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/shutdown"
)

// holdings is a holder of made-up resources.
type holdings struct {
	mu     sync.Mutex
	rows   []ops.Held
	hangs  map[string]bool // ids that no close ends
	keeps  string          // an id that stays though its close returns without an error
	closed []string        // the sessions that were closed, in their order
}

func (h *holdings) Rows() []ops.Held {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.rows)
}

func (h *holdings) CloseSession(ctx context.Context, session string) error {
	h.mu.Lock()
	h.closed = append(h.closed, session)
	hangs := false
	h.rows = slices.DeleteFunc(h.rows, func(r ops.Held) bool {
		hangs = hangs || r.Session == session && h.hangs[r.ID]
		return r.Session == session && !h.hangs[r.ID] && r.ID != h.keeps
	})
	h.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (h *holdings) CloseAll(ctx context.Context) error { return h.CloseSession(ctx, "") }

func (h *holdings) hold(kind ops.HeldKind, id, session string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rows = append(h.rows, ops.Held{Kind: kind, ID: id, Session: session, State: ops.HeldReady, Since: ops.At(time.Now())})
}

func (h *holdings) has(session string) bool {
	return slices.ContainsFunc(h.Rows(), func(r ops.Held) bool { return r.Session == session })
}

func TestS12_AResetEndsWhatASessionHoldsAndAnEvictionDoesNot(t *testing.T) {
	h := &holdings{}
	l := start(t, func(s *setup) { s.holder = h })
	const key, other = "cli:local", "cli:other"
	l.ask(key, "hello")
	h.hold(ops.HeldServer, "files", key)
	h.hold(ops.HeldServer, "files of another", other)
	l.do(ops.Command{Verb: ops.VerbEvict, Target: key})
	if !h.has(key) {
		t.Error("the eviction of an agent ended what its session held")
	}
	l.ask(key, "hello again")
	l.do(ops.Command{Verb: ops.VerbReset, Target: key})
	if h.has(key) {
		t.Error("the session was reset and its server is still held")
	}
	if !h.has(other) {
		t.Error("the reset of one session ended what another one held")
	}
}

func TestAStopNamesEachHeldResourceThatDoesNotEndAndKeepsItsPlan(t *testing.T) {
	h := &holdings{hangs: map[string]bool{"hanging": true, "hanging of the gateway": true, "hanging of an agent": true}, keeps: "kept"}
	l := start(t, func(s *setup) {
		s.holder = h
		s.cfg.Shutdown.AgentTimeout.Duration = 600 * time.Millisecond
	})
	l.ask("cli:local", "hello")
	h.hold(ops.HeldServer, "fine", "cli:a")
	h.hold(ops.HeldBrowser, "hanging", "cli:b")
	h.hold(ops.HeldAgent, "hanging of an agent", "cli:local")
	h.hold(ops.HeldServer, "hanging of the gateway", "")
	h.hold(ops.HeldServer, "kept", "cli:c")
	report := l.stop(ops.ModeGraceful)
	phase := phaseOf(t, report, shutdown.PhaseAgents)
	got := map[string]ops.StepState{}
	for _, item := range phase.Items {
		got[item.Kind+" "+item.ID] = item.State
		if item.ID == "kept@cli:c" && (item.State != ops.StepFailed || item.Detail != "it is still held: ready") {
			t.Errorf("the server that stays is %s in the report: %q", item.State, item.Detail)
		}
	}
	if got["server fine@cli:a"] != ops.StepDone {
		t.Errorf("the server that ends is %q in the report", got["server fine@cli:a"])
	}
	for _, name := range []string{"browser hanging@cli:b", "acp hanging of an agent@cli:local", "server hanging of the gateway"} {
		if s := got[name]; s == "" || s == ops.StepDone {
			t.Errorf("%s is %q in the report, and it did not end", name, s)
		}
	}
	if phase.ElapsedMS > phase.BudgetMS+(patience/4).Milliseconds() {
		t.Errorf("the phase took %d ms of %d", phase.ElapsedMS, phase.BudgetMS)
	}
}
