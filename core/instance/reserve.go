package instance

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Reserve keeps size bytes of the disk for a file that must be written even when the disk is full (HF25): it makes a file
// of blanks at path. An existing file of that size stays as it is. A file system that writes every change to a new place,
// such as btrfs, keeps less than that.
func Reserve(path string, size int) error {
	if fi, err := os.Lstat(path); err == nil && fi.Mode().IsRegular() && fi.Size() == int64(size) {
		return nil
	}
	err := os.Remove(path)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		err = os.WriteFile(path, bytes.Repeat([]byte{'\n'}, size), fileMode)
	}
	if err != nil {
		_ = os.Remove(path) // a part of it is useless
		return fmt.Errorf("keep room for %s: %w", path, err)
	}
	return nil
}

// Spend writes b into the file that Reserve made at reserve, and moves it to target in one step. It needs no room but the
// reserve's. The file keeps its length, with line ends after b. If target has that length too, it becomes the reserve, so
// that Spend can be called repeatedly. Any other target is deleted.
func Spend(reserve, target string, b []byte) error {
	f, err := os.OpenFile(reserve, os.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("spend the room kept for %s: %w", target, err)
	}
	fi, err := f.Stat()
	if err == nil && fi.Size() < int64(len(b)) {
		err = syscall.EFBIG
	}
	if err == nil {
		_, err = f.WriteAt(append(bytes.Clone(b), bytes.Repeat([]byte{'\n'}, int(fi.Size())-len(b))...), 0)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("spend the room kept for %s: %w", target, err)
	}
	if old, err := os.Lstat(target); err == nil && old.Size() == fi.Size() {
		if exchange(reserve, target) == nil {
			return nil
		}
	}
	return os.Rename(reserve, target)
}

// NoRoom reports whether err means that the disk is full (ENOSPC) or over its quota (EDQUOT).
func NoRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
