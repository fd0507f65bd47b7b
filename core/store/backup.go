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

	"golang.org/x/sys/unix"

	"gatewaytui/core/bound"
	"gatewaytui/core/ops"
)

// spareRoom is how many bytes a backup leaves free on its disk, which is often the store's own.
const spareRoom = 64 << 20

// progressEvery is how often a backup reports its progress.
const progressEvery = 500 * time.Millisecond

// Backup writes a copy of the store to the file at to while the store stays in use: every row that was committed when it
// began, and no part of a transaction. See Copy for the file. It ends when ctx does, and when the store closes; then
// nothing is left of the copy. progress, if not nil, is called with the bytes written and the bytes expected.
func (s *Store) Backup(ctx context.Context, to string, progress func(written, of int64)) error {
	if err := s.enter(); err != nil {
		return fmt.Errorf("back up the store: %w", err)
	}
	defer s.calls.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.reading, func() { cancel(context.Cause(s.reading)) })()
	return Copy(ctx, s.path, to, progress)
}

// Copy writes a copy of the database at path to the file at to, an absolute path. Only the process that holds the home's
// lock may call it, one call at a time. The copy is one file without a -wal, has mode 0600 and is on the disk when Copy
// returns. The caller must sync the folder to make its name durable. An existing file is never overwritten (CodeConflict),
// and the database's own files are refused. Until the copy is complete it has a temporary name in the folder of to. After
// an error nothing is left of it. After a SIGKILL the next Open or Copy of the same database removes it.
//
// It is SQLite's VACUUM INTO on a separate connection (https://www.sqlite.org/lang_vacuum.html), which reads one snapshot
// and blocks no writer.
func Copy(ctx context.Context, path, to string, progress func(written, of int64)) (err error) {
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx) // SQLite reports only "interrupted"
		}
		if err != nil {
			err = fmt.Errorf("back up %s to %s: %w", path, to, err)
		}
	}()
	if err := checkRegular(path); err != nil {
		return err
	}
	if err := checkTarget(path, to); err != nil {
		return err
	}
	size := int64(0) // the largest that the copy can have
	for _, name := range []string{path, path + "-wal"} {
		fi, err := os.Stat(name)
		switch {
		case err == nil:
			size += fi.Size()
		case name == path:
			return err
		}
	}
	if err := checkRoom(filepath.Dir(to), size); err != nil {
		return err
	}
	_, _ = removeLeftover(ctx, path) // a copy that cannot be removed must not prevent this backup
	defer os.Remove(path + recordSuffix)
	part, err := createPart(path, filepath.Dir(to)) // VACUUM INTO accepts an empty file
	if err != nil {
		return err
	}
	defer os.Remove(part.Name()) // gone already after a success
	defer part.Close()
	defer follow(part.Name(), size, progress)()

	db, err := readPool(path)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", part.Name()); err != nil {
		return damaged(path, err)
	}
	// SQLite does not sync the copy.
	if err := part.Sync(); err != nil {
		return err
	}
	return moveNew(part.Name(), to)
}

// checkTarget refuses a path that a copy must not be written to.
func checkTarget(path, to string) error {
	if !filepath.IsAbs(to) {
		return &ops.Error{Code: ops.CodeInvalid, Message: fmt.Sprintf("%.200q is not an absolute path", to), Hint: "use an absolute path"}
	}
	there, err := os.Stat(filepath.Dir(to))
	if err != nil {
		return err
	}
	home, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return err
	}
	if os.SameFile(there, home) {
		for _, own := range []string{"", "-wal", "-shm", "-journal", recordSuffix} {
			if filepath.Base(to) == filepath.Base(path)+own {
				return &ops.Error{Code: ops.CodeInvalid, Message: to + " is a file of the gateway's own database", Hint: "name another file"}
			}
		}
	}
	if _, err := os.Lstat(to); err == nil {
		return &ops.Error{Code: ops.CodeConflict, Message: to + " exists already; a backup never overwrites a file", Hint: "name another file, or move the existing one away"}
	}
	return nil
}

func checkRoom(dir string, size int64) error {
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		return nil // the copy itself then reports what is wrong
	}
	if free := int64(disk.Bavail) * int64(disk.Bsize); free < size+spareRoom {
		return &ops.Error{
			Code:    ops.CodeUnavailable,
			Message: fmt.Sprintf("%d MiB are free in %s, and the copy may need %d MiB and leaves %d MiB free", free>>20, dir, size>>20, spareRoom>>20),
			Hint:    "free some space, or name a file on another disk",
		}
	}
	return nil
}

// follow reports to progress how large the file at path is, until the returned function is called.
func follow(path string, of int64, progress func(written, of int64)) (stop func()) {
	if progress == nil {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.Tick(progressEvery)
		for {
			select {
			case <-quit:
				return
			case <-tick:
				if fi, err := os.Stat(path); err == nil {
					progress(fi.Size(), max(of, fi.Size()))
				}
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

// moveNew renames a file within its folder, unless the new name exists. Where the file system cannot do both in one step, it
// makes a second name (link(2)).
func moveNew(from, to string) error {
	err := renameNew(from, to)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP) {
		if err = os.Link(from, to); err == nil {
			return os.Remove(from)
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return &ops.Error{Code: ops.CodeConflict, Message: to + " exists already; a backup never overwrites a file", Hint: "name another file"}
	}
	return err
}

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

// createPart creates the empty file of a copy in dir, mode 0600, and records its path for the database at path. The caller
// removes the record, also after an error.
func createPart(path, dir string) (*os.File, error) {
	name := partPrefix + rand.Text()
	// Errors are ignored: a full disk of the home must not prevent a backup to another disk, and a record of a copy that is
	// gone does no harm.
	_ = os.Remove(path + recordSuffix)
	_ = os.Symlink(filepath.Join(dir, name), path+recordSuffix)
	return os.CreateTemp(dir, name+"-*")
}

// removeLeftover removes the unfinished copy that a killed backup of the database at path left, and its record. It returns
// the path of the removed copy, empty if there was none. It waits at most leftoverBound and then returns an error, while
// the removal continues.
func removeLeftover(ctx context.Context, path string) (removed string, err error) {
	record := path + recordSuffix
	recorded, err := os.Readlink(record)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the path of an unfinished backup: %w", err)
	}
	removed, _, err = bound.Call(ctx, leftoverBound, func(context.Context) (string, error) { // ends with its system calls
		removed, err := removePart(recorded)
		if now, readErr := os.Readlink(record); err == nil && readErr == nil && now == recorded {
			err = os.Remove(record)
		}
		return removed, err
	}, nil)
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
