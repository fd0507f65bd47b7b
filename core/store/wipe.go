package store

import (
	"context"
	"errors"
	"fmt"
)

// errReading is why the -wal could not be emptied: a reader still needs it.
var errReading = errors.New("the -wal is being read")

// Wipe copies the -wal into the database and empties it, so that no file has what was deleted. It waits for long reads, up to
// busyMS.
func (s *Store) Wipe(ctx context.Context) error {
	if err := s.enter(); err != nil {
		return fmt.Errorf("empty the -wal: %w", err)
	}
	defer s.calls.Done()
	done := make(chan error, 1)
	select {
	case s.wipes <- done:
	case <-ctx.Done():
		return fmt.Errorf("empty the -wal: %w", context.Cause(ctx))
	case <-s.abandon:
		return fmt.Errorf("empty the -wal: %w", ErrClosed)
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("empty the -wal: %w", context.Cause(ctx))
	case <-s.abandon:
		return fmt.Errorf("empty the -wal: %w", ErrClosed)
	}
}

// wipe is Wipe on the writer's goroutine. https://www.sqlite.org/pragma.html#pragma_wal_checkpoint
func (w *writer) wipe() error {
	var busy, frames, copied int
	if err := w.conn.QueryRowContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &copied); err != nil {
		return fmt.Errorf("empty the -wal: %w", err)
	}
	if busy != 0 {
		return errReading
	}
	return nil
}
