package main

import (
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"

	"gatewaytui/fixtures/golden"
)

// widths are the terminals that every table is tried on.
var widths = []int{40, 80, 140}

func TestATableFitsTheTerminal(t *testing.T) {
	g := start(t, newFake())
	for _, verb := range []string{"sessions", "agents", "processes", "adapters", "history", "plan", "help keys", "config check --values"} {
		full := g.run(t, strings.Fields(verb)...).must(t, exitDone)
		for _, width := range widths {
			t.Run(fmt.Sprintf("%s at %d", verb, width), func(t *testing.T) {
				r := invocation{home: g.home.Dir(), columns: width}.run(t, t.Context(), strings.Fields(verb)...).must(t, exitDone)
				head := heads(r.out)
				for line := range strings.Lines(r.out) {
					if strings.HasPrefix(line, "worst case") || strings.HasPrefix(line, "limit") {
						continue // the sentences below the plan's table
					}
					if w := ansi.StringWidth(strings.TrimRight(line, "\n")); w > width {
						t.Errorf("a line has %d columns: %q", w, line)
					}
				}
				hidden := strings.Contains(r.err, "hidden; -o wide shows")
				if all := heads(full.out); hidden != (len(strings.Fields(head)) < len(strings.Fields(all))) {
					t.Errorf("the columns are\n%s\nof\n%s\nand stderr says %q", head, all, r.err)
				}
				wide := invocation{home: g.home.Dir(), columns: width}.run(t, t.Context(), append(strings.Fields(verb), "-o", "wide")...).must(t, exitDone)
				if wideHead := heads(wide.out); len(strings.Fields(wideHead)) < len(strings.Fields(head)) || strings.Contains(wide.err, "hidden") {
					t.Errorf("-o wide prints %q, and %q on stderr", wideHead, wide.err)
				}
			})
		}
	}
}

// heads is the first line of the table in out.
func heads(out string) string {
	for line := range strings.Lines(out) {
		if !strings.HasSuffix(line, " is valid\n") {
			return line
		}
	}
	return ""
}

// The rows of these tables are the same in every run.
func TestTheTablesAreDrawnAsInTheGoldenFiles(t *testing.T) {
	g := start(t, newFake())
	for _, verb := range []string{"agents", "processes", "plan"} {
		for _, width := range append(slices.Clone(widths), 0) {
			name := fmt.Sprintf("%s-%d.txt", verb, width)
			if width == 0 {
				name = verb + "-full.txt"
			}
			t.Run(name, func(t *testing.T) {
				got := invocation{home: g.home.Dir(), columns: width}.run(t, t.Context(), verb).must(t, exitDone).out
				golden.Check(t, filepath.Join("testdata", "tables", name), got)
			})
		}
	}
}

// A pipe gets every column; a terminal those that it has room for, and COLUMNS overrides what it reports.
func TestOnlyATerminalNarrowsATable(t *testing.T) {
	path := filepath.Join(programFolder(t), "gatewaytui")
	onTerminal := func(size uint16, env ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), path, "help", "keys")
		cmd.Env = append([]string{"HOME=" + t.TempDir()}, env...)
		terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: size})
		if err != nil {
			t.Fatal(err)
		}
		defer terminal.Close()
		out, _ := io.ReadAll(terminal) // it ends with EIO when the program has closed the terminal (pty(7))
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return strings.ReplaceAll(string(out), "\r\n", "\n")
	}
	widest := func(text string) int {
		w := 0
		for line := range strings.Lines(text) {
			w = max(w, ansi.StringWidth(strings.TrimRight(line, "\n")))
		}
		return w
	}
	piped := exec.CommandContext(t.Context(), path, "help", "keys")
	piped.Env = []string{"HOME=" + t.TempDir(), "COLUMNS=40"}
	full, err := piped.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name        string
		out         string
		least, most int
	}{
		{"80 columns", onTerminal(80), 60, 80},
		{"COLUMNS=40 on 200 columns", onTerminal(200, "COLUMNS=40"), 30, 40},
		{"COLUMNS that is not a number", onTerminal(80, "COLUMNS=wide"), 60, 80},
		{"a terminal that does not know its width", onTerminal(0), widest(string(full)), widest(string(full))},
		{"a pipe", string(full), 150, 1000},
	} {
		if w := widest(c.out); w < c.least || w > c.most || !strings.Contains(c.out, "WHAT IT DOES") {
			t.Errorf("%s: the widest line has %d columns, want %d to %d:\n%s", c.name, w, c.least, c.most, c.out)
		}
	}
}
