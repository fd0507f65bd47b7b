package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"gatewaytui/core/ops"
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

// Check reports whether others can see the rows that the store commits: whether the files at its path are the ones that
// it holds (F1), and as long as what it wrote (HF29). It costs two calls of stat(2) and opens nothing; a file that became
// shorter costs a transaction as well. The writer checks the same after every commit, before it answers.
func (s *Store) Check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.enter(); err != nil {
		return fmt.Errorf("check the store: %w", err)
	}
	defer s.calls.Done()
	now, err := s.inPlace()
	if err == nil && s.sizes.shrunk(now) && !s.readOnly.Load() { // the writer finds the reason
		err = s.write(ctx, "check files that became shorter", func(*tx) error { return nil })
	}
	if err != nil {
		return fmt.Errorf("check the store at %s: %w", s.path, err)
	}
	return nil
}

// inPlace compares the files at the path with those that the store holds. After the first difference the store stays
// displaced: this process has not written to the files that are at the path now.
func (s *Store) inPlace() (identity, error) {
	if s.displaced.Load() {
		return identity{}, ErrDisplaced
	}
	now, err := identify(s.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !(os.SameFile(now.db, s.identity.db) && os.SameFile(now.wal, s.identity.wal)) {
		s.displaced.Store(true)
		s.health.set(ErrDisplaced, time.Now())
		s.log.Error(ops.LogStoreDisplaced, "path", s.path)
		return identity{}, ErrDisplaced
	}
	return now, err
}

// verify is Check on the writer's goroutine, between two transactions.
func (s *Store) verify() error {
	now, err := s.inPlace()
	if err != nil {
		return err
	}
	if s.sizes.shrunk(now) {
		if err := s.truncated(now); err != nil {
			s.readOnly.Store(true)
			s.health.set(err, time.Now())
			s.log.Error(ops.LogStoreTruncated, "path", s.path, "error", err)
			return err
		}
	}
	s.sizes.keep(now)
	return nil
}

// truncated reports what is missing from files that became shorter. Nil: nothing is, because another process compacted
// the database or emptied its -wal. SQLite then expects no more than there is.
func (s *Store) truncated(now identity) error {
	ctx := context.Background() // the queries read memory only
	var pageSize, pages, busy, frames, copied int64
	if err := s.writer.conn.QueryRowContext(ctx, "SELECT page_size, page_count FROM pragma_page_size, pragma_page_count").Scan(&pageSize, &pages); err != nil {
		return s.cut(err.Error(), err)
	}
	if now.db.Size() < s.sizes.db.Load() && now.db.Size() < pages*pageSize {
		return s.cut(fmt.Sprintf("it has %d bytes and its pages need %d", now.db.Size(), pages*pageSize), nil)
	}
	// NOOP copies nothing; it returns how many frames the -wal has
	// (https://www.sqlite.org/pragma.html#pragma_wal_checkpoint).
	if err := s.writer.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(NOOP)").Scan(&busy, &frames, &copied); err != nil {
		return s.cut(err.Error(), err)
	}
	// The sizes of the -wal's header and of the header of a frame: https://www.sqlite.org/fileformat2.html#walformat
	if need := 32 + frames*(24+pageSize); frames > 0 && now.wal.Size() < need {
		return s.cut(fmt.Sprintf("its -wal has %d bytes and its frames need %d", now.wal.Size(), need), nil)
	}
	return nil
}

// cut is the error of a database with a missing part.
func (s *Store) cut(what string, cause error) error {
	return &DamagedError{Path: s.path, What: "it was truncated under the running gateway: " + what, cause: cause}
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
