package control

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/shortdir"
)

// The uid of another user.
const nobody = 65534

// impostor is what this test binary does as another user: it listens at path, says that it does, and prints what the first
// caller sends.
func impostor(path string) int {
	l, err := net.Listen("unix", path)
	if err != nil {
		os.Stderr.WriteString(err.Error())
		return 1
	}
	os.Stdout.WriteString("listening\n")
	c, err := l.Accept()
	if err != nil {
		return 1
	}
	_, _ = io.Copy(os.Stdout, c)
	return 0
}

// asked asks the socket at path for a message, and returns the refusal.
func asked(t *testing.T, path string, owner int) error {
	t.Helper()
	c := NewClient(path, ClientOptions{Owner: owner})
	defer c.Close()
	_, err := c.Do(context.Background(), ops.Command{Verb: ops.VerbMessage, Target: "cli:local", Text: "my secret prompt"})
	return err
}

// HF15: nothing is sent to a socket in a folder where another user could have put it.
func TestHF15_TheFolderOfTheSocketIsOurs(t *testing.T) {
	for _, tc := range []struct {
		name, socket string
		mode         os.FileMode
		uid          int
		link         bool
		owner        int
		want         string
	}{
		{name: "a private folder serves", socket: "gatewaytui-x.sock", mode: 0o700},
		{name: "a home that others may read serves", socket: homeSocket, mode: 0o755},
		{name: "a home that is reached by a link serves", socket: homeSocket, mode: 0o700, link: true},
		{name: "a home that others may write", socket: homeSocket, mode: 0o777, want: "has mode 0777"},
		{name: "a folder elsewhere that others may read", socket: "gatewaytui-x.sock", mode: 0o755, want: "has mode 0755"},
		{name: "a link in the place of a folder elsewhere", socket: "gatewaytui-x.sock", mode: 0o700, link: true, want: "is not a folder"},
		{name: "a folder of another user", socket: "gatewaytui-x.sock", mode: 0o700, uid: nobody, want: "belongs to uid 65534"},
		{name: "a home of another user", socket: homeSocket, mode: 0o700, uid: nobody, want: "belongs to uid 65534"},
		{name: "root asks the gateway of the home's owner", socket: homeSocket, mode: 0o700, uid: nobody, owner: nobody},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.uid != 0 && os.Geteuid() != 0 {
				t.Skip("runs as root only: it gives a folder to another user")
			}
			top := shortdir.New(t)
			dir := filepath.Join(top, "d")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			f := newFake()
			start(t, Options{Console: f, Path: filepath.Join(dir, tc.socket)})
			if err := os.Chmod(dir, tc.mode); err != nil {
				t.Fatal(err)
			}
			if tc.uid != 0 {
				if err := os.Chown(dir, tc.uid, tc.uid); err != nil {
					t.Fatal(err)
				}
			}
			if tc.link {
				if err := os.Symlink(dir, dir+"l"); err != nil {
					t.Fatal(err)
				}
				dir += "l"
			}
			err := asked(t, filepath.Join(dir, tc.socket), tc.owner)
			if tc.want == "" {
				if err != nil || len(f.commands()) != 1 {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if !ops.HasCode(err, ops.CodeForbidden) || !strings.Contains(err.Error(), tc.want) || len(f.commands()) != 0 {
				t.Errorf("got %v, with %d commands done; promised %q", err, len(f.commands()), tc.want)
			}
		})
	}
}

// HF15: a process of another user that answers is sent nothing, also where the folder was ours when it was looked at.
func TestHF15_WhoAnswersIsOurUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("runs as root only: it has to become another user")
	}
	dir := shortdir.New(t)
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	exe, path := filepath.Join(dir, "impostor"), filepath.Join(dir, homeSocket)
	if err := os.WriteFile(exe, self, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil { // so that the impostor can make its socket
		t.Fatal(err)
	}
	var got bytes.Buffer
	cmd := exec.Command(exe)
	cmd.Dir, cmd.Env = "/", []string{"CONTROL_TEST_IMPOSTOR=" + path, "GORACE=atexit_sleep_ms=0"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("listening\n"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	err = asked(t, path, 0)
	if _, err := io.Copy(&got, out); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if !ops.HasCode(err, ops.CodeForbidden) || !strings.Contains(err.Error(), "uid 65534") {
		t.Errorf("asked it: %v", err)
	}
	if got.Len() > 0 {
		t.Errorf("the impostor got %q", got.String())
	}
}
