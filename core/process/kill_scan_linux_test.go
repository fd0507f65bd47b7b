package process

import (
	"context"
	"errors"
	"testing"
	"time"

	"gatewaytui/fixtures/eventually"
)

// A8: while a look at the processes hangs, every kill answers within its grace and a second, or soon after its context's
// end, and says that it could not look; so does the close. What can be looked at again can be killed.
func TestA8_AKillThatCannotLookAnswersInTime(t *testing.T) {
	r := registry(t, at(ContainmentSubreaper)) // a control group would be ended without a look
	// One that no group reaches, so that it takes a look to end the tree.
	p := start(t, r, Spec{Session: "s", Turn: "t", Policy: PolicyTurn, Argv: []string{"bash", "-c", `setsid sleep 1000 & echo ready; exec sleep 1000`}})
	ready(t, p)
	r.scanTurn <- struct{}{} // a scan that hangs
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	tests := []struct {
		name  string
		bound time.Duration
		kill  func() Report
	}{
		{"one process", short + time.Second, func() Report {
			rep, err := r.KillPID(t.Context(), p.PID(), short)
			if err != nil {
				t.Error(err)
			}
			return rep
		}},
		{"a session", short + time.Second, func() Report { return r.KillSession(t.Context(), "s", short) }},
		{"a turn, at once", time.Second, func() Report { return r.KillTurn(t.Context(), "t", 0) }},
		{"everything", short + time.Second, func() Report { return r.KillAll(t.Context(), short) }},
		{"everything, with a context that ends", 300 * time.Millisecond, func() Report { return r.KillAll(ctx, time.Minute) }},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			began := time.Now()
			rep := tc.kill()
			if took := time.Since(began); took > tc.bound+late {
				t.Errorf("it took %v, and %v is promised", took, tc.bound)
			}
			if rep.Verified || !errors.Is(rep.Problem, errScanning) {
				t.Errorf("the report is %+v", rep)
			}
			if rows := r.Rows(); len(rows) != 1 || rows[0].State != "kill failed" {
				t.Errorf("the rows are %+v", rows)
			}
		})
	}
	if n, err := p.Left(); !errors.Is(err, errScanning) {
		t.Errorf("%d are left, %v, by a look that was not made", n, err)
	}
	r.giveScan()
	eventually.True(t, "what can be looked at again is ended", func() bool { return p.Kill(t.Context(), short).Verified })
	if lives(p.tree.leader) {
		t.Error("the process lives on")
	}
}

// D22: the end of a session that started nothing costs no look at the processes, and neither does that of one of which
// nothing is left since a kill was verified. A session with anything to be found is looked for.
func TestD22_WhoStartedNothingIsNotLookedFor(t *testing.T) {
	r := registry(t)
	over, cancel := context.WithCancel(t.Context())
	cancel() // who must look, and cannot, says so at once
	looks := func(session string) bool {
		t.Helper()
		r.scanTurn <- struct{}{}
		rep := r.KillSession(over, session, 0)
		r.giveScan()
		if rep.Verified {
			return false
		}
		verified(t, r.KillSession(t.Context(), session, short))
		return true
	}
	p := sh(t, r, `sleep 1000 & echo child=$!`) // leaves an orphan
	child := said(t, p, "child")
	wait(t, p)
	if looks("another") {
		t.Error("a session that started nothing was looked for")
	}
	if !looks("s") || lives(child) {
		t.Errorf("what a session left was not looked for, or lives: %v", lives(child))
	}
	if looks("s") {
		t.Error("a session of which nothing is left was looked for")
	}
	sh(t, r, `exec sleep 1000`)
	if !looks("s") {
		t.Error("a session that started something again was not looked for")
	}

	// A fork under way, which no tree shows yet.
	r.mu.Lock()
	r.lastID++
	id := r.lastID
	r.pending[id], r.spawned["forks"] = &tree{session: "forks"}, id
	r.mu.Unlock()
	if !looks("forks") {
		t.Error("a session with a fork under way was not looked for")
	}
	if !looks("forks") {
		t.Error("what forked during a kill is not looked for afterwards")
	}
	r.forked(id)
	if !looks("forks") || looks("forks") {
		t.Error("after the fork's end it is looked for once more, and then no more")
	}
}

// A8: the close answers soon after its context's end, also while the look at the processes hangs, and says so.
func TestA8_ACloseThatCannotLookAnswersInTime(t *testing.T) {
	r := New(Options{Life: testLife, HomeID: testHome(), KillGrace: time.Minute, Log: discard})
	if err := r.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := sh(t, r, `exec sleep 1000`)
	r.scanTurn <- struct{}{}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	err := r.Close(ctx)
	if took := time.Since(began); took > time.Second+late {
		t.Errorf("it took %v", took)
	}
	if err == nil {
		t.Error("a close that could not look said nothing of it")
	}
	r.giveScan()
	// The looks that were waiting come first, and a kill does not wait long for its turn.
	eventually.True(t, "what can be looked at again is ended", func() bool { return p.Kill(t.Context(), 0).Verified })
	if lives(p.tree.leader) {
		t.Error("the process lives on")
	}
	r.loops.Wait()
	r.readers.Wait()
	// The close was not completed, and the next test opens another registry.
	if err := setSubreaper(false); err != nil {
		t.Error(err)
	}
	isOpen.Store(false)
}
