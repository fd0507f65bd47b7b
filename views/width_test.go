package views

import (
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// What is counted here is what the library counts, for any text.
func FuzzWidth(f *testing.F) {
	for _, s := range []string{
		"", "plain", "\x1b[1;31mred\x1b[0m and plain", "── events 12 ──", "日本語", "e\u0301", "─\u0301", "\x1b[31", "\x1b]0;title\x07", "a\tb", "👩‍👩‍👧", "\x1b[mx", "\xe2\x94",
		"▲ 12 …", "\x1b[38;5;12mlong and \x1b[0mlonger", "\x1b[1:2mx", "x\x1b[", "\u2500\ufe0f",
	} {
		f.Add(s, 5)
	}
	f.Fuzz(func(t *testing.T, s string, w int) {
		if got, want := cellsOf(s), ansi.StringWidth(s); got != want {
			t.Fatalf("%q has %d cells, want %d", s, got, want)
		}
		if w < 1 || w > 200 {
			return
		}
		for _, tail := range []string{"", "…", "..."} {
			if got := cut(s, w, tail); ansi.StringWidth(got) > w {
				t.Fatalf("%q in %d cells with %q is %q", s, w, tail, got)
			}
		}
	})
}
