package store

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"gatewaytui/core/ops"
)

// F12: while old rows are deleted nobody waits long for the writer, however many there are. The bound is far above what a
// step takes, and far below what one that reads a whole table for each row would.
func TestF12_RetentionNeverHoldsTheWriterForLong(t *testing.T) {
	const sessions, turns, messages = 400, 5, 20
	ctx := t.Context()
	s := open(t, t.TempDir())
	must(t, s.write(ctx, "fill", func(x *tx) error {
		for i := range sessions {
			if _, err := x.exec(`INSERT INTO sessions (id, key, platform, user, target, state, created_at, last_activity_at, ended_at, end_reason, tokens_in, tokens_out)
				VALUES (?1, ?1, '', '', '', 'idle', 1, 1, 1, 'reset', 0, 0)`, fmt.Sprint("s", i)); err != nil {
				return err
			}
			for j := range turns {
				id := fmt.Sprint("t", i, ".", j)
				if _, err := x.exec(`INSERT INTO turns (id, session_id, life, started_at, state, reason, tokens_in, tokens_out) VALUES (?, ?, '', 1, 'done', '', 0, 0)`, id, fmt.Sprint("s", i)); err != nil {
					return err
				}
				for range messages {
					if _, err := x.exec(`INSERT INTO messages (session_id, turn_id, role, content, tool_call_id, at) VALUES (?, ?, 'user', 'hello', '', 1)`, fmt.Sprint("s", i), id); err != nil {
						return err
					}
				}
			}
			for j := range 50 {
				if _, err := x.exec(`INSERT INTO audit (id, at, verb, target, via, uid, pid, tty, user, reason, state, detail) VALUES (?, 1, '', '', '', 0, 0, '', '', '', '', '')`, fmt.Sprint(i, ".", j)); err != nil {
					return err
				}
			}
		}
		return nil
	}))
	over := make(chan struct{})
	var longest time.Duration
	var writing sync.WaitGroup
	writing.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
			}
			began := time.Now()
			if err := s.PutLife(context.WithoutCancel(ctx), Life{ID: "beside", Outcome: ops.OutcomeRunning}); err != nil {
				t.Error(err)
			}
			longest = max(longest, time.Since(began))
		}
	})
	var total Pruned
	steps := 0
	for more := true; more; steps++ {
		p, err := s.Prune(ctx, noon, 500)
		must(t, err)
		more = p.Any()
		total.Add(p)
	}
	close(over)
	writing.Wait()
	t.Logf("%d steps; the longest write beside them took %v", steps, longest)
	if total.Sessions != sessions || total.Turns != sessions*turns || total.Messages != sessions*turns*messages || total.Audit != sessions*50 {
		t.Errorf("deleted were %+v", total)
	}
	if longest > time.Second { // 200 ms on a machine of its own
		t.Errorf("a write waited %v", longest)
	}
}
