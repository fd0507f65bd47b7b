package store

import (
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// The errors that a caller decides on. All others wrap SQLite's own errors.
var (
	// ErrClosed is returned to calls after Close, or to calls that Close could not wait for.
	ErrClosed = errors.New("the store is closed")
	// ErrStaleTurn refuses a write of a turn that no longer runs: it was interrupted, or its session was reset.
	ErrStaleTurn = errors.New("the turn no longer runs")
	// errNotCurrent refuses a write to a session that is not, or cannot be, the current one of its key.
	errNotCurrent = errors.New("the session is not the current one of its key")
	// ErrDisplaced means that the file at the store's path, or its -wal, is no longer the one that SQLite holds: no
	// reader would see what is committed. The store refuses to write until the gateway is started again.
	ErrDisplaced = errors.New("the database file was replaced or deleted under the running gateway; start the gateway again")
	// ErrReadOnly refuses every write: the database is damaged, and a damaged database is not written to.
	ErrReadOnly = errors.New("the store is read-only because its database is damaged")
	// ErrUnusable means that no later start will open the database as it is: a person has to act. A *DamagedError and
	// errNewer are such errors.
	ErrUnusable = errors.New("the database cannot be used as it is")
	// errNewer means that a newer gateway has changed the database's schema.
	errNewer = fmt.Errorf("%w: it was written by a newer gateway; use that version or a newer one", ErrUnusable)
)

// DamagedError means that the file is not a database, that its pages do not fit together (F8), that it is truncated
// (HF29), or that its schema is not the gateway's (HF31).
type DamagedError struct {
	Path string
	// What is SQLite's description of it.
	What string
	// Tables are those with damaged pages; empty where that is unknown.
	Tables []string
	cause  error
}

// Unwrap is SQLite's own error, if there is one.
func (e *DamagedError) Unwrap() error { return e.cause }

// Is reports that a damaged database cannot be used as it is.
func (e *DamagedError) Is(target error) bool { return target == ErrUnusable }

func (e *DamagedError) Error() string {
	in := ""
	switch n := len(e.Tables); {
	case n == 1:
		in = " in table " + e.Tables[0]
	case n > 1:
		in = " in tables " + strings.Join(e.Tables, ", ")
	}
	return fmt.Sprintf("the database %s is damaged%s: %s", e.Path, in, e.What)
}

// damaged turns SQLite's errors for a damaged file into a *DamagedError, and returns other errors unchanged.
func damaged(path string, err error) error {
	if _, is := errors.AsType[*DamagedError](err); is {
		return err
	}
	if e, is := errors.AsType[*sqlite.Error](err); is && (e.Code()&0xff == sqlite3.SQLITE_CORRUPT || e.Code()&0xff == sqlite3.SQLITE_NOTADB) {
		return &DamagedError{Path: path, What: e.Error(), cause: err}
	}
	return err
}
