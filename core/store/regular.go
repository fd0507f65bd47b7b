package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// checkRegular refuses a database with a symbolic link or another irregular file among its files (HF30). SQLite follows a
// link: it would make the database at a target that another user may have chosen. It uses lstat(2) alone.
func checkRegular(path string) error {
	for _, name := range []string{path, path + "-wal", path + "-shm", path + "-journal"} {
		fi, err := os.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case fi.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(name) // an empty name will do
			return fmt.Errorf("%w: %s is a symbolic link, to %.200q, which is not followed; move the link away, and put the database itself there if it is yours", ErrUnusable, name, to)
		case !fi.Mode().IsRegular():
			return fmt.Errorf("%w: %s is not a regular file; move it away", ErrUnusable, name)
		}
	}
	return nil
}
