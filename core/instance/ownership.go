package instance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/text"
)

// The codes of the warnings of a Home.
const (
	// WarnForeignFile is about files in the home that belong to another user (HF14).
	WarnForeignFile = "home.foreign_file"
	// WarnWasOpen is about a home that other users could enter until this start (HF30).
	WarnWasOpen = "home.was_open"
)

// ErrExposed marks a home that other users could write to and in which a folder is a symbolic link. Another try does not
// help: the link has to be removed.
var ErrExposed = errors.New("the home has a symbolic link that another user may have made")

// owned are the files that only their owner can use, because locks and permissions depend on them. The owner of the
// folder can replace every other file of the home.
var owned = []string{lockFile, storeFile, storeFile + "-wal", storeFile + "-shm"}

// Warnings are an operator's warnings about the home as Open found it.
func (h *Home) Warnings() []ops.Warning { return slices.Clone(h.warnings) }

// warnOpen records that the home had mode was until now. A folder in which no gateway has run had nothing to read.
func (h *Home) warnOpen(was fs.FileMode) {
	if was.Perm()&0o077 == 0 || !isHome(h.dir) {
		return
	}
	h.warn(WarnWasOpen, fmt.Sprintf("the home had mode %04o and was open to other users; it is %04o now. Other users may have read its conversations and log, and changed its files", was.Perm(), dirMode))
}

func (h *Home) warn(code, message string) {
	h.warnings = append(h.warnings, ops.Warning{Code: code, Message: message, Since: ops.At(time.Now())})
}

// checkLinks refuses a home that others could write to if one of its folders is a symbolic link. The link's target would
// be closed to its readers, and our files would go there (HF30). In a private home the link is its owner's.
func checkLinks(dir string, was fs.FileMode) error {
	if was.Perm()&0o022 == 0 {
		return nil
	}
	for _, sub := range folders {
		path := filepath.Join(dir, sub)
		if fi, err := os.Lstat(path); err == nil && fi.Mode()&fs.ModeSymlink != 0 {
			return &userError{ops.Error{
				Code:    ops.CodeInvalid,
				Message: fmt.Sprintf("%s is a symbolic link, and other users could write to the home (mode %04o); nothing was changed", path, was.Perm()),
				Hint:    "remove the link; or, if it is yours, close the home with chmod 700 " + text.ShellWord(dir),
			}, ErrExposed}
		}
	}
	return nil
}

// closeFiles removes the permissions of others on the files in dir. It returns the files of other users, by their names
// below home, and does not change them, because the folder is closed to everyone else. It opens no file: opening and
// closing the store's would drop SQLite's locks (F1).
func closeFiles(home, dir string) (foreign []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // no file was ever quarantined
	}
	if err != nil {
		return nil, problem(err, "read the folder "+dir, otherHome)
	}
	for _, e := range entries {
		fi, err := e.Info()
		if err != nil || !fi.Mode().IsRegular() {
			continue // it is gone, or not a file that we write
		}
		path := filepath.Join(dir, e.Name())
		if uid := Owner(fi); uid != os.Geteuid() {
			if dir == home && slices.Contains(owned, e.Name()) && os.Geteuid() != 0 { // root may use every file
				return nil, problem(syscall.EPERM, fmt.Sprintf("%s belongs to uid %d and we run as uid %d", path, uid, os.Geteuid()),
					fmt.Sprintf("change its owner with: chown %d %s", os.Geteuid(), text.ShellWord(path)))
			}
			if name, err := filepath.Rel(home, path); err == nil {
				foreign = append(foreign, fmt.Sprintf("%.60q (uid %d)", name, uid))
			}
			continue
		}
		if fi.Mode().Perm()&0o077 == 0 {
			continue
		}
		err = os.Chmod(path, fi.Mode().Perm()&^0o077)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, problem(err, "make "+path+" private", otherHome)
		}
	}
	return foreign, nil
}

// CheckLog moves the log file to quarantine if it cannot be used. We would write elsewhere through a symbolic link
// (HF30). A file of another user can be neither closed to others nor, as a rule, written. The caller holds the lock.
func (h *Home) CheckLog() {
	fi, err := os.Lstat(h.Log())
	switch {
	case err != nil: // there is none, or opening it reports why
	case fi.Mode()&fs.ModeSymlink != 0:
		to, _ := os.Readlink(h.Log()) // an empty name will do
		h.Quarantine(h.Log(), fmt.Errorf("it is a symbolic link, to %.200q, which is not followed", to))
	case !fi.Mode().IsRegular():
		h.Quarantine(h.Log(), errors.New("it is not a regular file"))
	case Owner(fi) != os.Geteuid():
		h.Quarantine(h.Log(), fmt.Errorf("it belongs to uid %d and we run as uid %d", Owner(fi), os.Geteuid()))
	}
}
