package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
)

// repository is the folder that lists and searches do not go into.
const repository = ".git"

// walk goes through the folders below a place.
type walk struct {
	p     *place
	left  int // how many more entries are looked at
	depth int // how many folders of p may be open
	// stat says whether the next entry's kind is needed.
	stat func() bool
	// see is called for every entry, by name in each folder, with its path from where the walk began. It is called while the entry's
	// folder is the last one of p, and returns whether to go into the folder that the entry may be. fi is nil where stat was false.
	see func(rel string, name string, fi fs.FileInfo) (into bool, err error)
}

// errEnough ends a walk before its end.
var errEnough = errors.New("enough")

// folder goes through the folder that p is in.
func (w *walk) folder(ctx context.Context, rel string) error {
	names, err := w.names(ctx)
	if err != nil {
		return err
	}
	for i, name := range names {
		if i%checkEvery == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if name == temporary {
			continue
		}
		var fi fs.FileInfo
		if w.stat() {
			// What went meanwhile, and what belongs to the gateway, is not there.
			if fi, err = w.p.look(name); err != nil || fi == nil {
				continue
			}
		}
		below := path.Join(rel, name)
		into, err := w.see(below, name, fi)
		if err != nil {
			return err
		}
		if !into || fi == nil || !fi.IsDir() || name == repository || len(w.p.levels) >= w.depth {
			continue
		}
		if w.p.down(name, fi) != nil {
			continue
		}
		if !w.p.top().own {
			err = w.folder(ctx, below)
		}
		_ = w.p.dir().Close()
		w.p.levels = w.p.levels[:len(w.p.levels)-1]
		if err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	if w.left <= 0 {
		return errEnough
	}
	return nil
}

// names are the sorted names in the folder, as many as are left.
func (w *walk) names(ctx context.Context) (names []string, err error) {
	dir, err := w.p.dir().Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	for w.left > 0 {
		some, err := dir.Readdirnames(min(checkEvery, w.left))
		names = append(names, some...)
		w.left -= len(some)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	slices.Sort(names)
	return names, nil
}
