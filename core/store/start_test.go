package store

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
)

// A process that is killed while the very first connection makes the database leaves a rollback journal, which a
// connection that may not write cannot undo.
func TestAStartThatWasKilledWhileItMadeTheDatabaseIsFollowedByOneThatOpensIt(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "gateway.db")
	s := open(t, dir)
	shut(t, s)
	// The journal of a transaction that made the first page: the header as SQLite writes it (https://www.sqlite.org/fileformat.html#the_rollback_journal),
	// no page records, and an empty database before.
	journal := make([]byte, 512)
	copy(journal, []byte{0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7})
	journal[22], journal[26] = 2, 16 // sectors of 512 and pages of 4096 bytes
	if err := os.WriteFile(path+"-journal", journal, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Inspect(t.Context(), path, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatalf("the database that was not finished is refused: %v", err)
	}
	again, err := Open(t.Context(), Options{Path: path, Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	mustWrite(t, again, "first")
	shut(t, again)
}
