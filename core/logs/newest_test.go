package logs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gatewaytui/core/ops"
)

// longLog writes n lines over several files, every third about one session.
func longLog(t *testing.T, n int) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "gateway.jsonl")
	l, err := Open(Options{Path: path, MaxBytes: 40_000, Keep: 100})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		session := "api:user:ann"
		if i%3 > 0 {
			session = fmt.Sprintf("api:user:%d", i)
		}
		if i%10 == 0 {
			l.Logger().Warn(fmt.Sprintf("line %d", i), "session", session, "elapsed", "4711")
			continue
		}
		l.Logger().Info(fmt.Sprintf("line %d", i), "session", session, "pid", i)
	}
	if err := l.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	return path
}

func newestOf(t *testing.T, path string, q ops.LogQuery) ops.Page[ops.LogLine] {
	t.Helper()
	page, err := Newest(t.Context(), path, q)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func textsOf(page ops.Page[ops.LogLine]) (texts []string) {
	for _, l := range page.Items {
		texts = append(texts, strings.TrimPrefix(l.Text, "line "))
	}
	return texts
}

func TestOP2_TheNewestLinesOfTheLogComeFirstPageByPage(t *testing.T) {
	const n = 1000
	path := longLog(t, n)
	if files, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(files) < 3 {
		t.Fatalf("the log was not rotated: %q", files)
	}
	want, q, ids := n-1, ops.LogQuery{Limit: 70}, map[string]bool{}
	for {
		page := newestOf(t, path, q)
		for _, l := range page.Items {
			if l.Text != fmt.Sprintf("line %d", want) || l.At.IsZero() || ids[l.ID] {
				t.Fatalf("%+v came where line %d belongs", l, want)
			}
			want, ids[l.ID] = want-1, true
		}
		if q.Cursor = page.Next; page.Next == "" {
			break
		}
	}
	if want != -1 {
		t.Errorf("lines 0 to %d are missing", want)
	}
}

func TestOP2_LinesOfTheLogAreSelected(t *testing.T) {
	path := longLog(t, 100)
	for name, c := range map[string]struct {
		q    ops.LogQuery
		want string
	}{
		"about a session":            {ops.LogQuery{About: "api:user:ann", Limit: 4}, "[99 96 93 90]"},
		"about a pid":                {ops.LogQuery{About: "47"}, "[47]"},
		"not about another number":   {ops.LogQuery{About: "4711"}, "[]"},
		"from a level on":            {ops.LogQuery{Level: "warn", Limit: 3}, "[90 80 70]"},
		"about what is only a part":  {ops.LogQuery{About: "api:user"}, "[]"},
		"a file that is not there":   {ops.LogQuery{Cursor: "1-100"}, "[]"},
		"about something with quote": {ops.LogQuery{About: "\"x\\"}, "[]"},
	} {
		if got := fmt.Sprint(textsOf(newestOf(t, path, c.q))); got != c.want {
			t.Errorf("%s: %s, promised %s", name, got, c.want)
		}
	}
	for _, q := range []ops.LogQuery{{Level: "loud"}, {Cursor: "x"}, {After: "1--2"}} {
		if _, err := Newest(t.Context(), path, q); !ops.HasCode(err, ops.CodeInvalid) {
			t.Errorf("%+v is answered %v", q, err)
		}
	}
	if page := newestOf(t, filepath.Join(t.TempDir(), "none", "gateway.jsonl"), ops.LogQuery{}); len(page.Items) != 0 {
		t.Errorf("a log that is not there has %v", page)
	}
}

// What is written after a line was seen is read without what came before it, also over a rotation. A line that is being written is
// not read in part.
func TestOP2_NewLinesOfTheLogFollowTheLastOne(t *testing.T) {
	path := longLog(t, 20)
	last := newestOf(t, path, ops.LogQuery{Limit: 1}).Items[0]
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	write := func(text string) {
		t.Helper()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"time":"2026-11-21T12:00:00Z","level":"ERROR","msg":"line 20","blockers":["a","b"]}` + "\n" + `{"time":"2026-11-21T12:0`)
	page := newestOf(t, path, ops.LogQuery{After: last.ID})
	if got := fmt.Sprint(textsOf(page)); got != "[20]" || page.Items[0].Level != "error" || page.Items[0].Fields[0] != (ops.LogField{Key: "blockers", Value: "a, b"}) {
		t.Fatalf("after line 19 came %s: %+v", got, page)
	}
	write(`0:01Z","level":"INFO","msg":"line 21"}` + "\n")
	if err := os.Rename(path, strings.TrimSuffix(path, ".jsonl")+"-2026-11-21T12-00-00.000.jsonl"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(`{"time":"2026-11-21T12:00:02Z","level":"INFO","msg":"line 22"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(textsOf(newestOf(t, path, ops.LogQuery{After: page.Items[0].ID}))); got != "[22 21]" {
		t.Errorf("after line 20 came %s", got)
	}
}
