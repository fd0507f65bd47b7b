package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gatewaytui/core/ops"
)

// maxBatch is the largest number of requests in a commit: enough to share the disk's sync among all waiting calls, and
// few enough that the first of them does not wait for long.
const maxBatch = 256

// write commits do's rows and returns when they are durable. If ctx ends while the request still waits, nothing was
// written. If it ends later the outcome is unknown, and the error says so.
func (s *Store) write(ctx context.Context, what string, do func(*tx) error) error {
	if err := s.enter(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer s.calls.Done()
	r := &request{do: do, done: make(chan error, 1)}
	select {
	case s.requests <- r:
	case <-ctx.Done():
		return fmt.Errorf("%s: not written: %w", what, context.Cause(ctx))
	case <-s.abandon:
		return fmt.Errorf("%s: not written: %w", what, ErrClosed)
	}
	select {
	case err := <-r.done:
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: unknown whether it was written: %w", what, context.Cause(ctx))
	case <-s.abandon:
		return fmt.Errorf("%s: unknown whether it was written: %w", what, ErrClosed)
	}
}

// change is write for one statement.
func (s *Store) change(ctx context.Context, what, statement string, args ...any) error {
	return s.write(ctx, what, func(t *tx) error { return t.do(statement, args...) })
}

// result is write for a request with a result. The caller may use the result only once the writer is done with it; a
// caller whose ctx ended does not wait for that.
func result[T any](ctx context.Context, s *Store, what string, do func(*tx) (T, error)) (T, error) {
	var v, none T
	err := s.write(ctx, what, func(t *tx) (err error) {
		v, err = do(t)
		return err
	})
	if err != nil {
		return none, err
	}
	return v, nil
}

// writeLoop commits requests until the store closes, and then closes it. While one commit waits for the disk the next
// requests gather: under load they share commits, and a single request is committed at once.
func (s *Store) writeLoop() {
	defer close(s.done)
	batch := make([]*request, 0, maxBatch)
	for {
		select {
		case r := <-s.requests:
			batch = append(batch[:0], r)
		case done := <-s.wipes:
			done <- s.writer.wipe()
			continue
		case <-s.quit:
			s.closeErr = s.closeFiles()
			return
		case <-s.abandon:
			s.closeErr = s.closeFiles()
			return
		}
	gather:
		for len(batch) < maxBatch {
			select {
			case r := <-s.requests:
				batch = append(batch, r)
			default:
				break gather
			}
		}
		s.commit(batch)
		clear(batch) // release the rows
	}
}

// commit writes a batch and reports the outcome to each caller.
func (s *Store) commit(batch []*request) {
	begun, err := s.transact(batch)
	err = s.blame(err)
	if err != nil && begun && len(batch) > 1 {
		// The whole transaction failed, for instance because the disk had no room for one request. Each request gets its
		// own transaction, and so its own result. If the transaction never began, no request is the cause, and separate
		// tries would make every caller wait for a lock as often as there are requests.
		for i := range batch {
			_, err := s.transact(batch[i : i+1])
			s.finish(batch[i:i+1], err)
		}
		return
	}
	s.finish(batch, err)
}

// finish answers the requests of one transaction, whose outcome was err.
func (s *Store) finish(batch []*request, err error) {
	if err == nil {
		err = s.verify()
	}
	err = s.fileSize(err)
	seen := err
	for _, r := range batch {
		r.err = s.fileSize(s.blame(r.err))
		if seen == nil && refusedByDisk(r.err) {
			seen = r.err
		}
	}
	s.note(seen)
	for _, r := range batch {
		if r.err == nil {
			r.err = err
		}
		r.done <- r.err
	}
}

// note keeps why writing fails, and logs when it begins to fail and when it works again; in between each caller has the
// error. A transaction that changed no row does not prove that the disk accepts rows again.
func (s *Store) note(err error) {
	if errors.Is(err, ErrReadOnly) || err == nil && s.writer.tx.changed == 0 {
		return
	}
	switch changed := s.health.set(err, time.Now()); {
	case changed && err != nil:
		s.log.Error(ops.LogStoreWriteFailed, "path", s.path, "error", err)
	case changed:
		s.log.Info(ops.LogStoreWriteResumed, "path", s.path)
	}
}

// transact runs the requests in one transaction. A request that fails leaves no trace and has its err set. An error of
// the transaction itself is returned, and then nothing of the batch was written. begun reports whether the first request
// was reached.
func (s *Store) transact(batch []*request) (begun bool, err error) {
	if s.displaced.Load() {
		return false, ErrDisplaced
	}
	if s.readOnly.Load() {
		return false, ErrReadOnly
	}
	t := &s.writer.tx
	t.changed = 0
	s.health.begin(time.Now())
	defer func() {
		now := time.Now()
		took := s.health.end(s.opened, now)
		if s.onEnd != nil {
			s.onEnd(took)
		}
	}()
	if err := t.run("BEGIN IMMEDIATE"); err != nil {
		return false, fmt.Errorf("begin in %s: %w", s.path, err)
	}
	defer func() {
		if err != nil {
			// SQLite may have rolled back already. Then this does nothing, and its error reports only that.
			_ = t.run("ROLLBACK")
			_ = t.releaseCheckpoint() // it fails only where the connection is unusable
		}
	}()
	for _, r := range batch {
		if err := t.member(r); err != nil {
			return true, fmt.Errorf("write %s: %w", s.path, err)
		}
	}
	if err := t.run("COMMIT"); err != nil {
		return true, fmt.Errorf("commit to %s: %w", s.path, err)
	}
	s.commits.Add(1)
	_ = t.releaseCheckpoint() // the rows are on disk; without it the next commits only checkpoint later
	return true, nil
}
