package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"gatewaytui/core/ops"
)

// gated holds the writer inside a transaction until gate is closed, so that what is written meanwhile shares the next
// commit. wait returns when it is through. It needs a synctest bubble.
func gated(s *Store) (gate chan struct{}, wait func()) {
	gate = make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = s.write(context.Background(), "gate", func(*tx) error {
			<-gate
			return nil
		})
	})
	synctest.Wait()
	return gate, wg.Wait
}

func TestOneFailingRequestFailsNoOtherOfItsCommit(t *testing.T) {
	broken := errors.New("broken")
	for name, bad := range map[string]func(*tx) error{
		"one that wrote before it failed": func(tx *tx) error {
			_, err := tx.exec(`INSERT INTO shutdowns (id, life, report) VALUES ('bad', '', '')`)
			return errors.Join(broken, err)
		},
		"one whose statement is refused": func(tx *tx) error {
			return errors.Join(broken, tx.run(`INSERT INTO turns (id, session_id, life, state, reason, tokens_in, tokens_out)
				VALUES ('bad', 'no such session', '', 'running', '', 0, 0)`))
		},
		"one that takes the whole transaction down": func(tx *tx) error {
			return errors.Join(broken, tx.run("ROLLBACK"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				s := open(t, dir)
				gate, wait := gated(s)
				good, failed := make(chan error, 10), make(chan error, 1)
				for i := range cap(good) {
					if i == cap(good)/2 {
						go func() { failed <- s.write(context.Background(), "bad", bad) }()
					}
					go func() { good <- s.PutLife(context.Background(), Life{ID: fmt.Sprint(i)}) }()
				}
				synctest.Wait()
				close(gate)
				wait()
				for range cap(good) {
					if err := <-good; err != nil {
						t.Errorf("a request of the same commit failed: %v", err)
					}
				}
				if err := <-failed; !errors.Is(err, broken) {
					t.Errorf("the bad request was answered %v", err)
				}
				if lives, _, err := s.Lives(context.Background(), 0, ""); err != nil || len(lives) != cap(good) {
					t.Errorf("%d of %d acknowledged rows are there (%v)", len(lives), cap(good), err)
				}
				if _, found, err := s.LastShutdown(context.Background()); found || err != nil {
					t.Errorf("the bad request left a row (%v)", err)
				}
				shut(t, s)
			})
		})
	}
}

func TestARequestWithdrawnWhileItWaitsIsNotWritten(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, dir)
		gate, wait := gated(s)
		ctx, cancel := context.WithCancel(context.Background())
		answered := make(chan error, 1)
		go func() { answered <- s.PutLife(ctx, Life{ID: "withdrawn"}) }()
		synctest.Wait()
		cancel()
		if err := <-answered; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "not written") {
			t.Errorf("answered %v", err)
		}
		close(gate)
		wait()
		if _, found, err := s.LastLife(context.Background()); found || err != nil {
			t.Errorf("it was written all the same (%v)", err)
		}
		shut(t, s)
	})
}

func TestARequestGivenUpDuringItsCommitIsSaidToBeUnknown(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, dir)
		ctx, cancel := context.WithCancel(context.Background())
		gate, answered := make(chan struct{}), make(chan error, 1)
		go func() {
			answered <- s.write(ctx, "slow", func(*tx) error {
				<-gate
				return nil
			})
		}()
		synctest.Wait()
		cancel()
		if err := <-answered; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "unknown whether") {
			t.Errorf("answered %v", err)
		}
		close(gate)
		shut(t, s)
	})
}

// F4: descriptors belong to the store, not to calls.
func TestF4_DescriptorsDoNotDependOnTheNumberOfTurns(t *testing.T) {
	dir := t.TempDir()
	s := unsynced(t, dir)
	before := descriptors(t, dir)
	if before["/gateway.db"] != readConns+1 {
		t.Errorf("the database is open %d times after Open, want once for each of %d connections", before["/gateway.db"], readConns+1)
	}
	var wg sync.WaitGroup
	for g := range 30 {
		wg.Go(func() {
			v := session(fmt.Sprintf("cli:%d", g), fmt.Sprintf("s%d", g))
			for i := range turnsOfF4 / 30 {
				turn := Turn{ID: fmt.Sprint(g, "-", i), SessionID: v.ID, StartedAt: noon}
				if err := s.BeginTurn(t.Context(), v, turn, Message{Role: "user"}); err != nil {
					t.Error(err)
					return
				}
				turn.State, turn.EndedAt = TurnDone, noon
				if err := s.EndTurn(t.Context(), v, turn, nil); err != nil {
					t.Error(err)
					return
				}
				if i%10 == 0 {
					if _, err := s.EndedSessions(t.Context(), v.Key, 0); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if diff := cmp.Diff(before, descriptors(t, dir)); diff != "" {
		t.Errorf("after %d turns the open files are others (-before +after):\n%s", turnsOfF4, diff)
	}
}

// turnsOfF4 are few, and enough: one descriptor a turn, or one in a hundred, would be seen as well.
const turnsOfF4 = 600

func TestF5_AStoreThatIsOpenNeedsNoFurtherDescriptor(t *testing.T) {
	dir := t.TempDir()
	o := start(t, "run out of descriptors", dir)
	if said := o.Line(t); said != "written and read" {
		t.Errorf("without a free descriptor: %s", said)
	}
	o.End(t)
}

func TestF5_AnErrorOfTheDiskIsSaidAndServiceResumes(t *testing.T) {
	dir := t.TempDir()
	o := start(t, "meet a limit and lift it", dir)
	if said := o.Line(t); !strings.Contains(said, "disk I/O error") || !strings.Contains(said, dir) {
		t.Errorf("the write that met the limit was answered %q, want the cause and the file", said)
	}
	const limit = "no file may be larger than 512 KiB (RLIMIT_FSIZE)"
	if said, want := o.Line(t), limit+" | "+limit+" | ask the operator to raise LimitFSIZE="; !strings.HasPrefix(said, want) {
		t.Errorf("the reason, that of the health and the advice are %q, want %q", said, want)
	}
	var acknowledged int
	if _, err := fmt.Sscan(o.Line(t), &acknowledged); err != nil {
		t.Fatal(err)
	}
	o.End(t)
	s := open(t, dir)
	n := 0
	for cursor, page := "", []Life(nil); ; {
		var err error
		if page, cursor, err = s.Lives(t.Context(), ops.MaxLimit, cursor); err != nil {
			t.Fatal(err)
		}
		if n += len(page); cursor == "" {
			break
		}
	}
	if n != acknowledged || n < 2 {
		t.Errorf("%d lives are there, %d were acknowledged", n, acknowledged)
	}
}

func TestF6_AFullDatabaseIsSaidAndServiceResumes(t *testing.T) {
	s := open(t, t.TempDir())
	mustWrite(t, s, "first")
	var most int
	limit := func(pages int) {
		t.Helper()
		if err := s.write(t.Context(), "limit", func(tx *tx) error {
			_, err := tx.found(fmt.Sprintf("PRAGMA max_page_count = %d", pages), nil, &most)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	limit(1) // SQLite takes the present size where the limit is below it
	full := s.PutLife(t.Context(), Life{ID: "too much", Reason: strings.Repeat("x", 1<<20)})
	if full == nil || !strings.Contains(full.Error(), "full") {
		t.Errorf("the write that did not fit was answered %v", full)
	}
	limit(1 << 30)
	mustWrite(t, s, "second")
	if lives, _, err := s.Lives(t.Context(), 0, ""); err != nil || len(lives) != 2 {
		t.Errorf("%d lives are there (%v), 2 were acknowledged", len(lives), err)
	}
}
