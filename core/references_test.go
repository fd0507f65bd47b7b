package core

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// document matches the name of a page, and after a comma the number of a section.
	document = regexp.MustCompile(`([\w./-]+\.md)\b(?:, ((?:[0-9]+(?:\.[0-9]+)*(?:, | and )?)+))?`)
	section  = regexp.MustCompile(`[0-9]+(?:\.[0-9]+)*`)
	heading  = regexp.MustCompile(`(?m)^#+ ([0-9]+(?:\.[0-9]+)*)\.? `)
	// lineBreak is one in a comment.
	lineBreak = regexp.MustCompile(`\s*\n\s*//\s*`)
	notes     = regexp.MustCompile(`(?i)\b(?:field|console) notes\b`)
)

// find returns the path of a page that is named in a file: relative to the file, to the top level, or in core.
func find(name, in string) (file string, found bool) {
	for _, dir := range []string{path.Dir(in), ".", "core"} {
		file = path.Join(dir, name)
		if _, err := os.Stat(filepath.Join("..", file)); err == nil {
			return file, true
		}
	}
	return "", false
}

// usersPages are pages of the folder in which an agent works.
var usersPages = []string{"AGENTS.md", "SOUL.md", "SKILL.md"}

// missing returns what a text cites that does not exist: pages and numbered sections of pages.
func missing(t *testing.T, text, in string) (all []string) {
	t.Helper()
	for _, m := range document.FindAllStringSubmatch(text, -1) {
		file, found := find(m[1], in)
		if slices.Contains(usersPages, path.Base(m[1])) {
			continue
		}
		if !found {
			all = append(all, m[1])
			continue
		}
		var sections []string
		for _, h := range heading.FindAllStringSubmatch(page(t, file), -1) {
			sections = append(sections, h[1])
		}
		for _, number := range section.FindAllString(m[2], -1) {
			if !slices.Contains(sections, number) {
				all = append(all, m[1]+", "+number)
			}
		}
	}
	return append(all, notes.FindAllString(text, -1)...)
}

func TestEveryPageThatIsNamedIsInTheRepository(t *testing.T) {
	if got := missing(t, "see core/DESIGN.md, 3 and 99, and notes.md (field notes, 4.1)", "core/doc.go"); len(got) != 3 {
		t.Errorf("of three citations that do not exist it finds %q", got)
	}
	for _, s := range sources(t) {
		for _, group := range s.file.Comments {
			for _, what := range missing(t, lineBreak.ReplaceAllString(group.Text(), " "), s.path) {
				t.Errorf("%s cites %s, which does not exist", s.at(group), what)
			}
		}
	}
	err := eachFile(func(file string) error {
		switch {
		case path.Ext(file) == ".md", path.Base(file) == "Makefile", path.Ext(file) == ".txtar":
			for _, what := range missing(t, strings.ReplaceAll(page(t, file), "\n", " "), file) {
				t.Errorf("%s cites %s, which does not exist", file, what)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
