package instance

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// asideDir is the folder of what was found in a home and could not be true.
const asideDir = "aside"

// asideKept is how many files it keeps, the newest ones: a disk that damages a file at each start must not fill up with
// them.
const asideKept = 32

// Aside is a file that was found in the home, could not be used and was moved out of the way.
type Aside struct {
	// File is its name before, relative to the home, and Kept its path now; empty where it could not be moved and is where
	// it was. Err says why, or why the move may not survive a power cut.
	File, Kept string
	// Why says what is wrong with it.
	Why error
	Err error
	At  time.Time
}

// String is a warning for an operator: what, why, and where it is now.
func (a Aside) String() string {
	if a.Kept == "" {
		return fmt.Sprintf("%s cannot be used: %s. It could not be set aside either and is where it was: %s", a.File, reason(a.Why), reason(a.Err))
	}
	return fmt.Sprintf("%s could not be used and was set aside: %s. It is kept as %s", a.File, reason(a.Why), a.Kept)
}

// SetAside moves the file at path, which is in the home, into the folder aside, under a name that tells what it was and
// when it was moved, and never that of another. why is what is wrong with it. Whoever calls it holds the lock.
func (h *Home) SetAside(path string, why error) Aside {
	a := Aside{Why: why, At: time.Now()}
	var err error
	if a.File, err = filepath.Rel(h.dir, path); err != nil {
		a.File = path
	}
	a.Kept, a.Err = h.moveAside(path, a.At)
	h.mu.Lock()
	h.aside = append(h.aside, a)
	h.mu.Unlock()
	return a
}

// WasSetAside are the files that SetAside was called for since Open, in that order.
func (h *Home) WasSetAside() []Aside {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.aside)
}

// maxNames is how many names are tried for one file; as many would have to be moved within a millisecond.
const maxNames = 100

func (h *Home) moveAside(path string, now time.Time) (string, error) {
	dir := filepath.Join(h.dir, asideDir)
	if err := ensureDir(dir); err != nil {
		return "", err
	}
	name := strings.TrimLeft(filepath.Base(path), ".") + "." + now.UTC().Format("20060102T150405.000Z")
	for n := range maxNames {
		to := filepath.Join(dir, name)
		if n > 0 {
			to += fmt.Sprintf(".%d", n)
		}
		if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := os.Rename(path, to); err != nil {
			return "", err
		}
		if fi, err := os.Lstat(to); err == nil && fi.Mode().IsRegular() && fi.Mode().Perm() != fileMode {
			_ = os.Chmod(to, fileMode) // the folder is closed to others all the same
		}
		h.pruneAside(dir)
		// Both names have to be durable: what comes back would be believed, or moved once more.
		return to, errors.Join(syncDir(h.dir), syncDir(filepath.Dir(path)), syncDir(dir))
	}
	return "", fs.ErrExist
}

// pruneAside deletes the oldest files beyond those that are kept. What cannot be deleted stays: the next one tries again.
func (h *Home) pruneAside(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	moved := func(name string) string { // the part of a name that says when it was moved
		i := strings.LastIndex(name, "Z")
		return name[max(0, i-len("20060102T150405.000")):]
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int {
		return cmp.Or(cmp.Compare(moved(b.Name()), moved(a.Name())), cmp.Compare(b.Name(), a.Name()))
	})
	for _, e := range entries[min(len(entries), asideKept):] {
		_ = os.Remove(filepath.Join(dir, e.Name()))
	}
}
