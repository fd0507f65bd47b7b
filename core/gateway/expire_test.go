package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"gatewaytui/core/conversation"
	"gatewaytui/core/ops"
	"gatewaytui/core/store"
	"gatewaytui/fixtures/soak"
)

// expiredSessions leaves n sessions whose time was over long ago.
func expiredSessions(t *testing.T, dir string, n int) {
	t.Helper()
	leave(t, dir, func(ctx context.Context, st *store.Store) error {
		long := time.Now().Add(-1000 * time.Hour)
		errs := make([]error, n)
		var writers sync.WaitGroup
		for i := range n { // side by side, so that they share commits
			writers.Go(func() {
				s := store.Session{
					Key: fmt.Sprintf("api:user:u%d", i), ID: fmt.Sprintf("old-%d", i), Platform: "api", State: ops.SessionIdle, CreatedAt: long, LastActivityAt: long,
				}
				turn := store.Turn{ID: s.ID, SessionID: s.ID, StartedAt: long, EndedAt: long, State: store.TurnDone}
				errs[i] = errors.Join(st.BeginTurn(ctx, s, turn, store.Message{Role: "user", At: long}), st.EndTurn(ctx, s, turn, nil))
			})
		}
		writers.Wait()
		return errors.Join(errs...)
	})
}

// D22, D3, S11: after a long downtime every session may have expired. They are ended by one task, which says how far it
// is, and nothing waits for it: no message to another session, and no turn that uses a tool.
func TestD22_ManyExpiredSessionsAreWorkedOffByOneTask(t *testing.T) {
	n, dir := soak.Count(t, 1000, 3000), t.TempDir()
	expiredSessions(t, dir, n)
	l := start(t, func(s *setup) {
		s.dir = dir
		s.cfg.Session.IdleReset.Duration = time.Hour
		s.cfg.Agent.CacheIdle.Duration = time.Second // looks come ten times as often
	})
	progress := false
	most := 0
	look := func() {
		tasks := 0
		for _, row := range l.g.background.Rows(time.Now()) {
			if strings.HasPrefix(row.Name, "expire") {
				tasks++
				progress = progress || strings.Contains(row.Progress, " of ") // those that were loaded when it began
			}
		}
		most = max(most, tasks)
	}
	l.wait("it has begun", func() bool { look(); return most > 0 })
	began := time.Now()
	if got := l.ask("api:user:fresh", "sh: echo tool"); !strings.Contains(got, "tool") {
		t.Errorf("a tool said %q meanwhile", got)
	}
	if took := time.Since(began); took > patience/2 {
		t.Errorf("another session's turn with a tool took %v", took)
	}
	l.wait("all are ended", func() bool {
		look()
		sessions := l.g.table.Counts().Sessions
		return sessions == 1
	})
	if most != 1 {
		t.Errorf("%d tasks ended them, at the same time", most)
	}
	if !progress {
		t.Error("the task's row never said how far it is")
	}
	if s, there, err := l.g.recovery.Store().CurrentSession(context.Background(), "api:user:u7"); there || err != nil {
		t.Errorf("the store still has %+v, %v", s, err)
	}
}

// A8: a stop in the middle of that ends within its plan, and what is left is ended by the next life.
func TestD22_AStopDoesNotWaitForTheSessionsThatExpired(t *testing.T) {
	n, dir := soak.Count(t, 1000, 3000), t.TempDir()
	expiredSessions(t, dir, n)
	quick := func(s *setup) {
		s.dir = dir
		s.cfg.Session.IdleReset.Duration = time.Hour
		s.cfg.Agent.CacheIdle.Duration = time.Second
	}
	l := start(t, quick)
	l.wait("it has begun", func() bool { return l.g.background.Count("", conversation.Expiring) > 0 })
	began := time.Now()
	report := l.stop(ops.ModeFast)
	if took := time.Since(began); took > patience/2 || report.Outcome != string(ops.OutcomeClean) {
		t.Errorf("the stop took %v and was %s", took, report.Outcome)
	}
	next := start(t, quick)
	next.wait("the next life ends the rest", func() bool {
		sessions := next.g.table.Counts().Sessions
		return sessions == 0
	})
}
