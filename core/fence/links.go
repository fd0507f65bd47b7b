package fence

import (
	"os"
	"path"
	"slices"
	"strings"
)

const (
	maxLinks = 40     // symbolic links on the way of one path, as in Linux
	maxNames = 10_000 // names of a folder that a pattern is compared with
)

// links follows symbolic links on the disk for one judgement. What it finds may be replaced before the command runs.
type links struct {
	targets map[string]string // by path: what its link says; empty: it is none
	moved   [][2]string       // folders of the config whose path has links, and where they are
}

// onDisk is f with its folders where their links lead, and what follows the links of other paths. Where every command is allowed,
// or the config does not ask for it, nothing is looked at.
func (f *Fence) onDisk() (*Fence, *links) {
	if !f.Links || f.Environment.verdict(plain) == Allowed {
		return f, nil
	}
	l := &links{targets: map[string]string{}}
	found := *f
	found.Work, found.Home = l.settle(f.Work), l.settle(f.Home)
	found.Own = slices.Clone(f.Own)
	for _, own := range f.Own {
		if real, ok := l.follow(own); ok && own != "" && real != own {
			found.Own = append(found.Own, real)
		}
	}
	return &found, l
}

// settle is where a folder of the config is.
func (l *links) settle(folder string) string {
	real, ok := l.follow(folder)
	if !ok || !path.IsAbs(folder) || real == folder {
		return folder
	}
	l.moved = append(l.moved, [2]string{folder, real})
	return real
}

// rebased is the clean path p, written as the folders of the config are.
func (l *links) rebased(p string) string {
	if l == nil {
		return p
	}
	for _, m := range l.moved {
		if under(p, m[0]) {
			return m[1] + p[len(m[0]):]
		}
	}
	return p
}

// leads is where a word leads as the name of a file, by its text and by the links on its way; nil: not known.
func (s *scope) leads(text string) []string {
	all := s.paths(text)
	if s.links == nil {
		return all
	}
	begins := s.folders
	if strings.HasPrefix(text, "/") {
		begins = []string{""}
	}
	for _, dir := range begins {
		targets, known := s.links.of(dir + "/" + text)
		if !known {
			return nil
		}
		for _, real := range targets {
			if !slices.Contains(all, real) {
				all = append(all, real)
			}
		}
	}
	return all
}

// of is where a path leads, or a pattern and the links whose names it matches. A wildcard in front of the last name is not looked at.
func (l *links) of(p string) (targets []string, known bool) {
	i := wildcard(p)
	if i < 0 {
		real, ok := l.follow(p)
		return []string{real}, ok
	}
	cut := strings.LastIndexByte(p[:i], '/')
	dir, ok := l.follow(p[:cut+1])
	name := p[cut+1:]
	targets = []string{join(dir, name)}
	if !ok || strings.Contains(name, "/") {
		return targets, ok
	}
	names, known := l.linksIn(dir, name)
	for _, one := range names {
		real, ok := l.follow(join(dir, one))
		targets, known = append(targets, real), known && ok
	}
	return targets, known
}

// linksIn are the names of the links in a folder that a pattern may match.
func (l *links) linksIn(dir, pattern string) (names []string, known bool) {
	pattern = strings.ReplaceAll(pattern, "[!", "[^") // as path.Match has it
	d, err := os.Open(dir)
	if err != nil {
		return nil, true // it is missing, or the command cannot read it either
	}
	defer d.Close()
	entries, err := d.ReadDir(maxNames)
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 {
			continue
		}
		if ok, wrong := path.Match(pattern, e.Name()); ok || wrong != nil {
			names = append(names, e.Name())
		}
	}
	return names, err != nil || len(entries) < maxNames
}

// follow is the path p, absolute and perhaps not clean, without its links. What does not exist is taken as it is written.
// ok is false for a path of too many links.
func (l *links) follow(p string) (real string, ok bool) {
	left := maxLinks
	real = "/"
	for p != "" {
		var name string
		name, p, _ = strings.Cut(p, "/")
		switch name {
		case "", ".":
			continue
		case "..":
			real = path.Dir(real)
			continue
		}
		next := join(real, name)
		target, seen := l.targets[next]
		if !seen {
			target, _ = os.Readlink(next) // an error: it is no link
			l.targets[next] = target
		}
		switch {
		case target == "":
			real = next
			continue
		case left == 0:
			return next, false
		case path.IsAbs(target):
			real = "/"
		}
		left--
		p = target + "/" + p
	}
	return real, true
}
