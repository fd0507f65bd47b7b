package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
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
	_, atLimit := errors.AsType[*fileSizeError](err)
	_, isDamage := errors.AsType[*DamagedError](err)
	primary := code(err) & 0xff
	switch {
	case atLimit:
		return "ask the operator to raise LimitFSIZE= of the unit or `ulimit -f`"
	case isDamage, errors.Is(err, ErrReadOnly):
		return "ask the operator to repair the database"
	case errors.Is(err, ErrDisplaced):
		return "ask the operator to start the gateway again"
	case errors.Is(err, ErrClosed):
		return "wait until the gateway is back"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), primary == sqlite3.SQLITE_FULL:
		return "free space on the disk or ask the operator"
	case primary == sqlite3.SQLITE_IOERR, primary == sqlite3.SQLITE_CANTOPEN, primary == sqlite3.SQLITE_READONLY:
		return "ask the operator to check the disk"
	}
	return "ask the operator to check the log"
}

// code is SQLite's result code of err, whose low byte is the primary code (https://www.sqlite.org/rescode.html). It is 0 for
// other errors.
func code(err error) int {
	if e, is := errors.AsType[*sqlite.Error](err); is {
		return e.Code()
	}
	return 0
}

// refusedByDisk reports whether one request failed for a reason that every other will meet: no room, or a file that
// cannot be written. SQLite may return this for a statement and keep its transaction.
func refusedByDisk(err error) bool {
	return slices.Contains([]int{sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}, code(err)&0xff)
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
	if _, known := errors.AsType[*fileSizeError](err); known || code(err) != sqlite3.SQLITE_IOERR_WRITE {
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

// CausedByHost reports whether err means only that time ran out, or that the disk is full (ENOSPC), over its quota
// (EDQUOT) or broken (EIO). Another exit code of the gateway would not help with these. SQLite reports the three as
// SQLITE_FULL and SQLITE_IOERR (https://www.sqlite.org/rescode.html). Of joined errors each must be one of them.
func CausedByHost(err error) bool {
	switch e := err.(type) {
	case nil:
		return false
	case syscall.Errno:
		return e == syscall.ENOSPC || e == syscall.EDQUOT || e == syscall.EIO
	case *sqlite.Error:
		primary := e.Code() & 0xff
		return primary == sqlite3.SQLITE_FULL || primary == sqlite3.SQLITE_IOERR
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			if !CausedByHost(part) {
				return false
			}
		}
		return true
	}
	if err == context.DeadlineExceeded || err == os.ErrDeadlineExceeded {
		return true
	}
	return CausedByHost(errors.Unwrap(err))
}
