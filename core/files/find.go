package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// maxPath is the longest path, in bytes, as in Linux.
const maxPath = 4096

// level is a folder on the way to a place. own: it belongs to the gateway.
type level struct {
	root *os.Root
	name string
	own  bool
}

// place is where a path leads. It keeps the folders on the way open: moving one of them does not make the path lead elsewhere.
type place struct {
	real   string // the work folder without links
	owned  owned
	levels []level
	name   string      // in the last folder; a dot: the folder itself
	info   fs.FileInfo // nil: nothing is there
}

// find follows a path. With mayMake, folders on the way are made. Close the place.
func (f *Folder) find(name string, mayMake bool) (*place, error) {
	rest, err := f.parts(name)
	if err != nil {
		return nil, err
	}
	p, err := f.enter()
	if err != nil {
		return nil, err
	}
	if err := p.follow(rest, mayMake); err != nil {
		p.close()
		return nil, cause(err)
	}
	return p, nil
}

// parts are the names in a path, which begins at the work folder or is absolute and leads into it.
func (f *Folder) parts(name string) ([]string, error) {
	switch {
	case len(name) > maxPath:
		return nil, fmt.Errorf("the path has %d bytes, at most %d are possible", len(name), maxPath)
	case strings.ContainsRune(name, 0):
		return nil, errors.New("a path cannot contain the character NUL")
	case name == "~", strings.HasPrefix(name, "~/"):
		return nil, errOutside
	case !filepath.IsAbs(name):
		return strings.Split(name, "/"), nil
	}
	dirs := []string{f.dir}
	if real, err := filepath.EvalSymlinks(f.dir); err == nil {
		dirs = append(dirs, real)
	}
	for _, dir := range dirs {
		if rel, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(rel) {
			return strings.Split(rel, "/"), nil
		}
	}
	return nil, errOutside
}

// enter opens the work folder.
func (f *Folder) enter() (*place, error) {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the work folder: %w", cause(err))
	}
	real, err := filepath.EvalSymlinks(f.dir)
	if err != nil {
		return nil, fmt.Errorf("open the work folder: %w", cause(err))
	}
	if f.fixed && real != f.dir {
		return nil, errMoved
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, fmt.Errorf("open the work folder: %w", cause(err))
	}
	p := &place{real: real, owned: f.own.look(), name: "."}
	p.levels = []level{{root: root, own: f.ownsFolder(real)}}
	if p.info, err = root.Stat("."); err != nil {
		p.close()
		return nil, fmt.Errorf("open the work folder: %w", cause(err))
	}
	return p, nil
}

// ownsFolder reports whether the work folder is in the gateway's home, and not in the part for agents.
func (f *Folder) ownsFolder(real string) bool {
	home, err := filepath.EvalSymlinks(f.own.Home)
	if err != nil || !within(home, real) {
		return false
	}
	work, err := filepath.EvalSymlinks(f.own.Work)
	return err != nil || !within(work, real)
}

func (p *place) close() {
	for _, l := range p.levels {
		_ = l.root.Close()
	}
}

func (p *place) top() level    { return p.levels[len(p.levels)-1] }
func (p *place) dir() *os.Root { return p.top().root }

// path is the place's path from the work folder, without links.
func (p *place) path() string {
	names := make([]string, 0, len(p.levels))
	for _, l := range p.levels {
		names = append(names, l.name)
	}
	return path.Join(append(names, p.name)...)
}

// follow takes one step for each name. What it found of a step that another program undoes meanwhile is an error.
func (p *place) follow(rest []string, mayMake bool) error {
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			if len(p.levels) == 1 {
				return errOutside
			}
			_ = p.dir().Close()
			p.levels = p.levels[:len(p.levels)-1]
			continue
		}
		last := len(rest) == 0
		fi, err := p.look(name)
		switch {
		case err != nil:
			return err
		case fi == nil && last:
			p.name, p.info = name, nil
			return nil
		case fi == nil && !mayMake:
			return errMissing
		case fi == nil:
			if err := p.dir().Mkdir(name, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			rest = append([]string{name}, rest...)
		case fi.Mode()&fs.ModeSymlink != 0:
			if links++; links > maxLinks {
				return errors.New("its symbolic links lead in a circle")
			}
			if rest, err = p.link(name, rest); err != nil {
				return err
			}
		case fi.IsDir():
			if err := p.down(name, fi); err != nil {
				return err
			}
		case len(rest) > 0:
			return fmt.Errorf("%q on the way is %s, not a folder", name, kindOf(fi.Mode()))
		default:
			p.name, p.info = name, fi
			return nil
		}
	}
	if p.top().own {
		return errOwn
	}
	info, err := p.dir().Stat(".")
	p.name, p.info = ".", info
	return err
}

// look is what has this name in the last folder; nil: nothing. What belongs to the gateway is an error, and so is all that is
// missing there.
func (p *place) look(name string) (fs.FileInfo, error) {
	fi, err := p.dir().Lstat(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	p.name = name
	if p.top().own && !same(fi, p.owned.work) || p.owned.has(filepath.Join(p.real, p.path()), fi) {
		return nil, errOwn
	}
	return fi, nil
}

// down enters a folder, which is the one that fi was found for.
func (p *place) down(name string, fi fs.FileInfo) error {
	if len(p.levels) > maxDepth {
		return fmt.Errorf("it is more than %d folders deep", maxDepth)
	}
	root, err := p.dir().OpenRoot(name)
	if err != nil {
		return err
	}
	entered, err := root.Stat(".")
	if err != nil || !os.SameFile(fi, entered) {
		_ = root.Close()
		return errors.Join(err, errMoved)
	}
	own := (p.top().own || same(entered, p.owned.home)) && !same(entered, p.owned.work)
	p.levels, p.name = append(p.levels, level{root: root, name: name, own: own}), "."
	return nil
}

// link is the rest of the way through a symbolic link.
func (p *place) link(name string, rest []string) ([]string, error) {
	target, err := p.dir().Readlink(name)
	if err != nil {
		return nil, err
	}
	if filepath.IsAbs(target) {
		rel, err := filepath.Rel(p.real, target)
		if err != nil || !filepath.IsLocal(rel) {
			return nil, fmt.Errorf("the symbolic link %q leads out of the work folder", name)
		}
		for _, l := range p.levels[1:] {
			_ = l.root.Close()
		}
		p.levels, target = p.levels[:1], rel
	}
	return append(strings.Split(target, "/"), rest...), nil
}

// open opens the regular file at the place. A pipe that another program puts there meanwhile does not block it.
func (p *place) open(flag int) (*os.File, error) {
	for range 20 {
		switch {
		case p.info == nil:
			return nil, errMissing
		case p.info.IsDir():
			return nil, ErrFolder
		case !p.info.Mode().IsRegular():
			return nil, fmt.Errorf("it is %s; only regular files can be used", kindOf(p.info.Mode()))
		}
		f, err := p.dir().OpenFile(p.name, flag|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
		if err == nil {
			fi, err := f.Stat()
			if err == nil && os.SameFile(fi, p.info) {
				p.info = fi
				return f, nil
			}
			_ = f.Close()
			if err != nil {
				return nil, cause(err)
			}
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, cause(err)
		}
		// Another writer put a new file in its place.
		if p.info, err = p.look(p.name); err != nil {
			return nil, cause(err)
		}
	}
	return nil, errMoved
}

// kindOf names what is not a regular file.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "a file"
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "something else than a file"
}
