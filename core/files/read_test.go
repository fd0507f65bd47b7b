package files

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAFileIsReadByItsLines(t *testing.T) {
	for name, tt := range map[string]struct {
		file string
		part Part
		want Text
	}{
		"a whole file":                {"a\nb\n", whole, Text{Lines: 2, Content: []string{"a", "b"}}},
		"without an end of the last":  {"a\nb", whole, Text{Lines: 2, Content: []string{"a", "b"}}},
		"an empty file":               {"", whole, Text{}},
		"an empty line":               {"\n", whole, Text{Lines: 1, Content: []string{""}}},
		"from a line":                 {"a\nb\nc\n", Part{First: 2, Count: 1, Bytes: 99, Width: 99}, Text{Lines: 3, Content: []string{"b"}}},
		"as many as fit":              {"aaaa\nbbbb\ncccc\n", Part{First: 1, Count: 99, Bytes: 6, Width: 99}, Text{Lines: 3, Content: []string{"aaaa", "bbbb"}}},
		"a line that is cut":          {"aaaaä\nb\n", Part{First: 1, Count: 9, Bytes: 99, Width: 5}, Text{Lines: 2, Content: []string{"aaaa [cut: the line has 6 bytes]", "b"}}},
		"a line of exactly the bound": {"aaaaa\r\nb\r\n", Part{First: 1, Count: 9, Bytes: 99, Width: 5}, Text{Lines: 2, LineEnds: "crlf", Content: []string{"aaaaa", "b"}}},
		"CRLF":                        {"a\r\nb\r\n", whole, Text{Lines: 2, LineEnds: "crlf", Content: []string{"a", "b"}}},
		"mixed ends":                  {"a\r\nb\n", whole, Text{Lines: 2, LineEnds: "mixed", Content: []string{"a", "b"}}},
		"a byte order mark":           {"\ufeffa\n", whole, Text{Lines: 1, BOM: true, Content: []string{"a"}}},
		"Latin-1":                     {"\xe4b\n", whole, Text{Lines: 1, Content: []string{"\uFFFDb"}}},
		"a lone CR":                   {"a\rb\n", whole, Text{Lines: 1, Content: []string{"a\rb"}}},
		"a picture":                   {"\x89PNG\r\n\x1a\n\x00\x00", whole, Text{Binary: "image/png"}},
		"UTF-16":                      {"\xff\xfea\x00b\x00", whole, Text{Binary: "text/plain; charset=utf-16le"}},
		"a NUL":                       {"a\x00", whole, Text{Binary: "application/octet-stream"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWork(t)
			w.put("f", tt.file)
			got, err := w.folder.Read(t.Context(), "f", tt.part)
			tt.want.Path, tt.want.Bytes = "f", int64(len(tt.file))
			if err != nil || got.Path != "f" || got.Bytes != tt.want.Bytes || got.Lines != tt.want.Lines || got.Binary != tt.want.Binary ||
				got.LineEnds != tt.want.LineEnds || got.BOM != tt.want.BOM || strings.Join(got.Content, "|") != strings.Join(tt.want.Content, "|") {
				t.Errorf("%+v, %v; want %+v", got, err, tt.want)
			}
		})
	}
}

func TestAReadBeyondTheEndSaysHowLongTheFileIs(t *testing.T) {
	w := newWork(t)
	_, err := w.folder.Read(t.Context(), "a.txt", Part{First: 3, Count: 1, Bytes: 9, Width: 9})
	w.refused("read", err, "the file has 2 lines")
}

// A sparse file of a terabyte has only zeros, and one that begins with text is read up to the bound.
func TestAHugeFileCostsABoundedTime(t *testing.T) {
	w := newWork(t)
	w.put("huge", strings.Repeat("a line\n", 2000))
	if err := os.Truncate(filepath.Join(w.dir, "huge"), 1<<34); err != nil {
		t.Skipf("runs on a file system with sparse files: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.folder.Read(ctx, "huge", whole); err == nil {
		t.Error("a read whose context has ended returns a text")
	}
	got, err := w.folder.Read(t.Context(), "huge", Part{First: 1, Count: 5, Bytes: 99, Width: 99})
	if err != nil || !got.Cut || len(got.Content) != 5 {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = w.folder.Edit(t.Context(), "huge", "a line", "x", true)
	w.refused("an edit", err, "at most")
}
