package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// DamagedError says that the file is no database, or one whose pages do not fit together (field notes, F8).
type DamagedError struct {
	Path string
	// What is SQLite's word for it.
	What string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("the database %s is damaged: %s", e.Path, e.What)
}

// damaged turns SQLite's words for a damaged file into a *DamagedError, and leaves other errors as they are.
func damaged(path string, err error) error {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		switch e.Code() & 0xff { // the low byte is the primary code (https://www.sqlite.org/rescode.html)
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return errors.Join(&DamagedError{Path: path, What: e.Error()}, err)
		}
	}
	return err
}

// Verify reads the whole database once and says what does not fit together, as a *DamagedError. It costs a second for some
// 500 MB, and holds up nobody.
func (s *Store) Verify(ctx context.Context) error {
	if err := s.enter(); err != nil {
		return fmt.Errorf("verify the store: %w", err)
	}
	defer s.calls.Done()
	return damaged(s.path, s.checkPages(ctx))
}

func (s *Store) checkPages(ctx context.Context) error {
	var said string
	if err := s.readers.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&said); err != nil {
		return err
	}
	if said != "ok" {
		return &DamagedError{Path: s.path, What: said}
	}
	return nil
}

// files are those of the database at path. The -shm is made anew at every open.
func files(path string) []string { return []string{path, path + "-wal"} }

// SetAside moves the database that nobody has open out of the way, and returns where to.
func SetAside(path string, now time.Time) (string, error) {
	to := path + ".damaged-" + now.UTC().Format("20060102T150405")
	for i, from := range files(path) {
		if err := os.Rename(from, files(to)[i]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("set the database aside: %w", err)
		}
	}
	if err := os.Remove(path + "-shm"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("set the database aside: %w", err)
	}
	return to, nil
}

// KeepCopy copies the damaged database that nobody has open, so that what is tried on it next can be undone, and returns
// where to. One copy is enough: where there is one it stays, however often the gateway is started.
func KeepCopy(path string) (string, error) {
	to := path + ".damaged"
	for i, from := range files(path) {
		if err := copyFile(from, files(to)[i]); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("copy the damaged database: %w", err)
		}
	}
	return to, nil
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		_ = os.Remove(to) // half a copy is worse than none
	}
	return err
}
