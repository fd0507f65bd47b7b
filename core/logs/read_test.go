package logs

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func readAll(t *testing.T, path string, q Query) (texts []string) {
	t.Helper()
	for line, err := range Read(t.Context(), path, q) {
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(line.Text(), " INF ")
		if text == "" {
			_, text, _ = strings.Cut(line.Text(), " WRN ")
		}
		texts = append(texts, text)
	}
	return texts
}

func TestOP1_TheLogIsReadOldestFirstOverItsFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gateway.jsonl")
	l, err := Open(Options{Path: path, MaxBytes: 400, Keep: 10})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for i := range 20 {
		l.Logger().Info(fmt.Sprintf("line %d", i), "session", fmt.Sprintf("api:user:%d", i%2), "text", "a\x1b[31mb")
	}
	l.Logger().Warn("last", "event", "x", "blockers", []string{"a", "b"})
	if err := l.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if files, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(files) < 3 {
		t.Fatalf("the log was not rotated: %q", files)
	}
	all := readAll(t, path, Query{Level: slog.LevelDebug})
	if len(all) != 21 || !strings.HasPrefix(all[0], "line 0 ") || !strings.HasPrefix(all[19], "line 19 ") || all[20] != `last event=x blockers="a, b"` {
		t.Errorf("read %d lines: %q", len(all), all)
	}
	for _, text := range all {
		if strings.ContainsRune(text, 0x1b) {
			t.Errorf("%q acts on a terminal", text)
		}
	}
	for name, c := range map[string]struct {
		q    Query
		want int
	}{
		"one session":           {Query{Session: "api:user:1"}, 10},
		"warnings":              {Query{Level: slog.LevelWarn}, 1},
		"lines since the start": {Query{Since: began.Add(-time.Second)}, 21},
		"lines of tomorrow":     {Query{Since: began.Add(24 * time.Hour)}, 0},
	} {
		if got := readAll(t, path, c.q); len(got) != c.want {
			t.Errorf("%s: %d lines, want %d", name, len(got), c.want)
		}
	}
}

func TestOP1_ALogThatIsFollowedIsFollowedOverItsRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gateway.jsonl")
	l, err := Open(Options{Path: path, MaxBytes: 300, Keep: 100})
	if err != nil {
		t.Fatal(err)
	}
	const most = 30
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	written, half := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(written)
		for i := range most {
			l.Logger().Info(fmt.Sprintf("line %d", i))
			if i == most/2 {
				<-half // the reader is to see a file that is rotated later
			}
		}
	}()
	seen := 0
	for line, err := range Read(ctx, path, Query{Follow: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf(`"msg":"line %d"`, seen); !strings.Contains(string(line.JSON), want) {
			t.Fatalf("line %d is %s", seen, line.JSON)
		}
		if seen++; seen == most/2 {
			close(half)
		}
		if seen == most {
			break
		}
	}
	<-written
	if err := l.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if seen != most {
		t.Errorf("%d of %d lines were read", seen, most)
	}
}

func TestOP1_AFileThatIsNotALogIsNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gateway.jsonl")
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, path); err != nil {
		t.Fatal(err)
	}
	for line, err := range Read(t.Context(), path, Query{}) {
		if err == nil {
			t.Errorf("a link was followed: %s", line.JSON)
		}
	}
}
