package control

import (
	"strings"
	"testing"
)

func TestTheTerminalOfACaller(t *testing.T) {
	for stat, want := range map[string]string{
		"12 (sh) S 1 12 12 34816 12 4194304":           "pts/0",
		"12 (a) b) (c) S 1 12 12 34819 12 4194304":     "pts/3",
		"12 (sh) S 1 12 12 1083400 12 0":               "pts/264",
		"12 (sh) S 1 12 12 1025 12 0":                  "tty1",
		"12 (sh) S 1 12 12 1088 12 0":                  "ttyS0",
		"12 (sh) S 1 12 12 1280 12 0":                  "5:0",
		"12 (sh) S 1 12 12 0 -1 0":                     "",
		"12 (sh) S 1":                                  "",
		"12 (sh":                                       "",
		"":                                             "",
		"12 (sh) S 1 12 12 99999999999999999999 -1 0 ": "",
	} {
		if got := ttyFromStat(stat); got != want {
			t.Errorf("%q: %q, want %q", stat, got, want)
		}
	}
}

func FuzzTTYFromStat(f *testing.F) {
	f.Add("12 (a) b) (c) S 1 12 12 34819 12 4194304")
	f.Add("12 (sh) S 1 12 12 -1 0")
	f.Fuzz(func(t *testing.T, stat string) {
		if got := ttyFromStat(stat); len(got) > 32 || strings.ContainsAny(got, " \n\x1b") {
			t.Errorf("%q gave the terminal %q", stat, got)
		}
	})
}
