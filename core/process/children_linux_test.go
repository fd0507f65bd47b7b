package process

import (
	"testing"
	"time"

	"gatewaytui/fixtures/eventually"
)

// A tree that has ended is known to have ended without a look at the process table, and one that has not never is.
func TestATreeThatEndedIsKnownWithoutAScan(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		over         bool
	}{
		{"a command that left nothing", `exit 0`, true},
		{"one whose child ended before it", `sleep 0 & wait`, true},
		{"one that left a child", `sleep 1000 & echo child=$!`, false},
		{"one that left a child in a session of its own", `setsid sleep 1000 & echo child=$!`, false},
		{"one that left a grandchild whose parent ended", `(sleep 1000 & echo child=$!) &
wait`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := registry(t)
			other := sh(t, r, `exec sleep 1000`) // another tree, which runs
			p := start(t, r, Spec{Session: "s", Turn: "t", Policy: PolicyTurn, Argv: []string{"bash", "-c", tt.script}})
			wait(t, p)
			r.scanTurn <- struct{}{} // no look can be made
			over := r.childrenGone(selection{tree: func(q *tree) bool { return q == p.tree }, none: true})
			r.giveScan()
			if over != tt.over {
				t.Fatalf("known to be over: %v, want %v", over, tt.over)
			}
			verified(t, r.KillTurn(t.Context(), "t", short))
			if _, gone := other.Exited(); gone {
				t.Error("another tree was ended")
			}
		})
	}
}

// All who wait for a look share the next one.
func TestWhoWaitsForALookSharesTheNextOne(t *testing.T) {
	r := registry(t)
	sh(t, r, `exec sleep 1000`)
	r.scanTurn <- struct{}{}
	const n = 50
	views := make(chan view, n)
	for range n {
		go func() { views <- r.observe(t.Context(), time.Now().Add(patience), false) }()
	}
	eventually.True(t, "all wait", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.next != nil && r.next.asked >= n
	})
	r.mu.Lock()
	before := r.scans
	r.mu.Unlock()
	r.giveScan()
	for range n {
		if v := <-views; v.err != nil || len(v.owned) != 1 {
			t.Errorf("a view of %d trees, %v", len(v.owned), v.err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	// The sweep may look once in addition.
	if got := r.scans - before; got > 2 {
		t.Errorf("%d looks for %d who waited at the same time", got, n)
	}
}
