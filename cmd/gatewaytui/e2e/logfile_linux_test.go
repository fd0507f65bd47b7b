package e2e

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatewaytui/fixtures/eventually"
)

// HF28: the folder of the log removed under the running gateway comes back, and one line says so; a symbolic link in its
// place is not followed, and status warns as long as lines are lost.
func TestHF28_TheLogComesBack(t *testing.T) {
	t.Parallel() // it mostly waits
	home := newHome(t)
	g := start(t, home, quick)
	logs, target := filepath.Join(home, "logs"), t.TempDir()
	log := filepath.Join(logs, "gateway.jsonl")
	chat := func() { // each turn is some lines
		t.Helper()
		if _, status := g.chat("a", "hello"); status != http.StatusOK {
			t.Fatalf("answered %d", status)
		}
	}
	wait := func(what string, is func() bool) {
		t.Helper()
		eventually.True(t, what, func() bool {
			chat()
			return is()
		})
	}
	has := func(text string) bool {
		b, _ := os.ReadFile(log) // not there yet
		return strings.Contains(string(b), text)
	}
	if err := os.RemoveAll(logs); err != nil {
		t.Fatal(err)
	}
	wait("a new log that says why", func() bool {
		return has(`"msg":"log.made_again","sink":"file","reason":"the folder of the log was removed"`)
	})
	if fi, err := os.Stat(logs); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v, %v", fi.Mode(), err)
	}
	if w := g.warnings()["log.file"]; w != "" {
		t.Errorf("status warns of %q", w)
	}

	if err := errors.Join(os.RemoveAll(logs), os.Symlink(target, logs)); err != nil {
		t.Fatal(err)
	}
	wait("a warning", func() bool { return strings.Contains(g.warnings()["log.file"], logs+" is a symbolic link") })
	if entries, err := os.ReadDir(target); err != nil || len(entries) != 0 {
		t.Errorf("the target has %v, %v", entries, err)
	}
	if err := os.Remove(logs); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	eventually.True(t, "the end of the warning, without another line", func() bool { return g.warnings()["log.file"] == "" })
	t.Logf("written again after %s", time.Since(began).Round(time.Millisecond))
	if !has(`"msg":"log.dropped","sink":"file"`) {
		t.Error("the log does not say how many lines are lost")
	}
	if code, _ := g.stop(); code != 0 || !has(`"msg":"stopped"`) {
		t.Errorf("exit code %d; the log has its last line: %v", code, has(`"msg":"stopped"`))
	}
}
