package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A backup that was killed leaves its unfinished copy; the next life removes it, and nothing else.
func TestOpenRemovesTheUnfinishedCopyOfAKilledBackup(t *testing.T) {
	other := t.TempDir() // the folder of the backup's target
	for _, tc := range []struct {
		name, file, recorded string
		kind                 fs.FileMode
		stays                bool
	}{
		{"an unfinished copy is removed", partPrefix + "A-1", filepath.Join(other, partPrefix+"A"), 0, false},
		{"the copy of another backup stays", partPrefix + "B-1", filepath.Join(other, partPrefix+"C"), 0, true},
		{"a file with another name stays", "mine.db-1", filepath.Join(other, "mine.db"), 0, true},
		{"a folder stays", partPrefix + "D-1", filepath.Join(other, partPrefix+"D"), fs.ModeDir, true},
		{"a record without a name removes nothing", partPrefix + "-1", filepath.Join(other, partPrefix), 0, true},
		{"a record of a folder that is gone removes nothing", partPrefix + "E-1", filepath.Join(other, "gone", partPrefix+"E"), 0, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "gateway.db")
			file := filepath.Join(other, tc.file)
			var err error
			if tc.kind.IsDir() {
				err = os.Mkdir(file, 0o700)
			} else {
				err = os.WriteFile(file, []byte("half"), 0o600)
			}
			if err = errors.Join(err, os.Symlink(tc.recorded, path+recordSuffix)); err != nil {
				t.Fatal(err)
			}
			s, err := Open(t.Context(), Options{Path: path})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close(context.Background())
			if _, err := os.Lstat(file); (err == nil) != tc.stays {
				t.Errorf("after the start the file's state is: %v", err)
			}
			if _, err := os.Lstat(path + recordSuffix); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the record is still there: %v", err)
			}
		})
	}
}

func TestABackupLeavesNoRecordOfItsCopy(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "gateway.db")
	s, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	left := filepath.Join(dir, partPrefix+"earlier-1")
	if err := errors.Join(os.WriteFile(left, nil, 0o600), os.Symlink(filepath.Join(dir, partPrefix+"earlier"), path+recordSuffix)); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(t.Context(), filepath.Join(dir, "copy.db"), nil); err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{left, path + recordSuffix} {
		if _, err := os.Lstat(gone); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", gone, err)
		}
	}
}
