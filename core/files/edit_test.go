package files

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAnEditChangesAnExactTextAndNothingElse(t *testing.T) {
	for name, tt := range map[string]struct {
		file, before, after string
		all                 bool
		want                string
		lines               []int
	}{
		"one line":                          {file: "a\nb\nc\n", before: "b", after: "B", want: "a\nB\nc\n", lines: []int{2}},
		"several lines":                     {file: "a\nb\nc\n", before: "a\nb\n", after: "x\n", want: "x\nc\n", lines: []int{1}},
		"a text is removed":                 {file: "a\nb\n", before: "a\n", want: "b\n", lines: []int{1}},
		"all":                               {file: "x1\nx2\nx3", before: "x", after: "yy\n", all: true, want: "yy\n1\nyy\n2\nyy\n3", lines: []int{1, 3, 5}},
		"CRLF is kept":                      {file: "a\r\nb\r\nc\r\n", before: "a\nb", after: "1\n2\n3", want: "1\r\n2\r\n3\r\nc\r\n", lines: []int{1}},
		"CRLF that the model gives is kept": {file: "a\r\nb\r\n", before: "a\r\nb", after: "x\r\ny", want: "x\r\ny\r\n", lines: []int{1}},
		"mixed ends are taken as they are":  {file: "a\r\nb\nc\n", before: "b\n", after: "x\n", want: "a\r\nx\nc\n", lines: []int{2}},
		"a byte order mark is kept":         {file: "\ufeffa\n", before: "a", after: "b", want: "\ufeffb\n", lines: []int{1}},
		"what is not UTF-8 is kept":         {file: "\xe4\xf6 a\n", before: "a", after: "ä", want: "\xe4\xf6 ä\n", lines: []int{1}},
		"$ and \\ mean nothing":             {file: "a.c\n", before: ".", after: "$1\\1", want: "a$1\\1c\n", lines: []int{1}},
		"a file without an end of its line": {file: "a", before: "a", after: "b", want: "b", lines: []int{1}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWork(t)
			w.put("f", tt.file)
			got, err := w.folder.Edit(t.Context(), "f", tt.before, tt.after, tt.all)
			if err != nil || !slices.Equal(got.Lines, tt.lines) || got.Bytes != len(tt.want) || got.Replaced != len(tt.lines) {
				t.Errorf("%+v, %v; want lines %v", got, err, tt.lines)
			}
			w.has("f", tt.want)
			w.untouched()
		})
	}
}

func TestAnEditThatIsRefusedSaysWhatToDo(t *testing.T) {
	for name, tt := range map[string]struct{ file, before, after, about string }{
		"a text that is not there":            {"a\n", "b", "c", "does not occur; read the file again"},
		"one whose blanks differ":             {"a\n\tfoo(1)\n", "  foo(1)\nbar", "c", "its first line is like line 2"},
		"a text that is there twice":          {"a\nb\na\n", "a", "c", "occurs in lines 1, 3"},
		"a text that overlaps with itself":    {"aaa", "aa", "b", "occurs in lines 1, 1"},
		"a text that is there very often":     {strings.Repeat("a\n", 99), "a", "b", "20, more"},
		"the same text again":                 {"a\n", "a", "a", "the same"},
		"a binary file":                       {"a\x00", "a", "b", "it is binary"},
		"a file that becomes too long":        {"a\n", "a", strings.Repeat("x", MaxFile+1), "at most"},
		"a text that differs in its line end": {"a\r\nb\n", "a\nb", "x", "does not occur"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWork(t)
			w.put("f", tt.file)
			_, err := w.folder.Edit(t.Context(), "f", tt.before, tt.after, false)
			w.refused("edit", err, tt.about)
			w.has("f", tt.file)
			w.untouched()
		})
	}
	w := newWork(t)
	_, err := w.folder.Edit(t.Context(), "missing", "a", "b", false)
	w.refused("edit of a missing file", err, "no such file")
	w.untouched()
}

// A program that writes the file between the read and the rename of an edit does not lose its content.
func TestAnEditLeavesAFileThatAnotherProgramChangedMeanwhile(t *testing.T) {
	w := newWork(t)
	p, err := w.folder.find("a.txt", false)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	e := Edited{}
	var was []byte
	err = p.replace(t.Context(), func() (now []byte, err error) {
		if was, err = p.content(t.Context()); err == nil {
			now, err = e.change(was, "one", "ONE", false)
		}
		w.put("a.txt", "from another program")
		return now, err
	}, func() error { return p.unchanged(t.Context(), was) })
	w.refused("the edit", err, "another program changed it")
	w.has("a.txt", "from another program")
	w.untouched()
}

// An edit is what strings says of the text with LF, with any ends of lines, and a refused one changes nothing.
func TestAnEditIsThatOfTheTextWithLF(t *testing.T) {
	w := newWork(t)
	piece := rapid.StringOfN(rapid.SampledFrom([]rune("ab\n ä")), 0, 6, -1)
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "text"), "")
		before := rapid.StringOfN(rapid.SampledFrom([]rune("ab\n ä")), 1, 3, -1).Draw(t, "before")
		after := piece.Draw(t, "after")
		all, crlf := rapid.Bool().Draw(t, "all"), rapid.Bool().Draw(t, "crlf")
		onDisk, want := text, text
		if crlf {
			onDisk = strings.ReplaceAll(text, "\n", "\r\n")
		}
		w.put("f", onDisk)
		occurs := 0
		for i := range text {
			if strings.HasPrefix(text[i:], before) {
				occurs++
			}
		}
		works := before != after && occurs > 0 && (all || occurs == 1)
		if works {
			want = strings.ReplaceAll(text, before, after)
		}
		// Without an end of a line in it, a file has no CRLF that an edit could keep.
		if crlf && strings.Contains(text, "\n") {
			want = strings.ReplaceAll(want, "\n", "\r\n")
		}
		_, err := w.folder.Edit(w.Context(), "f", before, after, all)
		if works != (err == nil) {
			t.Errorf("%q for %q in %q: %v", after, before, text, err)
		}
		if got, err := os.ReadFile(filepath.Join(w.dir, "f")); err != nil || string(got) != want {
			t.Errorf("%q for %q in %q gives %q (%v), want %q", after, before, onDisk, got, err, want)
		}
	})
	w.untouched()
}
