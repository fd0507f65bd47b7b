package gateway

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"gatewaytui/core/lives"
	"gatewaytui/core/ops"
)

// TF25: the heartbeat of a life that was killed may be long ago; what it committed, and its row in the list of lives, tell
// that it ran for longer. A list of a clock that was set back tells nothing.
func TestALifeThatWasKilledRanUntilItWasLastSeen(t *testing.T) {
	list := func(t *testing.T, dir string, rows ...ops.Life) *lives.List {
		l := lives.Files{Dir: dir}.List()
		if err := l.Put(rows...); err != nil {
			t.Fatal(err)
		}
		return l
	}
	dir := t.TempDir()
	kept := list(t, dir)
	first := start(t, func(s *setup) { s.dir, s.opts = dir, func(o *Options) { o.Home.Lives = kept } })
	began := time.Now()
	first.ask("api:user:a", "hello")
	answered := time.Now()
	first.stop(ops.ModeFast)
	row := first.g.recovery.Row()
	row.ID, row.StartedAt, row.HeartbeatAt = "killed", began.Add(-time.Minute), began.Add(-time.Minute)
	crash(t, dir, row)

	l := start(t, func(s *setup) {
		s.dir, s.opts = dir, func(o *Options) {
			o.Home.Lives = list(t, dir, ops.Life{Life: "killed", StartedAt: ops.At(row.StartedAt), LastSeenAt: ops.At(time.Now().Add(time.Hour)), Outcome: ops.OutcomeRunning})
		}
	})
	past, err := l.g.History(context.Background(), ops.Query{Filter: "killed"})
	if err != nil || len(past.Items) != 1 || past.Items[0].Outcome != ops.OutcomeCrashed {
		t.Fatalf("%+v, %v", past.Items, err)
	}
	if seen := past.Items[0].LastSeenAt; seen.Before(began) || seen.After(answered.Add(time.Minute)) {
		t.Errorf("it was last seen at %s, and committed an answer between %s and %s", seen, began, answered)
	}
	rows, err := lives.Read(dir)
	if err != nil || len(rows) < 3 || filepath.Base(rows[0].Life) != l.g.opts.Life || rows[0].Outcome != ops.OutcomeRunning {
		t.Errorf("the list holds %+v, %v", rows, err)
	}
}
