package store

import (
	"context"
	"errors"
	"os"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

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
