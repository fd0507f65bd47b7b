package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

const (
	// MaxListed is how many entries a list shows at most, and MaxFolders how many folders deep it goes.
	MaxListed  = 2000
	MaxFolders = 20
)

// Entry is a file or a folder.
type Entry struct {
	// Name is its path from the folder that was listed.
	Name string `json:"name"`
	// Type is file, folder, link or other.
	Type  string `json:"type"`
	Bytes int64  `json:"bytes,omitempty"`
}

// Listing is what a folder has.
type Listing struct {
	Path    string  `json:"path"`
	Entries []Entry `json:"entries"`
	// More is how many further entries there are; Part that there are more than are counted.
	More int  `json:"more,omitempty"`
	Part bool `json:"-"`
}

// List lists a folder, depth folders deep, from 1 on, by name. pattern is a glob; empty: everything. It does not go into .git,
// nor through links.
func (f *Folder) List(ctx context.Context, name string, depth int, pattern string) (Listing, error) {
	g, err := parseGlob(pattern)
	if err != nil {
		return Listing{}, err
	}
	p, err := f.find(name, false)
	if err != nil {
		return Listing{}, err
	}
	defer p.close()
	switch {
	case p.info == nil:
		return Listing{}, errMissing
	case !p.info.IsDir():
		return Listing{}, fmt.Errorf("it is %s, not a folder", kindOf(p.info.Mode()))
	}
	l := Listing{Path: p.path(), Entries: []Entry{}}
	w := &walk{p: p, left: maxEntries, depth: len(p.levels) + depth - 1}
	// The size of an entry that is only counted is not read, unless it may be a folder to go into.
	w.stat = func() bool { return len(l.Entries) < MaxListed || depth > 1 }
	w.see = func(rel, _ string, fi fs.FileInfo) (bool, error) {
		switch {
		case !g.matches(rel):
		case fi != nil && len(l.Entries) < MaxListed:
			l.Entries = append(l.Entries, entryOf(rel, fi))
		default:
			l.More++
		}
		return true, nil
	}
	if err := w.folder(ctx, ""); errors.Is(err, errEnough) {
		l.Part = true
	} else if err != nil {
		return Listing{}, cause(err)
	}
	return l, nil
}

func entryOf(name string, fi fs.FileInfo) Entry {
	e := Entry{Name: name, Type: "other"}
	switch {
	case fi.Mode().IsRegular():
		e.Type, e.Bytes = "file", fi.Size()
	case fi.IsDir():
		e.Type = "folder"
	case fi.Mode()&fs.ModeSymlink != 0:
		e.Type = "link"
	}
	return e
}
