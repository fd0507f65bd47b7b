// Package store is the gateway's memory on disk: one SQLite database, one writer, a few readers.
//
// What it promises:
//
//   - A call that writes returns nil only when its rows are on the disk (WAL, synchronous=FULL). Calls that wait at the
//     same time share one commit, and a failed one does not affect the others.
//   - A failed write is always reported, and nothing has to be done once the cause is gone: a full disk or an I/O error
//     fails the calls that meet it, and the next call tries again (F5, F6).
//   - Rows that do not reach the file at Options.Path are never acknowledged (F1): see ErrDisplaced.
//   - Close is bounded by its context, even if other processes use the file (F3), and leaves the next life a database that
//     it can write at once (S17).
//   - The number of descriptors does not depend on the number of calls (F4).
//
// One rule holds for the whole program: while a Store is open, no other code opens the database, its -wal or its -shm by
// path, not even to read. Closing such a descriptor drops the POSIX locks that SQLite holds on the file (fcntl(2)), and
// committed rows are lost (F1). Sizes come from os.Stat.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"gatewaytui/core/ops"
)

// Options say where the store is.
type Options struct {
	// Path is the database file. Its directory exists and is private. The file is made if it is missing, with mode 0600
	// for every umask, -wal and -shm included.
	Path string
	// Log gets what an operator must know about the store; nil: nothing is logged.
	Log *slog.Logger
	// Verify reads the whole database at Open, before anything could write to it: after a life that did not end cleanly.
	Verify bool
	// ReadOnly opens a database as it is, damaged or not, and never writes to it: reads return what is readable, and
	// every write is ErrReadOnly. Its -wal and -shm are made if they are missing, as for every reader.
	ReadOnly bool
	// OnTransaction gets the duration of each transaction, committed or not, on the writer's goroutine: it must not wait.
	// It may be nil.
	OnTransaction func(took time.Duration)
}

// Store is an open database. All of its methods may be called from any goroutine.
type Store struct {
	path     string
	log      *slog.Logger
	identity identity
	sizes    sizes

	readers *sql.DB
	queries sync.Map // query -> *sql.Stmt on readers

	writer    *writer         // nil: the store was opened read-only
	requests  chan *request   // unbuffered: a request that was never received was certainly not written
	wipes     chan chan error // asks for wipe
	quit      chan struct{}   // closed when the writer's goroutine must end
	displaced atomic.Bool
	readOnly  atomic.Bool
	// commits counts the transactions that were committed.
	commits atomic.Int64
	opened  time.Time
	health  health
	found   int          // see FoundSchema
	foreign []InvalidRow // see ForeignSchema
	onEnd   func(took time.Duration)

	// reading ends, with ErrClosed as its cause, when Close begins.
	reading   context.Context
	stopReads context.CancelCauseFunc

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup // calls under way; grows only under mu and while not closed

	abandon   chan struct{} // closed when Close stops waiting
	done      chan struct{} // closed when everything is closed
	closeErr  error         // set before done is closed
	giveUp    sync.Once
	closeOnce sync.Once
}

// FoundSchema is the schema version that the database had when Open was called, before it was brought up to date.
// It is 0 for a database that Open created, and for a store that is read-only.
func (s *Store) FoundSchema() int { return s.found }

// ForeignSchema is the part of the database's schema that no gateway made, as Open found it: triggers, views and indexes,
// which Open dropped and kept in the table quarantine, and tables, which it left alone.
func (s *Store) ForeignSchema() []InvalidRow { return s.foreign }

// Commits is how many transactions were committed since the store was opened; each costs one write to the disk.
func (s *Store) Commits() int64 { return s.commits.Load() }

// StopWriting makes an open store read-only, because its database was found damaged. Committed rows stay; every later
// write is ErrReadOnly.
func (s *Store) StopWriting() { s.readOnly.Store(true) }

// enter counts a call; the caller calls s.calls.Done when the call ends.
func (s *Store) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.calls.Add(1)
	return nil
}

// Close ends the store: later calls get ErrClosed, reads under way are interrupted, waiting writes are committed, and the
// files are closed. It never waits for readers in other processes. When ctx ends first, calls that still wait get
// ErrClosed, Close returns ctx's error, and the rest of the close continues in the background: a write that hangs in the
// kernel cannot be cancelled.
//
// Close may be called more than once and by several goroutines; each waits for the same end.
func (s *Store) Close(ctx context.Context) error {
	s.closeOnce.Do(func() {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		s.stopReads(ErrClosed)
		go func() {
			s.calls.Wait()
			close(s.quit)
		}()
	})
	select {
	case <-s.done:
		return s.closeErr
	case <-ctx.Done():
		s.giveUp.Do(func() { close(s.abandon) })
		return fmt.Errorf("close the store at %s: %w", s.path, context.Cause(ctx))
	}
}

// closeFiles closes the connections once they are unused.
//
// SQLite's last writable connection to close copies the -wal into the database and deletes it, without a bound. It skips
// that while another process has the file open. Where the copy would take long, a read-only connection is closed last,
// which may not copy: the next life finds the -wal and continues with it.
func (s *Store) closeFiles() error {
	if s.writer == nil {
		return s.readers.Close()
	}
	if fi, err := os.Stat(s.path + "-wal"); err == nil && (fi.Size() > maxQuickWAL || s.readOnly.Load()) {
		if keep := s.holdOpen(); keep != nil {
			s.log.Info(ops.LogStoreCheckpointSkipped, "wal_bytes", fi.Size())
			return errors.Join(s.writer.close(), keep.Close(), s.readers.Close())
		}
	}
	return errors.Join(s.readers.Close(), s.writer.close())
}

// holdOpen returns a read-only connection that SQLite counts as a user of the file, which it does from the first read on;
// nil if none is available.
func (s *Store) holdOpen() *sql.Conn {
	ctx, cancel := context.WithTimeout(context.Background(), busyMS*time.Millisecond)
	defer cancel()
	conn, err := s.readers.Conn(ctx)
	if err != nil {
		return nil
	}
	var n int
	if err := conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&n); err != nil {
		return nil
	}
	return conn
}
