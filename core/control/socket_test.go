package control

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gatewaytui/fixtures/shortdir"
)

func TestTheSocketIsPrivateUnderAnyUmask(t *testing.T) {
	for _, umask := range []int{0, 0o022, 0o777} {
		old := syscall.Umask(umask)
		path := filepath.Join(t.TempDir(), homeSocket)
		l, err := listen(path)
		syscall.Umask(old)
		if err != nil {
			t.Fatalf("umask %o: %v", umask, err)
		}
		fi, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if fi.Mode().Perm() != 0o600 {
			t.Errorf("umask %o gave mode %o, promised 600", umask, fi.Mode().Perm())
		}
		l.Close()
	}
}

func TestWhatIsInTheWayOfTheSocket(t *testing.T) {
	stale := func(t *testing.T, path string) {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		l.Close()
	}
	for _, tc := range []struct {
		name string
		put  func(t *testing.T, path string)
		want string // in the error; empty: it listens
	}{
		{"nothing is fine", func(*testing.T, string) {}, ""},
		{"a stale socket is removed", stale, ""},
		{"a live socket is left alone", func(t *testing.T, path string) {
			l, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
		}, "another process answers"},
		{"a file is left alone", func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "not a socket"},
		{"a link is left alone", func(t *testing.T, path string) {
			stale(t, path+".real")
			if err := os.Symlink(path+".real", path); err != nil {
				t.Fatal(err)
			}
		}, "not a socket"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := shortdir.New(t)
			path := filepath.Join(dir, "s")
			tc.put(t, path)
			l, err := listen(path)
			if err == nil {
				l.Close()
			}
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Fatalf("got %v, promised %q", err, tc.want)
			}
			if _, err := os.Lstat(path); tc.want != "" && err != nil {
				t.Fatalf("what was in the way is gone: %v", err)
			}
		})
	}
	if _, err := listen("/tmp/" + strings.Repeat("x", maxPath)); err == nil || !strings.Contains(err.Error(), "107") {
		t.Fatalf("a path that is too long gave %v", err)
	}
}
