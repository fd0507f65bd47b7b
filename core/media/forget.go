package media

import (
	"context"
	"os"
	"slices"
	"time"
)

// Forget deletes the files that came with messages of the sessions with these keys, and the copies of files that went to them: sent
// has those as Send wrote them into the outbox. Files in shared folders of the work folder stay: whose they are is not known.
func (m *Media) Forget(ctx context.Context, keys, sent []string) (p Pruned, err error) {
	later := time.Now().Add(leastAge) // a file may bear a time that is to come
	err = inFolder(m.o.Kept, func(dir *os.Root) error {
		return p.files(ctx, dir, later, func(name string) bool { return !m.names(sent, name) })
	})
	if err != nil {
		return p, err
	}
	return p, inFolder(m.o.Work, func(work *os.Root) error {
		dir, err := enter(work, received, false)
		if err != nil {
			return err
		}
		defer dir.Close()
		for _, key := range keys {
			err := func() error {
				one, err := enter(dir, folderOf(key), false)
				if os.IsNotExist(err) {
					return nil
				}
				if err != nil {
					return err
				}
				defer one.Close()
				return p.files(ctx, one, later, func(string) bool { return false })
			}()
			if err != nil {
				return err
			}
			_ = dir.Remove(folderOf(key)) // fails for one that is not empty or not there
		}
		return nil
	})
}

// names reports whether a copy is one of these files.
func (m *Media) names(sent []string, name string) bool {
	return slices.ContainsFunc(sent, func(file string) bool {
		f, err := parseSent(file)
		return err == nil && f.Copy == name
	})
}
