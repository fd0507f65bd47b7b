package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"gatewaytui/core/files"
)

// filesBench is the tools of the group files over a folder of the test's own.
type filesBench struct {
	*testing.T
	dir   string
	set   *Set
	limit int
	doing []string
}

func newFilesBench(t *testing.T, limit int) *filesBench {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "work")
	opts := Options{Timeout: patience, OutputLimit: limit, Workdir: dir, Folder: files.New(dir, files.Own{})}
	return &filesBench{T: t, dir: dir, set: NewSet(limit, NewFiles(opts)...), limit: limit}
}

// call calls a tool and returns the model's result, which is one JSON object within the limit.
func (b *filesBench) call(ctx context.Context, name, arguments string) map[string]any {
	b.Helper()
	text := b.set.Run(ctx, name, Call{Arguments: json.RawMessage(arguments), Progress: func(doing string) { b.doing = append(b.doing, doing) }})
	if len(text) > max(b.limit, minLimit) || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		b.Errorf("%s: the model gets %d bytes: %q", name, len(text), text)
	}
	var result map[string]any
	if err := json.Unmarshal([]byte(text), &result); err != nil {
		b.Fatalf("%s: the model gets %q: %v", name, text, err)
	}
	return result
}

// put makes a file in the work folder.
func (b *filesBench) put(name, content string) {
	b.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		b.Fatal(err)
	}
}

func TestTR9_AModelWorksWithFiles(t *testing.T) {
	b := newFilesBench(t, 16<<10)
	b.put("crlf.txt", "\ufeffa\r\nb\r\n")
	b.put("p.png", "\x89PNG\r\n\x1a\n\x00")
	b.put("big.txt", strings.Repeat("0123456789\n", 3000))
	for _, step := range []struct{ tool, arguments, want string }{
		{"files_list", ``, `{"entries":[{"bytes":33000,"name":"big.txt","type":"file"},{"bytes":9,"name":"crlf.txt","type":"file"},{"bytes":9,"name":"p.png","type":"file"}],"path":".","truncated":false}`},
		{"files_write", `{"path":"src/a.txt","content":"one\ntwo <&> \u001b[2J\nthree\n"}`, `{"bytes":23,"created":true,"path":"src/a.txt"}`},
		{"files_read", `{"path":"src/a.txt"}`, `{"bytes":23,"content":"1\tone\n2\ttwo <&> \u001b[2J\n3\tthree","lines":3,"path":"src/a.txt","truncated":false}`},
		{"files_read", `{"path":"src/a.txt","from":2,"lines":1}`, `{"bytes":23,"content":"2\ttwo <&> \u001b[2J","lines":3,"note":"the next line is 3","path":"src/a.txt","truncated":true}`},
		{"files_edit", `{"path":"src/a.txt","old":"three","new":"3"}`, `{"bytes":19,"lines":[3],"path":"src/a.txt","replaced":1}`},
		{"files_write", `{"path":"src/a.txt","content":""}`, `{"bytes":0,"created":false,"path":"src/a.txt"}`},
		{"files_read", `{"path":"src/a.txt"}`, `{"bytes":0,"content":"","path":"src/a.txt","truncated":false}`},
		{"files_read", `{"path":"crlf.txt"}`, `{"bom":true,"bytes":9,"content":"1\ta\n2\tb","line_ends":"crlf","lines":2,"path":"crlf.txt","truncated":false}`},
		{"files_edit", `{"path":"crlf.txt","old":"a\nb","new":"a\nb\nc"}`, `{"bytes":12,"lines":[1],"path":"crlf.txt","replaced":1}`},
		{"files_read", `{"path":"p.png"}`, `{"binary":"image/png","bytes":9,"content":"","note":"it is not text and is not shown","path":"p.png","truncated":false}`},
		{"files_search", `{"pattern":"^b","glob":"*.txt"}`, `{"files":3,"matches":[{"line":2,"path":"crlf.txt","text":"b"}],"truncated":false}`},
	} {
		got, err := json.Marshal(b.call(t.Context(), step.tool, step.arguments))
		if err != nil {
			t.Fatal(err)
		}
		var want any
		if err := json.Unmarshal([]byte(step.want), &want); err != nil {
			t.Fatal(err)
		}
		if canonical, _ := json.Marshal(want); string(got) != string(canonical) {
			t.Errorf("%s %s\ngives %s\nwant  %s", step.tool, step.arguments, got, canonical)
		}
	}
	if got, err := os.ReadFile(filepath.Join(b.dir, "crlf.txt")); err != nil || string(got) != "\ufeffa\r\nb\r\nc\r\n" {
		t.Errorf("crlf.txt has %q, %v", got, err)
	}
	if len(b.doing) != 11 || b.doing[1] != "files_write: src/a.txt" || b.doing[0] != "files_list: ." {
		t.Errorf("the display of the turn had %q", b.doing)
	}
}

func TestAWrongCallOfAFileToolSaysWhatToDo(t *testing.T) {
	for name, tt := range map[string]struct{ tool, arguments, want string }{
		"no path":                   {"files_read", `{}`, `"path" is required`},
		"an unknown argument":       {"files_read", `{"path":"a","offset":1}`, `takes path, from, lines`},
		"a wrong type":              {"files_read", `{"path":"a","from":"2"}`, `"from" must be a whole number`},
		"line 0":                    {"files_read", `{"path":"a","from":0}`, `"from" must be at least 1`},
		"no lines":                  {"files_read", `{"path":"a","lines":-1}`, `"lines" must be at least 1`},
		"a file that is missing":    {"files_read", `{"path":"x"}`, `no such file or folder in the work folder`},
		"a folder":                  {"files_read", `{"path":"."}`, `it is a folder, not a file`},
		"a path that leads out":     {"files_read", `{"path":"../x"}`, `begins at the work folder`},
		"a path that acts":          {"files_read", `{"path":"\u001b[2J"}`, `no such file`},
		"no content":                {"files_write", `{"path":"x"}`, `"content" is required`},
		"no old text":               {"files_edit", `{"path":"a","new":"x"}`, `with files_write`},
		"no new text":               {"files_edit", `{"path":"a","old":"x"}`, `"new" is required`},
		"a text that is not there":  {"files_edit", `{"path":"a","old":"x","new":"y"}`, `read the file again`},
		"a depth of 0":              {"files_list", `{"depth":0}`, `at least 1`},
		"a depth that is too great": {"files_list", `{"depth":99}`, `at most 20`},
		"a wrong glob":              {"files_list", `{"glob":"{"}`, `an example is`},
		"no pattern":                {"files_search", `{}`, `"pattern" is required`},
		"a wrong pattern":           {"files_search", `{"pattern":"("}`, `RE2`},
		"a limit of 0":              {"files_search", `{"pattern":"x","limit":0}`, `at least 1`},
	} {
		t.Run(name, func(t *testing.T) {
			b := newFilesBench(t, 16<<10)
			b.put("a", "one\n")
			got := b.call(t.Context(), tt.tool, tt.arguments)
			if text, _ := got["error"].(string); len(got) != 1 || !strings.Contains(text, tt.want) {
				t.Errorf("the model gets %v, want an error about %s", got, tt.want)
			}
		})
	}
}

// A result is within the limit, however small, and says how to go on. Reading on gives the whole file.
func TestResultsAboutFilesAreBounded(t *testing.T) {
	for _, limit := range []int{1, minLimit, 4 << 10, 64 << 10} {
		b := newFilesBench(t, limit)
		var content strings.Builder
		for n := range 500 {
			fmt.Fprintf(&content, "line %d \x01\"\\ %s\n", n, strings.Repeat("\x1b", n%50))
			b.put(fmt.Sprintf("many/%03d\n\x1b[2J", n), "needle\n")
		}
		b.put("f", content.String())
		read, rounds := 0, 0
		for from := 1; from <= 500; rounds++ {
			got := b.call(t.Context(), "files_read", fmt.Sprintf(`{"path":"f","from":%d}`, from))
			text, _ := got["content"].(string)
			n := strings.Count(text, "\n") + 1
			if text == "" || rounds > 500 {
				t.Fatalf("limit %d, line %d: %v", limit, from, got)
			}
			from, read = from+n, read+n
			if more := got["truncated"] == true; more != (from <= 500) {
				t.Errorf("limit %d: truncated is %v before line %d", limit, more, from)
			}
		}
		if read != 500 {
			t.Errorf("limit %d: %d lines were read", limit, read)
		}
		list := b.call(t.Context(), "files_list", `{"path":"many"}`)
		entries, _ := list["entries"].([]any)
		if more, _ := list["more"].(float64); len(entries)+int(more) != 500 || len(entries) == 0 {
			t.Errorf("limit %d: %d entries and %v more", limit, len(entries), more)
		}
		found := b.call(t.Context(), "files_search", `{"pattern":"needle","limit":1000}`)
		if lines, _ := found["matches"].([]any); len(lines) == 0 || len(lines) < 500 != (found["truncated"] == true) {
			t.Errorf("limit %d: %d matches, truncated is %v", limit, len(lines), found["truncated"])
		}
	}
}

func TestACallOfAFileToolEndsWithItsTurnAlsoWhenItWaits(t *testing.T) {
	b := newFilesBench(t, 16<<10)
	b.put("a", "x")
	held := holdWrites(t, b.dir)
	defer held.Close()
	for name, arguments := range map[string]string{"files_write": `{"path":"a","content":"y"}`, "files_edit": `{"path":"a","old":"x","new":"y"}`} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		got := b.call(ctx, name, arguments)
		cancel()
		if text, _ := got["error"].(string); !strings.Contains(text, "interrupted") {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got, err := os.ReadFile(filepath.Join(b.dir, "a")); err != nil || string(got) != "x" {
		t.Errorf("the file has %q, %v", got, err)
	}
}

// holdWrites holds the lock of a folder as a writer of another gateway does.
func holdWrites(t *testing.T, dir string) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, ".gatewaytui-write.tmp"))
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestTheNameFilesStandsForAllToolsOfItsGroup(t *testing.T) {
	set := Enabled(nil, Options{}, []string{"files", "delegate", "no such tool"})
	if got := strings.Join(set.Names(), " "); got != "delegate files_read files_write files_edit files_list files_search" {
		t.Errorf("the tools are %s", got)
	}
	for _, spec := range set.Specs() {
		if !json.Valid(spec.Schema) {
			t.Errorf("the schema of %s is not JSON: %s", spec.Name, spec.Schema)
		}
	}
}
