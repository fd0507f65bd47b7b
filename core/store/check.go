package store

import (
	"context"
	"fmt"
)

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

// Verify reads the whole database once and returns what does not fit together as a *DamagedError. It costs a second for
// some 500 MB, and blocks no other call.
func (s *Store) Verify(ctx context.Context) error {
	if err := s.enter(); err != nil {
		return fmt.Errorf("verify the store: %w", err)
	}
	defer s.calls.Done()
	return checkPages(ctx, s.readers, s.path, s.log)
}
