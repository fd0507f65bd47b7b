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

// quarantineDir is the folder for files of a home that could not be used.
const quarantineDir = "aside"

// quarantineKept is how many files it keeps, the newest ones. A disk that damages a file at each start must not fill up
// with them.
const quarantineKept = 32

// Quarantined is a file of the home that could not be used and was moved out of the way.
type Quarantined struct {
	// File is its earlier name, relative to the home. Kept is its path now; empty: it could not be moved and is where it
	// was. Err is why, or why the move may not survive a power cut.
	File, Kept string
	// Why is what is wrong with it.
	Why error
	Err error
	At  time.Time
}

// String is a warning for an operator: which file, what is wrong, and where it is now.
func (a Quarantined) String() string {
	if a.Kept == "" {
		return fmt.Sprintf("%s cannot be used: %s. It could not be moved to quarantine and is still in its place: %s", a.File, reason(a.Why), reason(a.Err))
	}
	return fmt.Sprintf("%s could not be used: %s. It was moved to %s", a.File, reason(a.Why), a.Kept)
}

// Quarantine moves the file at path, which is in the home, into the folder aside/. The new name has the old one and the
// time of the move, and is never the name of another file. why is what is wrong with it. The caller holds the lock.
func (h *Home) Quarantine(path string, why error) Quarantined {
	a := Quarantined{Why: why, At: time.Now()}
	var err error
	if a.File, err = filepath.Rel(h.dir, path); err != nil {
		a.File = path
	}
	a.Kept, a.Err = h.moveToQuarantine(path, a.At)
	h.mu.Lock()
	h.quarantined = append(h.quarantined, a)
	h.mu.Unlock()
	return a
}

// Quarantined returns the files that Quarantine was called for since Open, in that order.
func (h *Home) Quarantined() []Quarantined {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.quarantined)
}

// maxNames is how many names are tried for one file. All are taken only if that many files are moved within a
// millisecond.
const maxNames = 100

func (h *Home) moveToQuarantine(path string, now time.Time) (string, error) {
	dir := filepath.Join(h.dir, quarantineDir)
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
			_ = os.Chmod(to, fileMode) // the folder is closed to others anyway
		}
		h.pruneQuarantine(dir)
		// Both names must be durable: a file that comes back would be trusted, or moved again.
		return to, errors.Join(SyncDir(h.dir), SyncDir(filepath.Dir(path)), SyncDir(dir))
	}
	return "", fs.ErrExist
}

// pruneQuarantine deletes the oldest files beyond quarantineKept. A file that cannot be deleted stays until the next
// call.
func (h *Home) pruneQuarantine(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	moved := func(name string) string { // the part of a name with the time of the move
		i := strings.LastIndex(name, "Z")
		return name[max(0, i-len("20060102T150405.000")):]
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int {
		return cmp.Or(cmp.Compare(moved(b.Name()), moved(a.Name())), cmp.Compare(b.Name(), a.Name()))
	})
	for _, e := range entries[min(len(entries), quarantineKept):] {
		_ = os.Remove(filepath.Join(dir, e.Name()))
	}
}
