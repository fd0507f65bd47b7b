package importer

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"gatewaytui/core/config"
	"gatewaytui/core/text"
)

// Bounds of a skill.
const (
	maxSkillFiles = 200
	maxSkillBytes = 8 << 20
	maxSkillDepth = 6
)

// copied is a file that is copied into the work folder.
type copied struct {
	from, to string
	runs     bool // it may be executed
}

// document takes a text file of a persona.
func (p *Plan) document(from, to, why string) {
	data, found := p.read(Document, from, maxDocument)
	if !found {
		return
	}
	if len(bytes.TrimSpace(data)) == 0 {
		p.leave(Document, from, "is empty")
		return
	}
	switch have, err := p.here(to); {
	case errors.Is(err, fs.ErrNotExist):
		p.copies = append(p.copies, copied{from: from, to: to})
		p.add(Document, from, to, Taken, why)
	case err == nil && bytes.Equal(have, data):
		p.add(Document, from, to, There, "")
	default:
		p.add(Document, from, to, Conflict, "the work folder has another one")
	}
}

// here is a file of the work folder, as far as it is compared.
func (p *Plan) here(name string) ([]byte, error) {
	root, err := os.OpenRoot(p.into.Work)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return (&Plan{root: root}).content(name, maxDocument)
}

// skills takes every folder with a SKILL.md below dir. kind names the folder that they are in, for people.
func (p *Plan) skills(dir string, depth int) {
	for _, e := range p.entries(dir) {
		from := path.Join(dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), ".") || !e.IsDir():
			continue
		case depth >= maxSkillDepth:
			p.leave(Skill, from, "is too deep")
			continue
		}
		if _, err := p.root.Lstat(path.Join(from, "SKILL.md")); err != nil {
			p.skills(from, depth+1)
			continue
		}
		p.skill(from, e.Name())
	}
}

// skill takes one.
func (p *Plan) skill(from, name string) {
	if !isName(name) {
		p.leave(Skill, from, "has a name that a folder here cannot have")
		return
	}
	if p.names[name] {
		p.leave(Skill, from, "another skill has its name")
		return
	}
	p.names[name] = true
	about, found := p.read(Skill, path.Join(from, "SKILL.md"), maxDocument)
	if !found {
		return
	}
	to := path.Join("skills", name)
	switch have, err := p.here(path.Join(to, "SKILL.md")); {
	case err == nil && bytes.Equal(have, about):
		p.add(Skill, from, to, There, "")
		return
	case !errors.Is(err, fs.ErrNotExist):
		p.add(Skill, from, to, Conflict, "the work folder has another skill of this name")
		return
	}
	w := walk{plan: p}
	w.folder(from, to, 0)
	switch {
	case w.why != "":
		p.leave(Skill, from, w.why)
	case w.skipped > 0:
		p.copies = append(p.copies, w.files...)
		p.add(Skill, from, to, Taken, "without "+text.Count(w.skipped, "link or special file"))
	default:
		p.copies = append(p.copies, w.files...)
		p.add(Skill, from, to, Taken, "")
	}
}

// walk collects the files of a skill.
type walk struct {
	plan    *Plan
	files   []copied
	bytes   int64
	skipped int
	why     string // why it cannot be taken
}

func (w *walk) folder(from, to string, depth int) {
	if depth > maxSkillDepth {
		w.why = "is too deep"
		return
	}
	for _, e := range w.plan.entries(from) {
		fi, err := w.plan.root.Lstat(path.Join(from, e.Name()))
		switch {
		case w.why != "":
			return
		case err != nil || !fi.IsDir() && !fi.Mode().IsRegular():
			w.skipped++
		case fi.IsDir():
			w.folder(path.Join(from, e.Name()), path.Join(to, e.Name()), depth+1)
		default:
			w.bytes += fi.Size()
			w.files = append(w.files, copied{path.Join(from, e.Name()), path.Join(to, e.Name()), fi.Mode()&0o100 != 0})
			if len(w.files) > maxSkillFiles || w.bytes > maxSkillBytes {
				w.why = fmt.Sprintf("has more than %d files or %d MiB", maxSkillFiles, maxSkillBytes>>20)
			}
		}
	}
}

// copy makes one file in the work folder, and overwrites none.
func (p *Plan) copy(c copied) error {
	data, err := p.content(c.from, maxSkillBytes)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(p.into.Work, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(p.into.Work)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(path.Dir(c.to), 0o700); err != nil {
		return err
	}
	mode := fs.FileMode(0o600)
	if c.runs {
		mode = 0o700
	}
	f, err := root.OpenFile(c.to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return nil // it came meanwhile, or in a run that was cut off
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = root.Remove(c.to) // half of it is worse than none
	}
	return err
}

// isName reports whether a folder of skills can have this name.
func isName(name string) bool {
	return name != "" && len(name) <= 64 && config.Bare(name)
}
