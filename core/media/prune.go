package media

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"
)

// leastAge is how old a file is at least when it is deleted: by then the message that needs it is durable.
const leastAge = time.Hour

// Pruned is what Prune deleted.
type Pruned struct {
	Files int
	Bytes int64
}

// Prune deletes files of chats that were saved before old, and copies of files that were sent before old. A copy that still
// has to be sent stays. A session's folder without a file goes as well. It ends when ctx does.
func (m *Media) Prune(ctx context.Context, old time.Time) (p Pruned, err error) {
	if latest := time.Now().Add(-leastAge); old.After(latest) {
		old = latest
	}
	waiting := m.outbox.WaitingFiles()
	err = inFolder(m.o.Kept, func(dir *os.Root) error {
		return p.files(ctx, dir, old, func(name string) bool { return m.waits(waiting, name) })
	})
	return p, errors.Join(err, inFolder(m.o.Work, func(work *os.Root) error {
		dir, err := enter(work, received, false)
		if err != nil {
			return err
		}
		defer dir.Close()
		sessions, err := entries(dir)
		if err != nil {
			return err
		}
		for _, s := range sessions {
			if !s.IsDir() || ctx.Err() != nil {
				continue
			}
			one, err := enter(dir, s.Name(), false)
			if err != nil {
				return err
			}
			err = p.files(ctx, one, old, func(string) bool { return false })
			_ = one.Close()
			if err != nil {
				return err
			}
			_ = dir.Remove(s.Name()) // fails for one that is not empty
		}
		return nil
	}))
}

// inFolder runs f in a folder; it does nothing where that folder, or one below it, is missing.
func inFolder(name string, f func(dir *os.Root) error) error {
	dir, err := os.OpenRoot(name)
	if err == nil {
		defer dir.Close()
		err = f(dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// entries are what is in a folder.
func entries(dir *os.Root) ([]fs.DirEntry, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}

// files deletes the regular files of a folder that were written before old, but those that stay.
func (p *Pruned) files(ctx context.Context, dir *os.Root, old time.Time, stays func(name string) bool) error {
	all, err := entries(dir)
	for _, e := range all {
		fi, infoErr := e.Info()
		if infoErr != nil || !fi.Mode().IsRegular() || !fi.ModTime().Before(old) || stays(e.Name()) || ctx.Err() != nil {
			continue
		}
		if rmErr := dir.Remove(e.Name()); rmErr != nil {
			err = errors.Join(err, rmErr)
			continue
		}
		p.Files++
		p.Bytes += fi.Size()
	}
	return err
}

// waits reports whether a copy still has to be sent.
func (m *Media) waits(waiting []string, name string) bool {
	for _, file := range waiting {
		if f, err := parseSent(file); err != nil || f.Copy == name {
			return true
		}
	}
	return false
}
