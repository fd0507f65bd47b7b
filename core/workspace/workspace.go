// Package workspace reads what the work folder of an agent says about the agent: who it is (SOUL.md), how to work there
// (AGENTS.md), and the skills that it finds, each a folder with a SKILL.md.
//
// What it promises: Prompt is bounded in size, reads regular files inside the folder alone (no link leads out), and reads a file
// again only when it has changed. Where nothing has changed it reads nothing. What cannot be read is left out and reported once, until it
// changes.
package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"gatewaytui/core/term"
)

// Bounds of a prompt. A file may be longer; its rest is cut off, and the prompt says so.
const (
	maxFile   = 32 << 10 // bytes
	maxSkills = 64
	maxHead   = 4 << 10 // bytes of a SKILL.md that are read
	maxName   = 64      // cells
	maxAbout  = 300     // cells
)

// documents are the files that go into the prompt whole, in this order.
var documents = []string{"SOUL.md", "AGENTS.md"}

// skillFile makes a folder a skill.
const skillFile = "SKILL.md"

// skillFolders are where skills are looked for; a dot is the work folder itself.
var skillFolders = []string{".", "skills"}

// Workspace is one work folder. Its methods may be called from any goroutine.
type Workspace struct {
	dir string
	// failed is called for a file that cannot be read, once for each state of the file. It never waits.
	failed func(name string, err error)

	mu    sync.Mutex // guards what follows; not held over the reading of files
	known map[string]entry
	last  map[bool]kept // with and without skills
}

// entry is a file as it was read.
type entry struct {
	state string // its size and time
	text  string // of a skill, its line of the prompt
}

// New returns the workspace of a folder, which may not exist yet. failed may be called by Prompt.
func New(dir string, failed func(name string, err error)) *Workspace {
	return &Workspace{dir: dir, failed: failed, known: map[string]entry{}, last: map[bool]kept{}}
}

// Prompt is what the folder adds to a system prompt now: its documents, and with skills a list of its skills. It is empty where
// there is nothing. It looks at the disk.
func (w *Workspace) Prompt(skills bool) string {
	if text, same := w.unchanged(skills); same {
		return text
	}
	r := reading{Workspace: w}
	text := r.prompt(skills)
	w.keep(skills, kept{text: text, seen: r.seen})
	return text
}

// reading is one reading of the folder.
type reading struct {
	*Workspace
	root *os.Root
	// seen is what was at each place before it was read.
	seen []sight
}

// see notes what is at a name before it is read. What is missing in the folder itself needs no note: the folder changes when it comes.
func (r *reading) see(name string) {
	was := r.look(name)
	if was == nil && name != "." && !strings.Contains(name, "/") {
		return
	}
	r.seen = append(r.seen, sight{name: name, was: was})
}

func (r *reading) prompt(skills bool) string {
	r.see(".")
	root, err := os.OpenRoot(r.dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) { // it is made when the first command runs
			r.report(".", err.Error(), err)
		}
		return ""
	}
	defer root.Close()
	r.root = root
	var parts []string
	for _, name := range documents {
		if text := r.read(name, document); text != "" {
			parts = append(parts, "# "+name+"\n\n"+text)
		}
	}
	if skills {
		if list := r.skills(); len(list) > 0 {
			parts = append(parts, "# Skills\n\nRead the file of a skill before you do what it is for.\n\n"+strings.Join(list, "\n"))
		}
	}
	return strings.Join(parts, "\n\n")
}

// skills are the lines of the skills, by their paths.
func (r *reading) skills() (lines []string) {
	for _, folder := range skillFolders {
		r.see(folder)
		dir, err := r.root.Open(folder)
		if err != nil {
			continue
		}
		entries, err := dir.ReadDir(-1)
		_ = dir.Close()
		if err != nil {
			r.report(folder, err.Error(), err)
		}
		slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
		for _, e := range entries {
			if len(lines) == maxSkills {
				return lines
			}
			if !e.IsDir() {
				continue
			}
			if line := r.read(path.Join(folder, e.Name(), skillFile), skill); line != "" {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// read is what parse makes of a file, which is read only if it has changed. It is empty for a file that is missing or cannot be
// read.
func (r *reading) read(name string, parse func(name string, f io.Reader) (string, error)) string {
	r.see(name)
	fi, err := r.root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		r.forget(name)
		return ""
	}
	if err != nil {
		r.report(name, err.Error(), err)
		return ""
	}
	state := fmt.Sprint(fi.Size(), fi.ModTime().Format(time.RFC3339Nano), fi.Mode())
	if known, there := r.lookUp(name); there && known.state == state {
		return known.text
	}
	if !fi.Mode().IsRegular() {
		r.report(name, state, errors.New("it is not a regular file"))
		return ""
	}
	f, err := r.root.Open(name)
	if err != nil {
		r.report(name, state, err)
		return ""
	}
	defer f.Close()
	text, err := parse(name, f)
	if err != nil {
		r.report(name, state, err)
		return ""
	}
	r.note(name, entry{state: state, text: text})
	return text
}

func (w *Workspace) lookUp(name string) (e entry, there bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e, there = w.known[name]
	return e, there
}

func (w *Workspace) forget(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.known, name)
}

// note records what a file is now, and reports whether that is news.
func (w *Workspace) note(name string, e entry) (news bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before, there := w.known[name]
	w.known[name] = e
	return !there || before != e
}

// report tells of a file that cannot be read, unless it did for this state.
func (w *Workspace) report(name, state string, err error) {
	if w.note(name, entry{state: state}) {
		w.failed(name, err)
	}
}

// document is a file's text as a prompt has it.
func document(_ string, f io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return "", err
	}
	if len(data) <= maxFile {
		return strings.TrimSpace(strings.ToValidUTF8(string(data), "\uFFFD")), nil
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(data[:maxFile]), "")) + "\n\n[the rest of the file is left out]", nil
}

// skill is the line of a skill: its name, what it is for, and its file.
func skill(name string, f io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(f, maxHead))
	if err != nil {
		return "", err
	}
	head := frontMatter(strings.ToValidUTF8(string(data), ""))
	called := head["name"]
	if called == "" {
		called = path.Base(path.Dir(name))
	}
	line := "- " + term.Clean(called, maxName)
	if about := head["description"]; about != "" {
		line += ": " + term.Clean(about, maxAbout)
	}
	return line + " (" + term.Clean(name, maxAbout) + ")", nil
}

// frontMatter reads the head of a Markdown file: lines "key: value" between two lines of three dashes. The value of > or | is the
// indented lines that follow, as one line. This is the part of YAML that skills use.
func frontMatter(text string) map[string]string {
	head := map[string]string{}
	lines := strings.Split(strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n"), "\n")
	if strings.TrimRight(lines[0], " ") != "---" {
		return head
	}
	key := ""
	for _, line := range lines[1:] {
		if strings.TrimRight(line, " ") == "---" {
			break
		}
		if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") {
			if key != "" {
				head[key] = strings.TrimSpace(head[key] + " " + strings.TrimSpace(line))
			}
			continue
		}
		name, value, found := strings.Cut(line, ":")
		if key = ""; !found {
			continue
		}
		value = strings.TrimSpace(value)
		name = strings.TrimSpace(name)
		if value == "" || strings.HasPrefix(value, ">") || strings.HasPrefix(value, "|") {
			key, head[name] = name, ""
			continue
		}
		head[name] = strings.Trim(value, `"'`)
	}
	return head
}
