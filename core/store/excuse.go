package store

import (
	"context"
	"errors"
	"os"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// OutOfOurHands reports whether err says only that time ran out, or that the disk is full (ENOSPC), over its quota
// (EDQUOT) or broken (EIO): nothing that another exit code of the gateway would help with. SQLite reports the three as
// SQLITE_FULL and SQLITE_IOERR (https://www.sqlite.org/rescode.html). Of errors that are joined each must be one of them.
func OutOfOurHands(err error) bool {
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
			if !OutOfOurHands(part) {
				return false
			}
		}
		return true
	}
	if err == context.DeadlineExceeded || err == os.ErrDeadlineExceeded {
		return true
	}
	return OutOfOurHands(errors.Unwrap(err))
}
