package store

import "golang.org/x/sys/unix"

// renameNew renames a file unless the new name exists (renameat2(2)).
func renameNew(from, to string) error {
	return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
}
