package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// HF13: a store whose last write failed knows why, until a row is written again.
func TestHealthHasTheLastFailureUntilARowIsWritten(t *testing.T) {
	s := open(t, t.TempDir())
	mustWrite(t, s, "first")
	if h := s.Health(time.Now()); h.Err != nil || h.Transactions == 0 {
		t.Fatalf("a store that works says %+v", h)
	}
	limit := func(pages int) {
		t.Helper()
		if err := s.write(t.Context(), "limit", func(tx *tx) error {
			var most int
			_, err := tx.found(fmt.Sprintf("PRAGMA max_page_count = %d", pages), nil, &most)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	limit(1) // SQLite takes the present size where the limit is below it
	if err := s.PutLife(t.Context(), Life{ID: "too much", Reason: strings.Repeat("x", 1<<20)}); err == nil {
		t.Fatal("the write that did not fit was acknowledged")
	}
	h := s.Health(time.Now())
	if h.Err == nil || h.Since.IsZero() {
		t.Fatalf("after a write that failed it says %+v", h)
	}
	if reason := Reason(h.Err); !strings.Contains(reason, "full") || strings.Contains(reason, s.path) {
		t.Errorf("the reason is %q, want the cause without the path", reason)
	}
	limit(1 << 30) // a transaction that writes no row shows nothing
	if h := s.Health(time.Now()); h.Err == nil {
		t.Error("a transaction without a row made it healthy")
	}
	mustWrite(t, s, "second")
	if h := s.Health(time.Now()); h.Err != nil {
		t.Errorf("after a write that succeeded it says %v", h.Err)
	}
}

// HF22: a write waits for as long as the writer gets on, and no longer.
func TestPatienceEndsWhenTheWriterGetsNoFurther(t *testing.T) {
	s := open(t, t.TempDir())
	const bound = 400 * time.Millisecond
	ctx, cancel := s.Patience(t.Context(), bound)
	defer cancel()
	for began := time.Now(); time.Since(began) < 3*bound; { // each write is progress
		mustWrite(t, s, fmt.Sprint("life ", time.Since(began)))
	}
	if h := s.Health(time.Now()); h.Transactions == 0 {
		t.Fatalf("it says %+v", h)
	}
	// The writer hangs in a request from here on.
	release := make(chan struct{})
	hung := make(chan error, 1)
	go func() {
		hung <- s.write(context.Background(), "hang", func(*tx) error { <-release; return nil })
	}()
	select {
	case <-ctx.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("it waits for a writer that hangs")
	}
	if cause := context.Cause(ctx); !errors.Is(cause, context.DeadlineExceeded) || !strings.Contains(cause.Error(), "no write for") {
		t.Errorf("the cause is %v", cause)
	}
	// The bound is counted from the last progress that a look saw, which is a moment before the transaction began.
	if h := s.Health(time.Now()); h.Running < bound/2 {
		t.Errorf("a transaction has hung for about %v, it says %v", bound, h.Running)
	}
	close(release)
	if err := <-hung; err != nil {
		t.Error(err)
	}
}

func TestSlowTransactionsAreCountedForAMinute(t *testing.T) {
	s := &Store{opened: time.Now()}
	at := s.opened
	for i := range 300 { // more than are kept
		took := 10 * time.Millisecond
		if i%50 == 49 {
			took = 3 * time.Second
		}
		s.health.begin(at)
		at = at.Add(took)
		if got := s.health.end(s.opened, at); got != took {
			t.Fatalf("a transaction of %v took %v", took, got)
		}
	}
	h := s.Health(at)
	if h.P99 != 3*time.Second || h.Slow != 6 || h.Transactions != paceKept {
		t.Errorf("it says %+v", h)
	}
	if h := s.Health(at.Add(paceWindow)); h != (Health{}) {
		t.Errorf("a minute later it says %+v", h)
	}
}

// HF29: a database that is truncated under the store is noticed, and nothing is acknowledged any more.
func TestATruncatedDatabaseIsNoticed(t *testing.T) {
	for _, tc := range []struct {
		name, file string
		lives      int // after about 50 of them a checkpoint writes the file, and the -wal begins again
		look       func(s *Store) error
	}{
		{"by the next write", "", 70, func(s *Store) error { return s.PutLife(context.Background(), Life{ID: "after"}) }},
		{"by a look", "", 70, func(s *Store) error { return s.Check(context.Background()) }},
		{"a look at its -wal", "-wal", 30, func(s *Store) error { return s.Check(context.Background()) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := open(t, t.TempDir())
			for i := range tc.lives {
				if err := s.PutLife(t.Context(), Life{ID: fmt.Sprint(i), Reason: strings.Repeat("x", 64<<10)}); err != nil {
					t.Fatal(err)
				}
			}
			fi, err := os.Stat(s.path + tc.file)
			if err != nil || fi.Size() < 64<<10 {
				t.Fatalf("the file has %d bytes, %v", fi.Size(), err)
			}
			if err := s.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
			left := fi.Size() / 2
			if tc.file != "" {
				left = 1 << 10 // less than one frame: the file may be longer than its frames need
			}
			if err := os.Truncate(s.path+tc.file, left); err != nil { // opens nothing: truncate(2)
				t.Fatal(err)
			}
			err = tc.look(s)
			if _, is := errors.AsType[*DamagedError](err); !is || !strings.Contains(err.Error(), "truncated") {
				t.Fatalf("it is answered %v, want that the database was truncated", err)
			}
			if err := s.PutLife(t.Context(), Life{ID: "later"}); err == nil {
				t.Error("a write is acknowledged")
			}
			if h := s.Health(time.Now()); h.Err == nil {
				t.Error("the store calls itself healthy")
			}
		})
	}
}

// Another process may empty the -wal, or compact the database: nothing is missing then.
func TestAShorterFileThatMissesNothingIsNotDamage(t *testing.T) {
	for _, sql := range []string{"PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM"} {
		t.Run(sql, func(t *testing.T) {
			s := open(t, t.TempDir())
			for i := range 50 {
				if err := s.PutLife(t.Context(), Life{ID: fmt.Sprint(i), Reason: strings.Repeat("x", 64<<10)}); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.write(t.Context(), "delete", func(tx *tx) error {
				_, err := tx.exec("DELETE FROM lives")
				return err
			}); err != nil {
				t.Fatal(err)
			}
			conn := connection(t, s.path)
			for _, text := range []string{sql, "PRAGMA wal_checkpoint(TRUNCATE)"} {
				if _, err := conn.ExecContext(t.Context(), text); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Check(t.Context()); err != nil {
				t.Errorf("check says %v", err)
			}
			mustWrite(t, s, "after")
		})
	}
}

func TestTheReasonOfSeveralErrorsIsTheFirst(t *testing.T) {
	full := errors.New("disk is full")
	err := fmt.Errorf("write /the/home/gateway.db: %w", errors.Join(fmt.Errorf("insert: %w", full), errors.New("no transaction")))
	if got := Reason(err); got != full.Error() {
		t.Errorf("the reason is %q", got)
	}
}
