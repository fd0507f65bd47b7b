package workspace

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// settled is how long a file must have been unchanged before its time tells its next change: the clocks of file systems tick a hundred
// times a second or more.
const settled = 100 * time.Millisecond

// kept is a prompt with everything that was looked at for it. It serves until one of these changes.
type kept struct {
	text string
	seen []sight
}

// sight is what was at a path of the folder before it was read; nil: nothing that can be looked at.
type sight struct {
	name string
	was  fs.FileInfo
}

// look is what is at a name of the folder now. It follows links, because what is behind one may change as well; it reads nothing.
func (w *Workspace) look(name string) fs.FileInfo {
	fi, err := os.Stat(filepath.Join(w.dir, name))
	if err != nil {
		return nil
	}
	return fi
}

func (s sight) same(now fs.FileInfo) bool {
	if s.was == nil || now == nil {
		return s.was == nil && now == nil
	}
	return os.SameFile(s.was, now) && s.was.ModTime().Equal(now.ModTime()) && s.was.Size() == now.Size() && s.was.Mode() == now.Mode()
}

// unchanged returns the prompt that was made last if everything is as it was then.
func (w *Workspace) unchanged(skills bool) (text string, same bool) {
	w.mu.Lock()
	k := w.last[skills]
	w.mu.Unlock()
	for _, s := range k.seen {
		if !s.same(w.look(s.name)) {
			return "", false
		}
	}
	return k.text, len(k.seen) > 0
}

// keep keeps a prompt that was made from what was seen, unless something changed so lately that its next change may have the same
// time.
func (w *Workspace) keep(skills bool, k kept) {
	now := time.Now()
	for _, s := range k.seen {
		if s.was != nil && now.Sub(s.was.ModTime()).Abs() < settled {
			return
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last[skills] = k
}
