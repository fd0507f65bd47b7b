package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// HF30: a database that is a symbolic link is refused, and nothing is made at its target.
func TestHF30_ALinkedDatabaseIsRefused(t *testing.T) {
	for _, file := range []string{"", "-wal", "-shm", "-journal"} {
		dir := t.TempDir()
		path, target := filepath.Join(dir, "gateway.db"), filepath.Join(t.TempDir(), "target")
		if err := os.Symlink(target, path+file); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), Options{Path: path})
		if !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), path+file+" is a symbolic link, to \""+target+"\"") {
			t.Errorf("%s: Open gives %v", file, err)
		}
		if err := Copy(t.Context(), path, filepath.Join(dir, "copy"), nil); !errors.Is(err, ErrUnusable) {
			t.Errorf("%s: Copy gives %v", file, err)
		}
		if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the target is there: %v", file, err)
		}
	}
}
