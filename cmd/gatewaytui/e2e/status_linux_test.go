package e2e

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
	"gatewaytui/fixtures/eventually"
)

// seed puts n idle sessions into the store of a home that no gateway runs on.
func seed(t testing.TB, home string, n int) {
	t.Helper()
	st, err := store.Open(context.Background(), store.Options{Path: filepath.Join(home, "gateway.db"), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	errs := make([]error, n+1)
	var writers sync.WaitGroup
	for i := range n { // side by side, so that they share commits
		writers.Go(func() {
			s := store.Session{Key: fmt.Sprintf("telegram:dm:%d", i), ID: fmt.Sprintf("s%d", i), Platform: "telegram", User: "someone", State: ops.SessionIdle, CreatedAt: now, LastActivityAt: now}
			turn := store.Turn{ID: s.ID, SessionID: s.ID, StartedAt: now, EndedAt: now, State: store.TurnDone}
			errs[i] = errors.Join(st.BeginTurn(t.Context(), s, turn, store.Message{Role: "user", At: now}), st.EndTurn(t.Context(), s, turn, nil))
		})
	}
	writers.Wait()
	errs[n] = st.Close(context.Background())
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// seedJournal puts n rows of processes that have long ended into the journal, as a killed life leaves them.
func seedJournal(t testing.TB, home string, n int) {
	t.Helper()
	st, err := store.Open(context.Background(), store.Options{Path: filepath.Join(home, "gateway.db"), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]store.Process, n)
	for i := range rows {
		rows[i] = store.Process{Life: "killed", PID: 4_000_000 + i, StartTicks: 1, BootID: "an earlier boot", Session: "telegram:dm:1", Command: "sleep", Policy: "session", StartedAt: time.Now()}
	}
	if err := st.RecordProcesses(context.Background(), rows); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// H4: status answers with 5,000 sessions and a wedged agent, also while a stop hangs: it waits for neither, both of which
// take a minute or more. How quick it is BenchmarkStatus measures.
func TestH4_StatusAnswersWhileAnythingHangs(t *testing.T) {
	t.Parallel() // it mostly waits
	home := newHome(t)
	seed(t, home, 5000)
	g := start(t, home, longDrain())
	g.say("wedged", "wedge 300")
	g.running("api:user:wedged", "model call")
	type answer struct {
		State  string
		Counts struct{ Sessions int }
	}
	status := func() (a answer) {
		t.Helper()
		if status := g.socket(http.MethodGet, "/v1/status", nil, &a); status != http.StatusOK {
			t.Fatalf("status: %d", status)
		}
		return a
	}
	ask := func(state string) {
		t.Helper()
		if s := status(); s.Counts.Sessions != 5001 || s.State != state {
			t.Fatalf("status: %+v, want 5001 sessions and state %s", s, state)
		}
	}
	// Ready waits for the first 2,000 sessions (core/recovery/load.go).
	eventually.True(t, "all sessions are loaded", func() bool { return status().Counts.Sessions == 5001 })
	ask("running")
	g.signal(15)
	g.phase("drain", "running")
	for range 5 {
		ask("stopping") // an answer that had waited for the drain would say something else
	}
	if out, code := g.verb("shutdown", "force", "--yes"); code != 0 {
		t.Fatalf("force: %d %s", code, out)
	}
	if code := g.exit(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}
