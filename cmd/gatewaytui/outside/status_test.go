package outside

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

// seed puts n idle sessions into the store of a home that no gateway runs on.
func seed(t testing.TB, home string, n int) {
	t.Helper()
	st, err := store.Open(context.Background(), store.Options{Path: filepath.Join(home, "gateway.db"), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for i := range n {
		s := store.Session{Key: fmt.Sprintf("telegram:dm:%d", i), ID: fmt.Sprintf("s%d", i), Platform: "telegram", User: "someone", State: ops.SessionIdle, CreatedAt: now, LastActivityAt: now}
		if err := st.PutSession(context.Background(), s); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Close(context.Background()); err != nil {
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
	for i := range n {
		row := store.Process{Life: "killed", PID: 4_000_000 + i, StartTicks: 1, BootID: "an earlier boot", Session: "telegram:dm:1", Command: "sleep", Policy: "session", StartedAt: time.Now()}
		if err := st.PutProcess(context.Background(), row); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// H4: status answers at once with 5,000 sessions and a wedged agent, also while a stop hangs.
func TestH4_StatusAnswersWhateverHangs(t *testing.T) {
	home := newHome(t)
	seed(t, home, 5000)
	g := start(t, home, longDrain())
	g.say("wedged", "wedge 300")
	g.running("api:user:wedged", "model call")
	ask := func() time.Duration {
		var took []time.Duration
		for range 5 {
			began := time.Now()
			var s struct {
				Counts struct{ Sessions int }
			}
			if status := g.socket(http.MethodGet, "/v1/status", nil, &s); status != http.StatusOK || s.Counts.Sessions != 5001 {
				t.Fatalf("status: %d %+v", status, s)
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		return took[len(took)/2] // other tests share the machine: one slow answer is theirs
	}
	if took := ask(); took > 100*time.Millisecond {
		t.Fatalf("status took %v", took)
	}
	g.signal(15)
	g.phase("drain", "running")
	if took := ask(); took > 100*time.Millisecond {
		t.Fatalf("while the stop hangs status took %v", took)
	}
	if out, code := g.verb("shutdown", "force", "--yes"); code != 0 {
		t.Fatalf("force: %d %s", code, out)
	}
	if code := g.exit(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}
