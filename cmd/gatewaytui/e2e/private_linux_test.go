package e2e

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// I1, I2, I3: neither a secret nor a word of a message is in any log line or report, nor in what tools see; every file is
// the owner's alone, under any umask.
func TestSecretsAndMessagesStayPrivate(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	const secret, word = "sk-test-0123456789abcdef", "Rumpelstilzchen"
	t.Setenv("MODEL_KEY", secret)
	home := newHome(t)
	g := start(t, home, "[model]\nprovider = \"scripted\"\napi_key_env = \"MODEL_KEY\"\n[log]\nlevel = \"debug\"\n")
	reply, status := g.chat("a", "sh: echo "+word+"; env; echo $MODEL_KEY >&2; false")
	if status != http.StatusOK || !strings.Contains(reply, word) {
		t.Fatalf("answered %d %q", status, reply)
	}
	if strings.Contains(reply, secret) {
		t.Errorf("a tool saw the model's key:\n%s", reply)
	}
	for _, name := range []string{"GATEWAYTUI_LIFE=", "GATEWAYTUI_SESSION=api:user:a", "GATEWAYTUI_HOME_ID="} {
		if !strings.Contains(reply, name) {
			t.Errorf("a tool does not see %s", name)
		}
	}
	g.chat("b", "error")
	if out, code := g.verb("diagnose"); code != 0 {
		t.Errorf("diagnose: %d %s", code, out)
	}
	if code, _ := g.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if perm := info.Mode().Perm(); perm&0o077 != 0 {
			t.Errorf("%s has mode %v", path, perm)
		}
		if d.IsDir() || strings.HasSuffix(path, "gateway.db") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, hidden := range []string{secret, word} {
			if strings.Contains(string(text), hidden) {
				t.Errorf("%s holds %q", path, hidden)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, hidden := range []string{secret, word} {
		if strings.Contains(g.output(), hidden) {
			t.Errorf("stderr holds %q", hidden)
		}
	}
}
