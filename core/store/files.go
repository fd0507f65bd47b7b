package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
)

// identity identifies the files that SQLite holds: the database and its -wal, as they were at the path when they were
// opened. Both keep their inode while a connection is open; the -shm holds no rows.
type identity struct{ db, wal os.FileInfo }

// identify reads the identity of the files at path. It uses stat(2) alone: see the rule in the package comment.
func identify(path string) (id identity, err error) {
	if id.db, err = os.Stat(path); err != nil {
		return identity{}, err
	}
	id.wal, err = os.Stat(path + "-wal")
	return id, err
}

// sizes are the largest sizes of the files so far, in bytes. This process never makes them smaller, except the -wal,
// which SQLite cuts to walLimit.
type sizes struct{ db, wal atomic.Int64 }

// shrunk reports whether a file is smaller than it was.
func (z *sizes) shrunk(now identity) bool {
	return now.db.Size() < z.db.Load() || now.wal.Size() < z.wal.Load()
}

// keep records the sizes of files that are complete.
func (z *sizes) keep(now identity) {
	z.db.Store(now.db.Size())
	z.wal.Store(min(now.wal.Size(), walLimit))
}

// checkRegular refuses a database with a symbolic link or another irregular file among its files (HF30). SQLite follows a
// link: it would make the database at a target that another user may have chosen. It uses lstat(2) alone.
func checkRegular(path string) error {
	for _, name := range []string{path, path + "-wal", path + "-shm", path + "-journal"} {
		fi, err := os.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case fi.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(name) // an empty name will do
			return fmt.Errorf("%w: %s is a symbolic link, to %.200q, which is not followed; move the link away, and put the database itself there if it is yours", ErrUnusable, name, to)
		case !fi.Mode().IsRegular():
			return fmt.Errorf("%w: %s is not a regular file; move it away", ErrUnusable, name)
		}
	}
	return nil
}
