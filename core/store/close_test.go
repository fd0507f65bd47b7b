package store

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"gatewaytui/core/ops"
)

// closeBound is what closing may cost where nothing of our own is in the way, on a machine that is ten times as slow as usual.
// What closing must not wait for lasts for ever.
const closeBound = 10 * time.Second

func closeWithin(t *testing.T, s *Store, d time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	began := time.Now()
	err := s.Close(ctx)
	if took := time.Since(began); took > d+closeBound {
		t.Errorf("Close took %s of the %s that it had", took, d)
	}
	return err
}

func mustWrite(t *testing.T, s *Store, id string) {
	t.Helper()
	if err := s.PutLife(t.Context(), Life{ID: id, Outcome: ops.OutcomeRunning}); err != nil {
		t.Fatal(err)
	}
}

// F3: no checkpoint is demanded that would wait for the reader.
func TestF3_CloseDoesNotWaitForASnapshotThatAnotherProcessHolds(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	mustWrite(t, s, "before")
	reader := start(t, "pin a snapshot", dir)
	reader.Line(t)
	mustWrite(t, s, "after")

	if err := closeWithin(t, s, closeBound); err != nil {
		t.Fatalf("close with a pinned reader: %v", err)
	}
	next := open(t, dir) // while the reader still holds its snapshot
	mustWrite(t, next, "next life")
	if lives, _, err := next.Lives(t.Context(), 0, ""); err != nil || len(lives) != 3 {
		t.Errorf("the next life sees %d lives (%v), 3 were acknowledged", len(lives), err)
	}
	shut(t, next)
	reader.End(t)
	check := start(t, "check integrity", dir)
	if word := check.Line(t); word != "ok" {
		t.Errorf("integrity check says %q", word)
	}
	check.End(t)
}

// unlocked fails if any process holds a lock on a file of the database: the next writer would wait for it. No Store may
// be open in this process.
func unlocked(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"gateway.db", "gateway.db-wal", "gateway.db-shm"} {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lock := unix.Flock_t{Type: unix.F_WRLCK} // on all of the file
		if err := unix.FcntlFlock(f.Fd(), getLock, &lock); err != nil {
			t.Fatal(err)
		}
		if lock.Type != unix.F_UNLCK {
			t.Errorf("pid %d holds a lock on %s at byte %d", lock.Pid, name, lock.Start)
		}
	}
}

// S17, F2: the one who closed leaves nothing that the next one waits for.
func TestS17_TheNextLifeWritesAtOnceAfterClose(t *testing.T) {
	dir := t.TempDir()
	for _, id := range []string{"first", "second", "third"} {
		s := open(t, dir)
		mustWrite(t, s, id)
		shut(t, s)
		unlocked(t, dir)
		if open := descriptors(t, dir); len(open) != 0 {
			t.Errorf("still open after Close: %v", open)
		}
	}
}

// Two queries without an end: one that never has its first row, one that always has a next one.
const (
	countForEver = `WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n`
	rowsForEver  = `WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n`
)

func TestAReadUnderWayIsInterruptedByClose(t *testing.T) {
	for name, query := range map[string]string{"before its first row": countForEver, "between rows": rowsForEver} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir())
			ended := make(chan error, 1)
			go func() {
				ended <- s.read(context.Background(), "read for ever", query, nil, func(*sql.Rows) error { return nil })
			}()
			for s.readers.Stats().InUse == 0 {
				runtime.Gosched()
			}
			if err := closeWithin(t, s, 10*time.Second); err != nil {
				t.Fatalf("close: %v", err)
			}
			if err := <-ended; !errors.Is(err, ErrClosed) {
				t.Errorf("the read ended with %v, want ErrClosed", err)
			}
		})
	}
}

func TestACancelledReadEnds(t *testing.T) {
	s := open(t, t.TempDir())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := s.read(ctx, "count for ever", countForEver, nil, func(*sql.Rows) error { return nil })
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, want the context's error", err)
	}
	if _, _, err := s.LastLife(t.Context()); err != nil {
		t.Errorf("the next read: %v", err)
	}
}

func TestCloseIsBoundedByItsContextForAnyReader(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	begun(t, s, session("cli:local", "s1"), "t1")
	inside, release, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := s.Sessions(context.Background(), func(Session) error {
			close(inside)
			<-release
			return nil
		})
		ended <- err
	}()
	<-inside
	if err := closeWithin(t, s, 50*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("close returned %v, want that it could not wait", err)
	}
	next := open(t, dir)
	mustWrite(t, next, "next life")
	close(release)
	if err := <-ended; !errors.Is(err, ErrClosed) {
		t.Errorf("the abandoned read ended with %v", err)
	}
	shut(t, s)
}

// The lock of another process that writes is waited for, but not by Close.
func TestCloseIsBoundedByItsContextWhileAWriteWaitsForALock(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	holder := start(t, "hold the write lock", dir)
	holder.Line(t)
	s.requests <- &request{do: func(*tx) error { return nil }, done: make(chan error, 1)} // the writer has it now
	if err := closeWithin(t, s, 50*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("close returned %v, want that it could not wait", err)
	}
	holder.End(t)
	shut(t, s)
}

// However many writes wait, they wait for the lock together.
func TestALockOfAnotherProcessIsSaidAndOutlived(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	holder := start(t, "hold the write lock", dir)
	holder.Line(t)
	began := time.Now()
	answers := make(chan error, 50)
	for range cap(answers) {
		go func() { answers <- s.PutLife(context.Background(), Life{ID: "l1"}) }()
	}
	for range cap(answers) {
		if err := <-answers; err == nil || !strings.Contains(err.Error(), "locked") {
			t.Errorf("with the lock held elsewhere the write was answered %v", err)
		}
	}
	// The first one alone, then all that came meanwhile; a straggler may make a third.
	if took := time.Since(began); took > 3*busyMS*time.Millisecond+closeBound {
		t.Errorf("%d writes waited %s for a lock that one may wait %d ms for", cap(answers), took, busyMS)
	}
	holder.End(t)
	mustWrite(t, s, "l1")
}

func TestCallsAfterCloseAreRefused(t *testing.T) {
	s := open(t, t.TempDir())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { shut(t, s) })
	}
	wg.Wait()
	_, _, readErr := s.LastLife(t.Context())
	for what, err := range map[string]error{
		"a write": s.PutLife(t.Context(), Life{ID: "x"}),
		"a read":  readErr,
		"a check": s.Check(t.Context()),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s was answered %v, want ErrClosed", what, err)
		}
	}
}

func TestWritesThatWaitWhenCloseBeginsAreCommitted(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, dir)
		gate, wait := gated(s)
		errs := make(chan error, 10)
		for i := range cap(errs) {
			go func() { errs <- s.PutLife(context.Background(), Life{ID: string(rune('a' + i))}) }()
		}
		synctest.Wait()
		closed := make(chan error, 1)
		go func() { closed <- s.Close(context.Background()) }()
		synctest.Wait()
		close(gate)
		wait()
		for range cap(errs) {
			if err := <-errs; err != nil {
				t.Errorf("a write that waited was answered %v", err)
			}
		}
		if err := <-closed; err != nil {
			t.Errorf("close: %v", err)
		}
	})
	s := open(t, dir)
	if lives, _, err := s.Lives(t.Context(), 0, ""); err != nil || len(lives) != 10 {
		t.Errorf("%d of 10 acknowledged lives are there (%v)", len(lives), err)
	}
}

// A -wal that grew while another process held a snapshot is left to the next life, so that Close costs the same.
func TestALargeLogIsNotCopiedByClose(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	mustWrite(t, s, "first")
	reader := start(t, "pin a snapshot", dir)
	reader.Line(t)
	rows := maxQuickWAL>>20 + 2
	for i := range rows {
		if err := s.PutLife(t.Context(), Life{ID: string(rune('a' + i)), Reason: strings.Repeat("x", 1<<20)}); err != nil {
			t.Fatal(err)
		}
	}
	reader.End(t)
	shut(t, s)
	fi, err := os.Stat(filepath.Join(dir, "gateway.db-wal"))
	if err != nil || fi.Size() < maxQuickWAL {
		t.Fatalf("after Close the log is %v (%v): it was copied", fi, err)
	}
	next := open(t, dir)
	mustWrite(t, next, "next life")
	if lives, _, err := next.Lives(t.Context(), 0, ""); err != nil || len(lives) != rows+2 {
		t.Errorf("the next life sees %d lives (%v), %d were acknowledged", len(lives), err, rows+2)
	}
	shut(t, next)
	if _, err := os.Stat(filepath.Join(dir, "gateway.db-wal")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the next life left the log as well: %v", err)
	}
}
