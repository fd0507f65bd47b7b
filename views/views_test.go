package views

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"go.uber.org/goleak"

	"gatewaytui/fixtures/golden"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// album gathers frames for one golden file.
type album struct{ b strings.Builder }

func (a *album) add(title string, lines []string) {
	a.b.WriteString("=== " + title + "\n")
	for _, line := range lines {
		a.b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// check compares the frames with what was reviewed.
func (a *album) check(t *testing.T, name string) {
	t.Helper()
	golden.Check(t, filepath.Join("testdata", name+".golden"), a.b.String())
}

// exact fails unless lines are h lines of w cells, without a control character that is not of a theme's style.
func exact(t *testing.T, lines []string, w, h int) {
	t.Helper()
	if len(lines) != h {
		t.Fatalf("%d lines for a height of %d", len(lines), h)
	}
	for i, line := range lines {
		if got := ansi.StringWidth(line); got != w {
			t.Fatalf("line %d has %d cells, not %d: %q", i, got, w, line)
		}
	}
}

// inert fails if a line carries anything that acts on a terminal.
func inert(t *testing.T, lines []string) {
	t.Helper()
	for i, line := range lines {
		for _, r := range line {
			if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
				t.Fatalf("line %d carries %U: %q", i, r, line)
			}
		}
	}
}
