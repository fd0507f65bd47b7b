package store

import (
	"errors"
	"fmt"
	"math"
	"os"
	"syscall"

	"github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Reason is the innermost cause of an error of the store (the first, if there are several), without the path of its
// database, for readers who may not see the home (HF33).
func Reason(err error) string {
	if damage, is := errors.AsType[*DamagedError](err); is {
		return "the database is damaged: " + damage.What
	}
	if limit, is := errors.AsType[*fileSizeError](err); is {
		return limit.what()
	}
	for {
		cause := errors.Unwrap(err)
		if several, is := err.(interface{ Unwrap() []error }); is && len(several.Unwrap()) > 0 {
			cause = several.Unwrap()[0]
		}
		if cause == nil {
			return err.Error()
		}
		err = cause
	}
}

// Advice is how to remove the cause of an error of the store, as a clause that begins with a verb and has no path.
func Advice(err error) string {
	const look = "ask the operator to check the log"
	if _, is := errors.AsType[*fileSizeError](err); is {
		return "ask the operator to raise LimitFSIZE= of the unit or `ulimit -f`"
	}
	if _, is := errors.AsType[*DamagedError](err); is || errors.Is(err, ErrReadOnly) {
		return "ask the operator to repair the database"
	}
	if errors.Is(err, ErrDisplaced) {
		return "ask the operator to start the gateway again"
	}
	if errors.Is(err, ErrClosed) {
		return "wait until the gateway is back"
	}
	const room = "free space on the disk or ask the operator"
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return room
	}
	e, is := errors.AsType[*sqlite.Error](err)
	if !is {
		return look
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return room
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY:
		return "ask the operator to check the disk"
	}
	return look
}

// fileSizeError means that a file of the database may not grow: setrlimit(2), RLIMIT_FSIZE. SQLite reports EFBIG as a
// disk I/O error.
type fileSizeError struct {
	limit uint64 // in bytes
	cause error
}

func (e *fileSizeError) what() string {
	return fmt.Sprintf("no file may be larger than %s (RLIMIT_FSIZE)", humanize.IBytes(e.limit))
}
func (e *fileSizeError) Error() string { return e.what() + ": " + e.cause.Error() }
func (e *fileSizeError) Unwrap() error { return e.cause }

// fileSize returns err as a *fileSizeError if a write failed because a file of the database is as large as the limit
// allows, or lacks less than one write of it. SQLite keeps no errno for the driver.
func (s *Store) fileSize(err error) error {
	e, is := errors.AsType[*sqlite.Error](err)
	if !is || e.Code() != sqlite3.SQLITE_IOERR_WRITE {
		return err
	}
	if _, known := errors.AsType[*fileSizeError](err); known {
		return err
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_FSIZE, &limit) != nil || limit.Cur > math.MaxInt64 {
		return err
	}
	const oneWrite = 64 << 10 // the largest page, which SQLite writes at once (https://www.sqlite.org/limits.html)
	for _, name := range []string{s.path, s.path + "-wal"} {
		if fi, statErr := os.Stat(name); statErr == nil && uint64(fi.Size())+oneWrite > limit.Cur {
			return &fileSizeError{limit: limit.Cur, cause: err}
		}
	}
	return err
}
