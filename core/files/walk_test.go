package files

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"gatewaytui/fixtures/soak"
)

// names are those of a list.
func (l Listing) names() string {
	var names []string
	for _, e := range l.Entries {
		names = append(names, e.Name+map[string]string{"folder": "/", "link": "@", "other": "!"}[e.Type])
	}
	return strings.Join(names, " ")
}

// tree is a work folder with a bit of everything.
func tree(t *testing.T) *work {
	w := newWork(t)
	for _, name := range []string{"src/main.go", "src/deep/er/x.go", "src/x.js", ".git/config", "sub/.git/HEAD", "b.txt"} {
		w.put(name, "needle in "+name+"\n")
	}
	w.put("b.bin", "needle\x00")
	w.link("../outside", "out")
	w.link(".", "src/loop")
	w.link("..", "src/up")
	return w
}

func TestAListIsSortedAndSaysWhatIsWhat(t *testing.T) {
	for name, tt := range map[string]struct {
		path  string
		depth int
		glob  string
		want  string
	}{
		"the work folder":              {".", 1, "", ".git/ a.txt b.bin b.txt out@ src/ sub/"},
		"a folder below it":            {"src", 1, "", "deep/ loop@ main.go up@ x.js"},
		"two folders deep":             {".", 2, "", ".git/ a.txt b.bin b.txt out@ src/ src/deep/ src/loop@ src/main.go src/up@ src/x.js sub/ sub/.git/"},
		"by name":                      {".", 9, "*.go", "src/deep/er/x.go src/main.go"},
		"by path":                      {".", 9, "src/*.go", "src/main.go"},
		"by path at any depth":         {".", 9, "**/*.{go,js}", "src/deep/er/x.go src/main.go src/x.js"},
		"through a link to the inside": {"src/up/src/deep", 2, "", "er/ er/x.go"},
		"what matches nothing":         {".", 9, "*.py", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := tree(t)
			list, err := w.folder.List(t.Context(), tt.path, tt.depth, tt.glob)
			if err != nil || list.names() != tt.want || list.More != 0 || list.Part {
				t.Errorf("%q, %+v, %v; want %q", list.names(), list, err, tt.want)
			}
		})
	}
}

func TestASearchFindsLinesInTextFilesAlone(t *testing.T) {
	for name, tt := range map[string]struct {
		query Query
		want  string
		more  bool
	}{
		"everywhere":        {query: Query{Pattern: "needle", Path: ".", Limit: 99}, want: "b.txt:1 src/deep/er/x.go:1 src/main.go:1 src/x.js:1"},
		"in one folder":     {query: Query{Pattern: "needle", Path: "src/deep", Limit: 99}, want: "src/deep/er/x.go:1"},
		"in one file":       {query: Query{Pattern: "tw", Path: "a.txt", Limit: 99}, want: "a.txt:2"},
		"in a linked file":  {query: Query{Pattern: "tw", Path: "src/up/a.txt", Limit: 99}, want: "a.txt:2"},
		"by name":           {query: Query{Pattern: "^needle.*go$", Path: ".", Glob: "*.go", Limit: 99}, want: "src/deep/er/x.go:1 src/main.go:1"},
		"without the case":  {query: Query{Pattern: "NEEDLE", Path: "b.txt", IgnoreCase: true, Limit: 99}, want: "b.txt:1"},
		"the first ones":    {query: Query{Pattern: "needle", Path: ".", Limit: 2}, want: "b.txt:1 src/deep/er/x.go:1", more: true},
		"exactly the limit": {query: Query{Pattern: "needle", Path: ".", Limit: 4}, want: "b.txt:1 src/deep/er/x.go:1 src/main.go:1 src/x.js:1"},
		"nothing":           {query: Query{Pattern: "hay", Path: ".", Limit: 99}},
	} {
		t.Run(name, func(t *testing.T) {
			w := tree(t)
			found, err := w.folder.Search(t.Context(), tt.query)
			var got []string
			for _, m := range found.Matches {
				got = append(got, fmt.Sprintf("%s:%d", m.Path, m.Line))
			}
			if err != nil || strings.Join(got, " ") != tt.want || found.More != tt.more || found.Unread != 0 {
				t.Errorf("%q, %+v, %v; want %q", got, found, err, tt.want)
			}
		})
	}
}

func TestAWrongPatternSaysWhatIsWrong(t *testing.T) {
	w := tree(t)
	for pattern, about := range map[string]string{"(": "RE2: missing closing )", "(?=x)": "RE2", strings.Repeat("a", 2000): "more than"} {
		_, err := w.folder.Search(t.Context(), Query{Pattern: pattern, Path: ".", Limit: 1})
		w.refused("search "+pattern[:1], err, about)
	}
	for glob, about := range map[string]string{"{a": "without its }", "[": "a [ without", "[]": "a [ without", "[z-a]": "cannot be used", strings.Repeat("a", 2000): "more than"} {
		_, err := w.folder.List(t.Context(), ".", 1, glob)
		w.refused("list "+glob[:1], err, about)
	}
	_, err := w.folder.Search(t.Context(), Query{Pattern: "x", Path: "b.bin", Limit: 1})
	w.refused("search of a binary file", err, "binary")
	_, err = w.folder.List(t.Context(), "a.txt", 1, "")
	w.refused("list of a file", err, "not a folder")
}

func TestALongLineIsShownAroundItsMatch(t *testing.T) {
	w := newWork(t)
	w.put("long", strings.Repeat("ä", 5000)+"needle"+strings.Repeat("ö", 5000)+"\n")
	found, err := w.folder.Search(t.Context(), Query{Pattern: "needle", Path: "long", Limit: 9})
	if err != nil || len(found.Matches) != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	text := found.Matches[0].Text
	if !strings.HasPrefix(text, "…ä") || !strings.Contains(text, "needle") || !strings.HasSuffix(text, "ö…") || len(text) > maxFound+10 {
		t.Errorf("%q", text)
	}
}

// A folder of very many files, with names that act on terminals, is listed and searched within bounds and ends with its context.
func TestAHostileFolderIsBounded(t *testing.T) {
	w := newWork(t)
	many := 20_000
	if soak.On() {
		many = 100_000
	}
	dir := filepath.Join(w.dir, "many")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for n := range many {
		if err := os.Link(filepath.Join(w.dir, "a.txt"), filepath.Join(dir, fmt.Sprintf("%06d\n\x1b[2J", n%60_000)+fmt.Sprint(n/60_000))); err != nil {
			if n > 30_000 { // file systems bound the links of a file
				w.put(fmt.Sprintf("many/%06d", n), "one\n")
				continue
			}
			t.Fatal(err)
		}
	}
	list, err := w.folder.List(t.Context(), "many", 1, "")
	if err != nil || len(list.Entries) != MaxListed || list.More != many-MaxListed || !strings.HasPrefix(list.Entries[0].Name, "000000\n") {
		t.Errorf("%d entries, %d more, %v", len(list.Entries), list.More, err)
	}
	found, err := w.folder.Search(t.Context(), Query{Pattern: "one", Path: ".", Limit: 5000})
	if err != nil || len(found.Matches) != MaxMatches || !found.More {
		t.Errorf("%d matches, %v, %v", len(found.Matches), found.More, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.folder.List(ctx, "many", 2, ""); err == nil {
		t.Error("a list whose context has ended returns one")
	}
	if _, err := w.folder.Search(ctx, Query{Pattern: "nothing", Path: ".", Limit: 1}); err == nil {
		t.Error("a search whose context has ended returns one")
	}
}

func TestAFolderThatIsVeryDeepIsWalkedUpToABound(t *testing.T) {
	w := newWork(t)
	at, err := os.OpenRoot(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	for range 400 {
		if err := at.Mkdir("d", 0o755); err != nil {
			t.Fatal(err)
		}
		below, err := at.OpenRoot("d")
		_ = at.Close()
		if err != nil {
			t.Fatal(err)
		}
		at = below
	}
	_ = at.Close()
	found, err := w.folder.Search(t.Context(), Query{Pattern: "one", Path: ".", Limit: 9})
	if err != nil || len(found.Matches) != 1 {
		t.Errorf("%+v, %v", found, err)
	}
}

func FuzzGlob(f *testing.F) {
	for _, p := range []string{"*.go", "**/*.{a,b}", "[!a-z]?", "{", "\\", "a\\*", "[[:alpha:]]", "***", "{a,{b,c}}", "\xff", "(?i)x"} {
		f.Add(p, "src/main.go")
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		g, err := parseGlob(pattern)
		if err == nil {
			g.matches(name)
		}
		if !utf8.ValidString(name) || strings.ContainsAny(name, "*?[]{}\\,/") || name == "" || len(name) > maxPattern || strings.HasPrefix(name, "./") {
			return
		}
		if g, err := parseGlob(name); err != nil || !g.matches(name) || g.matches(name+"x") {
			t.Errorf("a name without special characters does not match itself alone: %q, %v", name, err)
		}
	})
}
