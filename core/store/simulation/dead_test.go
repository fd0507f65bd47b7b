package simulation

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"testing"

	sqlite3 "modernc.org/sqlite/lib"

	"gatewaytui/core/store"
	"gatewaytui/fixtures/faultfs"
)

// A disk that dies under a running gateway is not damage to its database: SQLite calls a read that the disk refuses a
// malformed database, and a planned stop would end with exit code 1 for it.
func TestADiskThatDiesIsTheDisksErrorAndNotDamage(t *testing.T) {
	dir := t.TempDir()
	var dead atomic.Bool
	disk := faultfs.Attach(dir, rand.New(rand.NewPCG(1, 1)), func(c faultfs.Call) faultfs.Fault {
		switch {
		case !dead.Load():
			return faultfs.Fault{}
		case c.Op == faultfs.OpRead:
			return faultfs.Fault{Code: sqlite3.SQLITE_IOERR_CORRUPTFS}
		}
		return faultfs.IOError(c.Op)
	})
	defer disk.Detach()
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "gateway.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	begin := func(life string) error {
		return s.PutLife(t.Context(), store.Life{ID: life, PID: 1, Version: "test", StartedAt: noon})
	}
	if err := begin("one"); err != nil {
		t.Fatal(err)
	}
	dead.Store(true)
	for _, life := range []string{"two", "three", "four"} {
		if err := begin(life); err == nil || errors.Is(err, store.ErrUnusable) || !store.CausedByHost(err) {
			t.Errorf("a write to a dead disk is answered %v, want the disk's error", err)
		}
	}
	if _, _, err := s.Lives(t.Context(), 10, ""); errors.Is(err, store.ErrUnusable) {
		t.Errorf("a read of a dead disk is answered %v, want the disk's error", err)
	}
}
