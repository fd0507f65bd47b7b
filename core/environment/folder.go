package environment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// removeAgain is the pause before a folder is removed again.
const removeAgain = 20 * time.Millisecond

// RemoveFolder removes a folder that commands wrote to, for drivers. What commands made unreadable is made readable first. A process that is
// just ending may still write there, so that it tries again until ctx ends.
func RemoveFolder(ctx context.Context, dir string) error {
	for {
		err := os.RemoveAll(dir)
		if err == nil || !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, os.ErrPermission) {
			return err
		}
		if errors.Is(err, os.ErrPermission) {
			_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, _ error) error {
				if d != nil && d.IsDir() {
					_ = os.Chmod(path, 0o700) // the next removal says what is wrong with it
				}
				return ctx.Err()
			})
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(removeAgain):
		}
	}
}
