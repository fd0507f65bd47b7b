package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"
)

// What makes a planned stop exit 1, and what does not.
func TestWhichErrorsOfAStoreAreCausedByTheHost(t *testing.T) {
	path := func(errno syscall.Errno) error { return &fs.PathError{Op: "write", Path: "gateway.db", Err: errno} }
	for _, tt := range []struct {
		name string
		err  error
		want bool
	}{
		{"no error", nil, false},
		{"the time was over", fmt.Errorf("close the store: %w", context.DeadlineExceeded), true},
		{"the deadline of a file was over", os.ErrDeadlineExceeded, true},
		{"the disk is full", path(syscall.ENOSPC), true},
		{"the quota is used up", path(syscall.EDQUOT), true},
		{"the disk is broken", fmt.Errorf("close: %w", path(syscall.EIO)), true},
		{"permission denied", path(syscall.EACCES), false},
		{"the store was closed", ErrClosed, false},
		{"the file was replaced", ErrDisplaced, false},
		{"a full disk and a broken one", errors.Join(path(syscall.ENOSPC), path(syscall.EIO)), true},
		{"a full disk and something else", errors.Join(path(syscall.ENOSPC), errors.New("checksum")), false},
		{"an error that names two causes", fmt.Errorf("%w, %w", path(syscall.EIO), ErrDisplaced), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := CausedByHost(tt.err); got != tt.want {
				t.Errorf("CausedByHost(%v) is %v, want %v", tt.err, got, tt.want)
			}
		})
	}
}
