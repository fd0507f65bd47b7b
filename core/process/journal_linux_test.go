package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/term"
	"gatewaytui/fixtures/eventually"
)

// A row is there before Spawn returns, with the identity that tells a later life whether the process is still the same
// one (DESIGN.md, 5; C2), and it ends when nothing of the tree is left.
func TestC2_EveryTreeIsInTheJournal(t *testing.T) {
	j := &records{}
	r := registry(t, func(o *Options) {
		o.Journal, o.Redactor = j, term.NewRedactor("canary-secret-of-ours")
	})
	p := sh(t, r, `sleep 1000 & exit 0`, func(s *Spec) {
		s.Command, s.Session = "deploy --password canary-secret-of-ours\x1b[2J", "api:user:alice"
	})
	j.mu.Lock()
	if len(j.started) != 1 {
		t.Fatalf("%d rows when Spawn returned", len(j.started))
	}
	e := j.started[0]
	j.mu.Unlock()
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	if e.PID != p.PID() || e.StartTicks != p.tree.leader.Start || e.BootID != strings.TrimSpace(string(boot)) ||
		e.Life != testLife || e.Session != "api:user:alice" || e.Policy != PolicySession || !e.StartedAt.Equal(p.StartedAt()) {
		t.Errorf("the row is %+v", e)
	}
	if strings.Contains(e.Command, "canary") || strings.Contains(e.Command, "\x1b") || !strings.HasPrefix(e.Command, "deploy ") {
		t.Errorf("the command is written as %q (I1)", e.Command)
	}
	wait(t, p)
	if how := j.endOf(p.PID()); how != "" {
		t.Errorf("the tree is %q, but its child lives", how)
	}
	verified(t, p.Kill(t.Context(), short))
	if err := r.Recorded(t.Context()); err != nil || j.endOf(p.PID()) != EndedByKill {
		t.Errorf("once the journal has everything (%v) the end is %q", err, j.endOf(p.PID()))
	}

	q := sh(t, r, `exit 0`)
	eventually.True(t, "an end of its own is in the journal", func() bool { return j.endOf(q.PID()) == EndedByItself })

	o := sh(t, r, `(setsid env -i /bin/bash -c 'exec /bin/sleep 1000' </dev/null >&- 2>&- &); exec sleep 1000`)
	verified(t, r.KillAll(t.Context(), short))
	eventually.True(t, "every row has an end", func() bool {
		j.mu.Lock()
		defer j.mu.Unlock()
		for _, e := range j.started {
			if j.ended[e.PID] == "" {
				return false
			}
		}
		return j.ended[o.PID()] == EndedByKill
	})
	if err := r.JournalError(); err != nil {
		t.Error(err)
	}
}

// A journal that fails does not keep a turn from working, but it is never hidden.
func TestJournal_AFailureIsShownAndStopsNothing(t *testing.T) {
	j := &records{}
	j.refuse(errRefused)
	r := registry(t, func(o *Options) { o.Journal = j })
	p := sh(t, r, `exec sleep 1000`)
	if err := r.JournalError(); !errors.Is(err, errRefused) || !strings.Contains(err.Error(), fmt.Sprintf("record start of pid %d", p.PID())) {
		t.Errorf("the journal's state is %v", err)
	}
	j.refuse(nil)
	q := sh(t, r, `exec sleep 1000`)
	if err := r.JournalError(); err != nil {
		t.Errorf("after a success: %v", err)
	}
	verified(t, r.KillAll(t.Context(), short))
	eventually.True(t, "what it knows of has ended", func() bool { return j.endOf(q.PID()) == EndedByKill })
}

// stuck is a journal that takes nothing in until it is freed, or its context ends.
type stuck struct {
	free  chan struct{}
	mu    sync.Mutex
	calls int
}

func (s *stuck) Record(ctx context.Context, notes []Note) error {
	s.mu.Lock()
	s.calls += len(notes)
	s.mu.Unlock()
	select {
	case <-s.free:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestJournal_OneThatHangsCostsASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stuck{free: make(chan struct{})}
		c := newRecorder(s, discard)
		stop := make(chan struct{})
		var loop sync.WaitGroup
		loop.Go(func() { c.run(stop) })

		began := time.Now()
		c.wait(t.Context(), c.add(Entry{PID: 1}, ""))
		if took := time.Since(began); took != spawnWait {
			t.Errorf("a spawn waited %v", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began = time.Now()
		c.wait(ctx, c.add(Entry{PID: 2}, ""))
		if took := time.Since(began); took != 0 {
			t.Errorf("a spawn that was given up waited %v", took)
		}
		time.Sleep(journalWait) // virtual: the first call is over, the second one hangs
		if err := c.failure(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("its state is %v", err)
		}

		// What waits for it is bounded, and what was dropped is said. The loop is at work on a first part of it.
		for i := range 100 {
			c.add(Entry{PID: i}, EndedByItself)
		}
		time.Sleep(journalWait) // virtual
		for i := range journalBacklog + 10 {
			c.add(Entry{PID: i}, EndedByItself)
		}
		c.mu.Lock()
		if n := len(c.queue); n != journalBacklog {
			t.Errorf("%d entries wait", n)
		}
		c.mu.Unlock()
		if err := c.failure(); !errors.Is(err, errBacklog) {
			t.Errorf("its state is %v", err)
		}

		// At the end it gets what it takes, and one call's bound when it takes nothing.
		began = time.Now()
		close(stop)
		loop.Wait()
		if took := time.Since(began); took > 2*journalWait {
			t.Errorf("the end took %v", took)
		}
	})
}

func TestJournal_TheEndWritesWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stuck{free: make(chan struct{})}
		c := newRecorder(s, discard)
		stop := make(chan struct{})
		for i := range 100 {
			c.add(Entry{PID: i}, EndedByKill)
		}
		close(stop)
		close(s.free)
		c.run(stop)
		if s.calls != 100 {
			t.Errorf("%d of 100 were written", s.calls)
		}
	})
}

// CV13: a deletion waits for the ends of the processes that it killed, since only rows with an end are deleted.
func TestJournal_RecordedWaitsForWhatWasQueuedBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stuck{free: make(chan struct{})}
		c := newRecorder(s, discard)
		if err := c.flush(t.Context()); err != nil {
			t.Errorf("nothing was queued, and the wait ended with %v", err)
		}
		stop := make(chan struct{})
		var loop sync.WaitGroup
		loop.Go(func() { c.run(stop) })
		recorded := c.add(Entry{PID: 1}, EndedByKill)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the journal hangs, and the wait ended with %v", err)
		}
		time.Sleep(500 * time.Millisecond) // virtual
		close(s.free)
		if err := c.flush(t.Context()); err != nil || !closed(recorded) {
			t.Errorf("the journal has it: %v, and the wait ended with %v", closed(recorded), err)
		}
		close(stop)
		loop.Wait()
	})
}
