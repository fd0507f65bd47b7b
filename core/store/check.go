package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// identity is which files SQLite holds: the database and its -wal, as they were at the path when they were opened. Both
// keep their inode for as long as a connection is open; the -shm holds no rows.
type identity struct{ db, wal os.FileInfo }

// identify reads the identity of what is at path. It uses stat(2) alone: see the rule in the package comment.
func identify(path string) (id identity, err error) {
	if id.db, err = os.Stat(path); err != nil {
		return identity{}, err
	}
	id.wal, err = os.Stat(path + "-wal")
	return id, err
}

// Check says whether the rows that the store commits can be seen by others: whether the files at its path are the ones
// that it holds (field notes, F1). It costs two calls of stat(2) and opens nothing. The writer asks the same after every
// commit, before it answers.
func (s *Store) Check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.enter(); err != nil {
		return fmt.Errorf("check the store: %w", err)
	}
	defer s.calls.Done()
	if err := s.verify(); err != nil {
		return fmt.Errorf("check the store at %s: %w", s.path, err)
	}
	return nil
}

// verify compares the files. Once they were seen to differ the store stays displaced: what is at the path now is not
// what this process has written to.
func (s *Store) verify() error {
	if s.displaced.Load() {
		return ErrDisplaced
	}
	now, err := identify(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !(os.SameFile(now.db, s.identity.db) && os.SameFile(now.wal, s.identity.wal)):
		s.displaced.Store(true)
		s.log.Error("store.displaced", "path", s.path)
		return ErrDisplaced
	}
	return err
}
