package store

import "golang.org/x/sys/unix"

// renameNew renames a file unless the new name exists (renamex_np(2)).
func renameNew(from, to string) error { return unix.RenamexNp(from, to, unix.RENAME_EXCL) }
