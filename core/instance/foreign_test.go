package instance

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gatewaytui/core/ops"
)

// TF46: a folder with files of its own is not closed to its readers.
func TestAFolderThatIsNotAHomeIsRefusedAndLeftAsItIs(t *testing.T) {
	for _, c := range []struct {
		name    string
		files   []string // a name that ends in / is a folder
		refused bool
	}{
		{"an empty folder becomes a home", nil, false},
		{"a mounted volume has lost+found", []string{"lost+found/"}, false},
		{"an administrator may put the config there first", []string{"config.toml"}, false},
		{"a start that was killed leaves empty folders", []string{"logs/", "dumps/"}, false},
		{"a home of any edition has a database", []string{"gateway.db", "notes.txt"}, false},
		{"a home whose database was deleted has a lock", []string{"gateway.lock", "notes.txt"}, false},
		{"a killed gateway leaves its pid file", []string{"gateway.pid"}, false},
		{"a stopped gateway leaves its marker", []string{".clean_shutdown"}, false},
		{"a home that was emptied has its log", []string{"logs/", "logs/gateway.jsonl", "notes.txt"}, false},
		{"a web root", []string{"index.html", "images/"}, true},
		{"a source tree with logs of its own", []string{"logs/", "logs/build.txt"}, true},
		{"a tool folder with work in it", []string{"work/", "work/notes.txt"}, true},
		{"one hidden file", []string{".profile"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "folder")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			for _, name := range c.files {
				path := filepath.Join(dir, name)
				var err error
				if strings.HasSuffix(name, "/") {
					err = os.Mkdir(path, 0o755)
				} else {
					err = os.WriteFile(path, []byte("{}"), 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			_, err := Open(dir)
			if refused := errors.Is(err, ErrForeign); refused != c.refused {
				t.Fatalf("refused is %v (%v), want %v", refused, err, c.refused)
			}
			if !c.refused {
				if got := mode(t, dir); got != 0o700 {
					t.Errorf("the home has mode %04o", got)
				}
				return
			}
			if !ops.HasCode(err, ops.CodeInvalid) || !strings.Contains(err.Error(), "--home") {
				t.Errorf("the error does not say what to do: %v", err)
			}
			if got := mode(t, dir); got != 0o755 {
				t.Errorf("its mode became %04o", got)
			}
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			roots := 0
			for _, name := range c.files {
				if !strings.Contains(strings.TrimSuffix(name, "/"), "/") {
					roots++
				}
			}
			if len(entries) != roots {
				t.Errorf("it holds %d entries, and held %d", len(entries), roots)
			}
		})
	}
}
