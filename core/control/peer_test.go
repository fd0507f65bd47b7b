package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/shortdir"
)

// probe is what this test binary does as another process: it asks for a drain and prints the answer.
func probe(path string) int {
	c := NewClient(path, ClientOptions{})
	defer c.Close()
	resp, err := c.http.Post("http://gw/v1/drain", "application/json", strings.NewReader(`{"reason":"probe"}`))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status, "close:", resp.Close)
	if _, err := io.Copy(os.Stdout, resp.Body); err != nil {
		return 1
	}
	return 0
}

func runProbe(t *testing.T, exe, path string, attr *syscall.SysProcAttr, env ...string) (out string, pid int) {
	t.Helper()
	var buf bytes.Buffer
	cmd := exec.Command(exe)
	// A binary with the race detector would linger for a second at its end.
	cmd.Env = append([]string{"CONTROL_TEST_PROBE=" + path, "GORACE=atexit_sleep_ms=0"}, env...)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr, cmd.Dir = &buf, &buf, attr, "/"
	if err := cmd.Run(); err != nil {
		t.Fatalf("probe: %v: %s", err, &buf)
	}
	return buf.String(), cmd.ProcessState.Pid()
}

// TestI5_AnotherUserIsRefused holds I5: not only the mode of the file keeps others out.
func TestI5_AnotherUserIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("runs as root only: it has to become another user")
	}
	f := newFake()
	r := serve(t, f)
	// Others can reach the socket only if its mode was widened, which this test does.
	dir := filepath.Dir(r.path)
	for path, mode := range map[string]os.FileMode{dir: 0o755, r.path: 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	// The test binary itself lies where another user may not look.
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(dir, "probe")
	if err := os.WriteFile(exe, self, 0o755); err != nil {
		t.Fatal(err)
	}
	out, _ := runProbe(t, exe, r.path, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}})
	if !strings.Contains(out, "403 Forbidden close: true") || !strings.Contains(out, `"code":"forbidden"`) || !strings.Contains(out, "uid 65534") {
		t.Errorf("uid %d was answered: %s", nobody, out)
	}
	if did := f.commands(); len(did) != 0 {
		t.Errorf("uid %d did %+v", nobody, did)
	}
}

func TestTheDialSaysHowTheSocketFails(t *testing.T) {
	dir := shortdir.New(t)
	stale, mute, lying := filepath.Join(dir, "stale"), filepath.Join(dir, "mute"), filepath.Join(dir, "lying")
	for _, path := range []string{stale, mute, lying} {
		l := listenPlain(t, path)
		switch path {
		case stale:
			l.SetUnlinkOnClose(false)
			l.Close()
		case mute:
			t.Cleanup(func() { l.Close() }) // it listens, and does not accept
		case lying:
			srv := &http.Server{Handler: http.NotFoundHandler()}
			done := make(chan struct{})
			go func() { defer close(done); _ = srv.Serve(l) }()
			t.Cleanup(func() { srv.Close(); <-done })
		}
	}
	for _, tc := range []struct {
		name, path, want string
		gone             bool
		code             ops.Code
	}{
		{"no socket", filepath.Join(dir, "none"), "does not exist", true, ops.CodeUnavailable},
		{"a stale socket", stale, "is stale", true, ops.CodeUnavailable},
		{"a socket that does not answer", mute, "does not answer", false, ops.CodeUnavailable},
		{"a socket of something else", lying, "is not a gateway", false, ops.CodeInternal},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := NewClient(tc.path, ClientOptions{Timeout: patience(tc.path == mute)})
			defer c.Close()
			_, err := c.Status(context.Background())
			if !ops.HasCode(err, tc.code) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, promised %q", err, tc.want)
			}
			u, ok := errors.AsType[*Unreachable](err)
			if ok != (tc.code == ops.CodeUnavailable) || ok && u.Gone != tc.gone {
				t.Errorf("gone is wrong in %+v", err)
			}
			for _, err := range c.Events(context.Background(), 0) {
				if !ops.HasCode(err, tc.code) {
					t.Errorf("events gave %v", err)
				}
			}
		})
	}
}
