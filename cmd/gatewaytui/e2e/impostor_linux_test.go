package e2e

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// HF15: a folder for the control socket that another user made first gets no prompt from the program's own commands.
func TestHF15_AFolderOfAnotherUserGetsNoPrompt(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("runs as root only: it gives a folder to another user")
	}
	temp := newHome(t)
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("TMPDIR", temp)
	home := filepath.Join(newHome(t), strings.Repeat("a-long-name-", 9)) // too long for a socket
	g := start(t, home, quick)
	var record struct{ Control string }
	text, err := os.ReadFile(filepath.Join(home, "gateway.pid"))
	if err == nil {
		err = json.Unmarshal(text, &record)
	}
	dir := filepath.Dir(record.Control)
	if err != nil || !strings.HasPrefix(dir, temp+"/") {
		t.Fatalf("the control socket is at %q: %v", record.Control, err)
	}
	if out, code := g.verb("send", "hello"); code != 0 {
		t.Fatalf("send: %d %s", code, out)
	}
	g.stopsClean()

	const nobody = 65534
	l, err := net.Listen("unix", record.Control)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			got <- ""
			return
		}
		defer c.Close()
		b := make([]byte, 4096)
		n, _ := c.Read(b)
		got <- string(b[:n])
	}()
	for _, args := range [][]string{{"send", "my secret prompt"}, {"status"}, {"attach"}, {"stop", "--yes"}} {
		out, code := verb(t, home, args...)
		if code == 0 || !strings.Contains(out, "belongs to uid 65534") {
			t.Errorf("%s: %d %s", args[0], code, out)
		}
	}
	l.Close()
	if sent := <-got; sent != "" {
		t.Errorf("another user's folder was sent %q", sent)
	}
}
