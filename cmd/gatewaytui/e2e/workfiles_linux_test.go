package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TR9: a person without a model of their own writes, reads, changes, lists and finds files by what the scripted model understands.
func TestTR9_ATurnReadsEditsAndListsFiles(t *testing.T) {
	home := newHome(t)
	g := start(t, home, quick)
	for _, step := range []struct{ say, want string }{
		{"list", "(none)"},
		{"write: notes/todo.txt Buy milk.", "I wrote 10 bytes into notes/todo.txt."},
		{"read: notes/todo.txt", "notes/todo.txt has 1 lines:\n1\tBuy milk."},
		{"edit: notes/todo.txt milk => bread", "I changed notes/todo.txt in line 1."},
		{"sh: cat notes/todo.txt", "Buy bread."},
		{"find: bre.d", "line: 1  path: notes/todo.txt  text: Buy bread."},
		{"list: notes", "bytes: 11  name: todo.txt  type: file"},
		{"edit: notes/todo.txt cheese => bread", "does not occur; read the file again"},
		{"read: missing.txt", "there is no such file or folder"},
		{"read: ../gateway.db", "outside of the work folder"},
		{"sh: mkfifo pipe && ln -s / out && printf 'a\\0b' >bin", "(no output)"},
		{"read: pipe", "a named pipe"},
		{"read: out/etc/passwd", "leads out of the work folder"},
		{"read: bin", "binary: application/octet-stream"},
	} {
		if reply, status := g.chat("ann", step.say); status != http.StatusOK || !strings.Contains(reply, step.want) {
			t.Errorf("%s: answered %d %q, want %q", step.say, status, reply, step.want)
		}
	}
	if code, _ := g.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TR9: where the work folder contains the home, no name reaches it.
func TestTR9_AHomeInsideOfTheWorkFolderIsOutOfReach(t *testing.T) {
	work := newHome(t)
	home := filepath.Join(work, "home")
	g := start(t, home, quick+fmt.Sprintf("[tools]\nworkdir = %q\n", work))
	below := filepath.Base(home)
	if out, err := shell(work, "ln "+below+"/gateway.db second.db && ln -s "+below+" short"); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	for _, path := range []string{below + "/gateway.db", "short/gateway.db", "second.db", below + "/logs/gateway.jsonl", home + "/gateway.pid", "short"} {
		for _, say := range []string{"read: " + path, "write: " + path + " gone", "edit: " + path + " a => b", "list: " + path} {
			if reply, _ := g.chat("ann", say); !strings.Contains(reply, "belongs to the gateway") {
				t.Errorf("%s: answered %q", say, reply)
			}
		}
	}
	if reply, _ := g.chat("ann", "write: "+below+"/work/mine.txt mine"); !strings.HasPrefix(reply, "I wrote") {
		t.Errorf("in the part for agents: %q", reply)
	}
	if err := os.Remove(filepath.Join(work, "second.db")); err != nil {
		t.Error(err)
	}
	if code, _ := g.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
