package files

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if writeUntilKilled() {
		return
	}
	goleak.VerifyTestMain(m)
}

// secret is in every file that no call may reach.
const secret = "the content that no user may see"

// work is a work folder inside a folder of the test, next to what no path leads to.
type work struct {
	*testing.T
	outer, dir string
	folder     *Folder
}

// newWork makes <outer>/work, and <outer>/outside with a secret.
func newWork(t *testing.T) *work {
	t.Helper()
	w := &work{T: t, outer: t.TempDir()}
	w.dir = filepath.Join(w.outer, "work")
	w.folder = New(w.dir, Own{})
	w.put("../outside/secret.txt", secret)
	w.put("a.txt", "one\ntwo\n")
	return w
}

// put makes a file below the work folder, with the folders on the way.
func (w *work) put(name, content string) {
	w.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		w.Fatal(err)
	}
}

func (w *work) link(target, name string) {
	w.Helper()
	if err := os.Symlink(target, filepath.Join(w.dir, name)); err != nil {
		w.Fatal(err)
	}
}

// has checks the content of a file, by the disk.
func (w *work) has(name, content string) {
	w.Helper()
	if got, err := os.ReadFile(filepath.Join(w.dir, name)); err != nil || string(got) != content {
		w.Errorf("%s has %q (%v), want %q", name, got, err, content)
	}
}

// read is the whole text that Read shows of a file.
func (w *work) read(name string) (string, error) {
	text, err := w.folder.Read(w.Context(), name, whole)
	return strings.Join(text.Content, "\n"), err
}

var whole = Part{First: 1, Count: 1 << 20, Bytes: 1 << 20, Width: 1 << 10}

// refused checks that a call ended with an error about this.
func (w *work) refused(what string, err error, about string) {
	w.Helper()
	if err == nil || !strings.Contains(err.Error(), about) {
		w.Errorf("%s: %v, want an error about %q", what, err, about)
	}
}

// untouched checks that nothing outside of the work folder changed and that no temporary file is left in it.
func (w *work) untouched() {
	w.Helper()
	err := filepath.WalkDir(w.outer, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Name() == temporary {
			w.Errorf("%s is left", path)
		}
		return nil
	})
	if err != nil {
		w.Error(err)
	}
	w.has("../outside/secret.txt", secret)
	entries, err := os.ReadDir(filepath.Join(w.outer, "outside"))
	if err != nil || len(entries) != 1 {
		w.Errorf("outside has %v (%v)", entries, err)
	}
}
