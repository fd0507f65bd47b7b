package files

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gatewaytui/fixtures/soak"
)

func TestAWriteKeepsTheModeAndReplacesTheWholeFile(t *testing.T) {
	for name, tt := range map[string]struct {
		path    string
		before  func(w *work)
		mode    os.FileMode
		created bool
	}{
		"a new file":                  {path: "new.txt", mode: 0o644, created: true},
		"a new file in new folders":   {path: "deep/er/new.txt", mode: 0o644, created: true},
		"an existing file":            {path: "a.txt", mode: 0o644},
		"a script stays executable":   {path: "a.txt", mode: 0o755, before: func(w *work) { w.chmod("a.txt", 0o755) }},
		"a private file stays so":     {path: "a.txt", mode: 0o600, before: func(w *work) { w.chmod("a.txt", 0o600) }},
		"a name with a line break":    {path: "a\nb\x1b[31m", mode: 0o644, created: true},
		"a file behind a link":        {path: "l", mode: 0o644, before: func(w *work) { w.link("a.txt", "l") }},
		"the target of a dead link":   {path: "l", mode: 0o644, created: true, before: func(w *work) { w.link("later.txt", "l") }},
		"next to what a crash left":   {path: "a.txt", mode: 0o644, before: func(w *work) { w.put(temporary, "half") }},
		"a file with a longer before": {path: "a.txt", mode: 0o644, before: func(w *work) { w.put("a.txt", strings.Repeat("long", 999)) }},
	} {
		t.Run(name, func(t *testing.T) {
			old := syscall.Umask(0o022)
			defer syscall.Umask(old)
			w := newWork(t)
			if tt.before != nil {
				tt.before(w)
			}
			got, err := w.folder.Write(t.Context(), tt.path, "new\n")
			if err != nil || got.Created != tt.created || got.Bytes != 4 {
				t.Fatalf("%+v, %v", got, err)
			}
			w.has(tt.path, "new\n")
			fi, err := os.Stat(filepath.Join(w.dir, tt.path))
			if err != nil || fi.Mode() != tt.mode {
				t.Errorf("the mode is %v (%v), want %v", fi.Mode(), err, tt.mode)
			}
			w.untouched()
		})
	}
}

func (w *work) chmod(name string, mode os.FileMode) {
	w.Helper()
	if err := os.Chmod(filepath.Join(w.dir, name), mode); err != nil {
		w.Fatal(err)
	}
}

func TestAWriteThatIsRefusedChangesNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		path, content, about string
		before               func(w *work)
	}{
		"a folder":                              {path: "sub", about: "it is a folder"},
		"the work folder":                       {path: ".", about: "it is a folder"},
		"a path that ends with a slash":         {path: "new/", about: "names a folder"},
		"a path through a file":                 {path: "a.txt/b", about: "not a folder"},
		"a file that is too long":               {path: "a.txt", content: strings.Repeat("x", MaxFile+1), about: "at most"},
		"a folder where a file is made":         {path: "a.txt", about: "remove it", before: func(w *work) { w.put(temporary+"/x", "") }},
		"a link where a file is made":           {path: "a.txt", about: "remove it", before: func(w *work) { w.link("../outside/secret.txt", temporary) }},
		"a pipe where a file is made":           {path: "a.txt", about: "remove it", before: func(w *work) { _ = syscall.Mkfifo(filepath.Join(w.dir, temporary), 0o666) }},
		"more folders than may be open at once": {path: strings.Repeat("d/", maxDepth+5) + "x", about: "folders deep"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWork(t)
			w.put("sub/b.txt", "b")
			if tt.before != nil {
				tt.before(w)
			}
			_, err := w.folder.Write(t.Context(), tt.path, tt.content)
			w.refused("write", err, tt.about)
			w.has("a.txt", "one\ntwo\n")
			w.has("../outside/secret.txt", secret)
		})
	}
}

func TestAWriterWaitsForTheOneBeforeAndEndsWithItsContext(t *testing.T) {
	w := newWork(t)
	root, err := os.OpenRoot(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	file, err := lock(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("the turn was interrupted"))
	defer cancel()
	_, err = w.folder.Write(ctx, "a.txt", "new")
	w.refused("a write during another one", err, "the turn was interrupted")
	w.has("a.txt", "one\ntwo\n")
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.folder.Write(t.Context(), "a.txt", "new"); err != nil {
		t.Error(err)
	}
	w.has("a.txt", "new")
	w.untouched()
}

// Two sessions write the same file while others read it: every reader sees one whole content, and the last writer wins whole.
func TestTR9_OfTwoWritersTheLastOneWinsWhole(t *testing.T) {
	w := newWork(t)
	contents := []string{strings.Repeat("a", 100_000), strings.Repeat("b", 70_000)}
	w.put("a.txt", contents[0])
	var writers, reader sync.WaitGroup
	done := make(chan struct{})
	reader.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			text, err := w.folder.Read(t.Context(), "a.txt", Part{First: 1, Count: 1, Bytes: 1 << 20, Width: 1 << 20})
			if got := strings.Join(text.Content, ""); err != nil || got != contents[0] && got != contents[1] {
				t.Errorf("a reader saw %d bytes, %v", len(got), err)
				return
			}
		}
	})
	for _, content := range contents {
		writers.Go(func() {
			for range 20 {
				if _, err := w.folder.Write(t.Context(), "a.txt", content); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	reader.Wait()
	if got, err := os.ReadFile(filepath.Join(w.dir, "a.txt")); err != nil || string(got) != contents[0] && string(got) != contents[1] {
		t.Errorf("at last there are %d bytes, %v", len(got), err)
	}
	w.untouched()
}

func TestNoEditOfTwoSessionsIsLost(t *testing.T) {
	w := newWork(t)
	w.put("a.txt", "list:\n")
	var all sync.WaitGroup
	for session := range 4 {
		all.Go(func() {
			for n := range 10 {
				if _, err := w.folder.Edit(t.Context(), "a.txt", "list:\n", fmt.Sprintf("list:\n%d-%d\n", session, n), false); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	text, err := w.read("a.txt")
	if n := strings.Count(text, "-"); err != nil || n != 40 {
		t.Errorf("%d of 40 edits are there: %v", n, err)
	}
}

// writing is the variable that makes this binary a writer of its file.
const writing = "GATEWAYTUI_TEST_WRITES"

// writeUntilKilled is the child of the test below.
func writeUntilKilled() bool {
	dir := os.Getenv(writing)
	if dir == "" {
		return false
	}
	f := New(dir, Own{})
	for n := 0; ; n++ {
		content := strings.Repeat(string(rune('a'+n%26)), 50_000)
		if _, err := f.Write(context.Background(), "a.txt", content); err != nil {
			fmt.Println("write:", err)
			return true
		}
		fmt.Println("written")
	}
}

// A writer that is killed at any moment leaves a whole file, and what else it leaves is gone after the next write.
func TestTR9_AKilledWriterLeavesTheOldOrTheNewFile(t *testing.T) {
	w := newWork(t)
	rounds := 10
	if soak.On() {
		rounds = 300
	}
	for round := range rounds {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), writing+"="+w.dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for lines, n := bufio.NewScanner(out), 0; n <= round%5 && lines.Scan(); n++ {
			if lines.Text() != "written" {
				t.Errorf("the writer says %q", lines.Text())
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		got, err := os.ReadFile(filepath.Join(w.dir, "a.txt"))
		if err != nil || len(got) != 50_000 || strings.Count(string(got), string(got[0])) != len(got) {
			t.Fatalf("after a kill there are %d bytes, %v", len(got), err)
		}
		if _, err := w.folder.Write(t.Context(), "b.txt", "b"); err != nil {
			t.Fatal(err)
		}
		w.untouched()
	}
}
