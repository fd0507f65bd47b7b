package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
)

func TestABackupUnderLoadHasEveryRowThatWasCommittedBeforeIt(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), Options{Path: filepath.Join(dir, "gateway.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	var mu sync.Mutex
	var acknowledged []string
	loading, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for n := 0; loading.Err() == nil; n++ {
				id := fmt.Sprintf("life-%d-%d", w, n)
				if err := s.PutLife(context.Background(), Life{ID: id, StartedAt: time.Now(), Outcome: ops.OutcomeClean}); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				acknowledged = append(acknowledged, id)
				mu.Unlock()
			}
		})
	}
	eventually.True(t, "there is something to copy", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(acknowledged) > 200
	})
	to := filepath.Join(dir, "copy.db")
	mu.Lock()
	before := append([]string{}, acknowledged...)
	mu.Unlock()
	err = s.Backup(t.Context(), to, nil)
	stop()
	writers.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(to); err != nil || fi.Mode().Perm() != 0o600 {
		t.Fatalf("the copy has mode %v, %v", fi.Mode(), err)
	}
	there := filepath.Join(t.TempDir(), "gateway.db") // as a person puts it back
	if err := os.Rename(to, there); err != nil {
		t.Fatal(err)
	}
	copied, err := Open(t.Context(), Options{Path: there, Verify: true})
	if err != nil {
		t.Fatalf("the copy does not open: %v", err)
	}
	defer copied.Close(context.Background())
	has := map[string]bool{}
	for cursor := ""; ; {
		lives, next, err := copied.Lives(t.Context(), ops.MaxLimit, cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range lives {
			has[l.ID] = true
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	for _, id := range before {
		if !has[id] {
			t.Fatalf("%s was acknowledged before the backup and is not in the copy of %d rows", id, len(has))
		}
	}
}

func TestABackupLeavesNothingBehindWhereItFails(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), Options{Path: filepath.Join(dir, "gateway.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	taken := filepath.Join(dir, "taken.db")
	if err := os.WriteFile(taken, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("aborted"))
	for _, c := range []struct {
		name string
		ctx  context.Context
		to   string
		code ops.Code
	}{
		{"a file that exists", t.Context(), taken, ops.CodeConflict},
		{"the database itself", t.Context(), filepath.Join(dir, "gateway.db"), ops.CodeInvalid},
		{"a file that SQLite would take for its own", t.Context(), filepath.Join(dir, "gateway.db-journal"), ops.CodeInvalid},
		{"a path that is not absolute", t.Context(), "copy.db", ops.CodeInvalid},
		{"a folder that does not exist", t.Context(), filepath.Join(dir, "no", "copy.db"), ""},
		{"a backup that is aborted", cancelled, filepath.Join(dir, "aborted.db"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := s.Backup(c.ctx, c.to, nil)
			if err == nil || c.code != "" && !ops.HasCode(err, c.code) {
				t.Fatalf("it gives %v", err)
			}
			left, err := filepath.Glob(filepath.Join(dir, "*"))
			hidden, _ := filepath.Glob(filepath.Join(dir, ".gatewaytui-backup*"))
			if err != nil || len(left) != 4 || len(hidden) != 0 { // the database's three files, and taken.db
				t.Errorf("the folder holds %q %q", left, hidden)
			}
		})
	}
	if text, err := os.ReadFile(taken); err != nil || string(text) != "mine" {
		t.Errorf("the file that existed holds %q, %v", text, err)
	}
	if err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(t.Context(), filepath.Join(dir, "late.db"), nil); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed store gives %v", err)
	}
}
