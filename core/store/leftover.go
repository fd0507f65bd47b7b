package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A backup that is killed with SIGKILL leaves its unfinished copy in the folder of its target, which may be on another
// disk. So the path of the copy is recorded next to the database before the copy exists, and the next Open or Copy
// removes the copy. The record is a symbolic link, because no code in this package opens a file by its path.

// partPrefix begins the name of every unfinished copy.
const partPrefix = ".gatewaytui-backup-"

// recordSuffix follows the database's name in the name of the record. The link's target is the path of the unfinished copy
// without its last part.
const recordSuffix = "-copying"

// leftoverBound is how long a start waits until an unfinished copy is removed. The folder may be on a network file system
// that does not answer.
const leftoverBound = 2 * time.Second

// createPart creates the empty file of a copy in dir, mode 0600, and records its path for the database at path. The
// returned function removes the record.
func createPart(path, dir string) (part *os.File, forget func(), err error) {
	name := partPrefix + rand.Text()
	// Errors are ignored: a full disk of the home must not prevent a backup to another disk, and a record of a copy that is
	// gone does no harm.
	_ = os.Remove(path + recordSuffix)
	_ = os.Symlink(filepath.Join(dir, name), path+recordSuffix)
	forget = func() { _ = os.Remove(path + recordSuffix) }
	part, err = os.CreateTemp(dir, name+"-*")
	if err != nil {
		forget()
		return nil, nil, err
	}
	return part, forget, nil
}

// removeLeftover removes the unfinished copy that a killed backup of the database at path left, and its record. It returns
// the path of the removed copy, empty if there was none. It waits at most leftoverBound and then returns an error, while
// the removal continues.
func removeLeftover(ctx context.Context, path string) (removed string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, leftoverBound, fmt.Errorf("no answer within %s", leftoverBound))
	defer cancel()
	record := path + recordSuffix
	recorded, err := os.Readlink(record)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the path of an unfinished backup: %w", err)
	}
	type result struct {
		removed string
		err     error
	}
	done := make(chan result, 1)
	go func() { // ends with its system calls
		removed, err := removePart(recorded)
		if now, readErr := os.Readlink(record); err == nil && readErr == nil && now == recorded {
			err = os.Remove(record)
		}
		done <- result{removed, err}
	}()
	select {
	case r := <-done:
		removed, err = r.removed, r.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		return removed, fmt.Errorf("remove the unfinished backup %.300q: %w", recorded, err)
	}
	return removed, nil
}

// removePart removes the unfinished copy whose path begins with recorded, with SQLite's journal of it. It removes nothing
// but regular files with the name of one, and returns the path of the last.
func removePart(recorded string) (removed string, err error) {
	dir, name := filepath.Split(recorded)
	if !filepath.IsAbs(dir) || len(name) <= len(partPrefix) || !strings.HasPrefix(name, partPrefix) {
		return "", nil
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasPrefix(e.Name(), name+"-") {
			removed = filepath.Join(dir, e.Name())
			err = errors.Join(err, os.Remove(removed))
		}
	}
	return removed, err
}
