package process

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gatewaytui/core/limit"
)

// bounded opens a registry with bounds, and counts how often each was reached.
func bounded(t *testing.T, session, total int) (*Registry, func(name string) int) {
	t.Helper()
	var mu sync.Mutex
	reached := map[string]int{}
	r := registry(t, func(o *Options) {
		o.PerSession, o.Total = session, total
		o.OnLimit = func(name string) {
			mu.Lock()
			defer mu.Unlock()
			reached[name]++
		}
	})
	return r, func(name string) int {
		mu.Lock()
		defer mu.Unlock()
		return reached[name]
	}
}

func sleeper(session string) Spec {
	return Spec{Argv: []string{"sleep", "300"}, Session: session, Policy: PolicySession}
}

// HF9: 2,538 background processes of one session ran.
func TestHF9_ASpawnBeyondTheBoundOfItsSessionIsRefusedWithWhatRuns(t *testing.T) {
	const bound = 4
	r, reached := bounded(t, bound, 100)
	var pids []int
	for range bound {
		p, err := r.Spawn(t.Context(), sleeper("cli:a"))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, p.PID())
	}
	_, err := r.Spawn(t.Context(), sleeper("cli:a"))
	refused, is := errors.AsType[*LimitError](err)
	if !is || refused.Name != limit.Processes || refused.Bound != bound || len(refused.Running) != bound {
		t.Fatalf("the spawn beyond the bound got %v", err)
	}
	for _, want := range []string{"limits.processes", fmt.Sprintf("pid %d sleep 300", pids[0]), "action kill"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the refusal %q does not say %q", err, want)
		}
	}
	if _, err := r.Spawn(t.Context(), sleeper("cli:b")); err != nil {
		t.Errorf("another session's spawn is refused: %v", err)
	}
	if most, total := r.Held(); most != bound || total != bound+1 || reached(limit.Processes) != 1 {
		t.Errorf("held are %d of one session and %d in all, reached %d times", most, total, reached(limit.Processes))
	}
	if report := r.KillSession(t.Context(), "cli:a", time.Second); !report.Verified {
		t.Fatal(report.Summary())
	}
	if _, err := r.Spawn(t.Context(), sleeper("cli:a")); err != nil {
		t.Errorf("when the session's processes have ended a spawn is refused: %v", err)
	}
}

func TestASpawnBeyondTheBoundOfAllSessionsIsRefused(t *testing.T) {
	r, reached := bounded(t, 100, 3)
	for i := range 3 {
		if _, err := r.Spawn(t.Context(), sleeper(fmt.Sprintf("cli:%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	_, err := r.Spawn(t.Context(), sleeper("cli:new"))
	if refused, is := errors.AsType[*LimitError](err); !is || refused.Name != limit.ProcessesTotal || len(refused.Running) != 0 || reached(limit.ProcessesTotal) != 1 {
		t.Errorf("the spawn beyond the bound got %v", err)
	}
}

// Starts that come at once are counted before they are trees.
func TestOfManySpawnsAtOnceAsManyStartAsMay(t *testing.T) {
	const bound, asked = 5, 40
	r, reached := bounded(t, bound, 100)
	var all sync.WaitGroup
	var started atomic.Int64
	for range asked {
		all.Go(func() {
			_, err := r.Spawn(context.Background(), sleeper("cli:a"))
			if _, refused := errors.AsType[*LimitError](err); err == nil {
				started.Add(1)
			} else if !refused {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if started.Load() != bound || reached(limit.Processes) != asked-bound {
		t.Errorf("%d started and %d were refused, want %d and %d", started.Load(), reached(limit.Processes), bound, asked-bound)
	}
}

// Commands that have ended do not count, however quickly one follows another, and a start that fails counts no longer.
func TestCommandsThatEndedDoNotCount(t *testing.T) {
	const bound = 2
	r, reached := bounded(t, bound, 100)
	if _, err := r.Spawn(t.Context(), sleeper("cli:a")); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		spec := Spec{Argv: []string{"true"}, Session: "cli:a", Turn: "t", Policy: PolicyTurn}
		p, err := r.Spawn(t.Context(), spec)
		if err != nil {
			t.Fatalf("command %d: %v", i, err)
		}
		if _, err := p.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Spawn(t.Context(), Spec{Argv: []string{"/nowhere/at/all"}, Session: "cli:a", Policy: PolicyTurn}); err == nil || strings.Contains(err.Error(), "limits.") {
			t.Fatalf("a program that is not there: %v", err)
		}
	}
	if n := reached(limit.Processes); n != 0 {
		t.Errorf("the bound was reached %d times", n)
	}
}
