package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gatewaytui/core/ops"
)

// filled makes a database of some pages and closes it.
func filled(t *testing.T, dir string) string {
	t.Helper()
	s := unsynced(t, dir)
	ctx := context.Background()
	for i := range 200 {
		v := Session{Key: fmt.Sprint("cli:", i), ID: fmt.Sprint(i), State: ops.SessionIdle, CreatedAt: noon, LastActivityAt: noon}
		turn := Turn{ID: fmt.Sprint("t", i), SessionID: v.ID, StartedAt: noon, State: TurnRunning}
		must(t, s.BeginTurn(ctx, v, turn, Message{Role: "user", Content: string(make([]byte, 500)), At: noon}))
	}
	must(t, s.Close(ctx))
	return filepath.Join(dir, "gateway.db")
}

// F8: a damaged database is named as such, kept, and quarantined on demand; a sound one is opened without a warning.
func TestF8_ADamagedDatabaseIsNamedAndKept(t *testing.T) {
	const page = 4096
	for _, tc := range []struct {
		name    string
		damage  func(db []byte)
		damaged bool
	}{
		{"a sound one", func([]byte) {}, false},
		{"one whose beginning is another file's", func(db []byte) { copy(db, "%PDF-1.7 and so on, which is not SQLite") }, true},
		{"one with a page of noise", func(db []byte) {
			for i := range page {
				db[5*page+i] = byte(i*7 + 3)
			}
		}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filled(t, t.TempDir())
			db, err := os.ReadFile(path)
			must(t, err)
			tc.damage(db)
			must(t, os.WriteFile(path, db, 0o600))

			s, err := Open(context.Background(), Options{Path: path, Verify: true})
			if e, is := errors.AsType[*DamagedError](err); is != tc.damaged || is && (e.Path != path || e.What == "") {
				t.Fatalf("opened with %v, want damaged: %v", err, tc.damaged)
			}
			if !tc.damaged {
				must(t, err)
				must(t, s.Close(context.Background()))
				return
			}
			for range 2 { // twice is one copy
				copied, err := KeepCopy(path)
				must(t, err)
				if kept, err := os.ReadFile(copied); err != nil || string(kept) != string(db) {
					t.Fatalf("the copy at %s is another, %v", copied, err)
				}
			}
			to, err := QuarantineFile(path, noon.Add(time.Hour))
			must(t, err)
			if kept, err := os.ReadFile(to); err != nil || string(kept) != string(db) {
				t.Fatalf("what was quarantined at %s is another, %v", to, err)
			}
			fresh, err := Open(context.Background(), Options{Path: path, Verify: true})
			must(t, err)
			must(t, fresh.Close(context.Background()))
		})
	}
}
