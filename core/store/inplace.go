package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"gatewaytui/core/ops"
)

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
