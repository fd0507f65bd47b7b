// Package files reads, writes, edits, lists and searches the files of a work folder for a model.
//
// What it promises (TR9): a path leads to a file inside the folder, or is refused: no symbolic link leads out, even if another program moves
// files meanwhile. Nothing that belongs to the gateway is read, shown or changed, even if the folder contains it. Only regular files are
// opened, so that no pipe and no device blocks or acts. A write is atomic and durable: after a crash there is the old or the new
// file, and a temporary file that was left is removed by the next write into its folder. Writers of one folder work one after
// the other, also those of other gateways. Everything is bounded, and ends with its context between two steps.
//
// find.go follows a path, read.go reads, write.go replaces a file, edit.go changes a text in it, walk.go goes through folders for
// list.go and search.go, and glob.go has the patterns of names. Errors are for the model: they say what to do next.
//
// A Folder has no state but its options, and no lock. Its methods may be called from any goroutine.
package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Bounds of one call.
const (
	// MaxFile is the longest file that is written or edited, in bytes. More of a longer one is read.
	MaxFile = 16 << 20
	// maxRead is how much of a file is read, in bytes.
	maxRead = 256 << 20
	// maxDepth bounds how deep a path may lead: each folder on the way is open.
	maxDepth = 128
	// maxLinks is how many symbolic links a path may have, as in Linux.
	maxLinks = 40
	// maxEntries is how many entries of folders a list or a search looks at.
	maxEntries = 200_000
)

// Own is what belongs to the gateway: no call reaches it.
type Own struct {
	// Home is the gateway's folder, and Work the one below it that agents may use.
	Home, Work string
	// Files are further files, such as the config and those with secrets. They need not exist.
	Files []string
}

// Folder is one work folder.
type Folder struct {
	dir string
	own Own
	// fixed means that dir has no symbolic links, and is refused once it has some.
	fixed bool
}

// New returns the work folder dir, an absolute path. It is made, 0700, by the first call.
func New(dir string, own Own) *Folder { return &Folder{dir: dir, own: own} }

// Outside is the folder of a path that leads out of the work folder, and the name of its file there, for a write that a person has to
// allow. The folder exists, its path has no symbolic links, and it must still have none when the file is written. is is false for every
// other path, also for one that no one may write to: a write to it says why.
func (f *Folder) Outside(name string) (folder *Folder, dir, base string, is bool) {
	if name == "~" || strings.HasPrefix(name, "~/") || len(name) > maxPath || strings.HasSuffix(name, "/") {
		return nil, "", "", false
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(f.dir, name)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(filepath.Clean(name)))
	if err != nil {
		return nil, "", "", false
	}
	if work, err := filepath.EvalSymlinks(f.dir); err != nil || within(work, dir) {
		return nil, "", "", false
	}
	folder = &Folder{dir: dir, own: f.own, fixed: true}
	if folder.ownsFolder(dir) {
		return nil, "", "", false
	}
	return folder, dir, filepath.Base(name), true
}

// ErrFolder is the error of a folder where a file is needed.
var ErrFolder = errors.New("it is a folder, not a file")

var (
	errOwn     = errors.New("it belongs to the gateway itself, and no tool may use it")
	errOutside = errors.New("it is outside of the work folder; give a path that begins at the work folder, such as src/main.go")
	errMissing = errors.New("there is no such file or folder in the work folder")
	errMoved   = errors.New("it was replaced again and again meanwhile; try again")
)

// owned is what belongs to the gateway, as one call finds it on the disk.
type owned struct {
	home, work fs.FileInfo // nil: missing
	paths      []string    // of the files, also by the names that their links lead to
	files      []fs.FileInfo
	entries    func() []fs.FileInfo // what is in the home, for a file that has several names
}

// look finds what belongs to the gateway.
func (o Own) look() owned {
	var found owned
	found.home, _ = stat(o.Home)
	found.work, _ = stat(o.Work)
	for _, path := range o.Files {
		if path == "" {
			continue
		}
		found.paths = append(found.paths, filepath.Clean(path))
		// The folder of a file that is missing may be a link, too.
		if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			found.paths = append(found.paths, filepath.Join(dir, filepath.Base(path)))
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			found.paths = append(found.paths, real)
		}
		if fi, err := stat(path); err == nil {
			found.files = append(found.files, fi)
		}
	}
	found.entries = sync.OnceValue(func() (all []fs.FileInfo) {
		entries, _ := os.ReadDir(o.Home)
		for _, e := range entries {
			if fi, err := e.Info(); err == nil {
				all = append(all, fi)
			}
		}
		return all
	})
	return found
}

func stat(path string) (fs.FileInfo, error) {
	if path == "" {
		return nil, fs.ErrNotExist
	}
	return os.Stat(path)
}

// has reports whether what is at path, an absolute one without links, belongs to the gateway. fi is nil where nothing is. A file of
// the home that has a second name elsewhere is found, too: to open the database would take its locks away (F1).
func (o owned) has(path string, fi fs.FileInfo) bool {
	if slices.Contains(o.paths, path) {
		return true
	}
	if fi == nil || !fi.Mode().IsRegular() {
		return false
	}
	is := func(own fs.FileInfo) bool { return os.SameFile(own, fi) }
	if slices.ContainsFunc(o.files, is) {
		return true
	}
	st, known := fi.Sys().(*syscall.Stat_t)
	return known && st.Nlink > 1 && slices.ContainsFunc(o.entries(), is)
}

// same is os.SameFile for files that may be missing.
func same(a, b fs.FileInfo) bool { return a != nil && b != nil && os.SameFile(a, b) }

// within reports whether path is dir or below it. Both are absolute and without links.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return dir != "" && err == nil && filepath.IsLocal(rel)
}

// cause is an error without the path, which the caller names.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return cause(e.Err)
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return cause(e.Err)
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return errors.New("the disk is full; nothing was changed")
	case errors.Is(err, syscall.ENAMETOOLONG):
		return errors.New("the name is too long; give a shorter one")
	case errors.Is(err, fs.ErrPermission):
		return errors.New("permission denied: the gateway's user may not do that")
	}
	return err
}
