package instance

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/peer"
)

// roleVariable makes the test binary play a process that the tests look at from outside.
const roleVariable = "INSTANCE_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(play(role, os.Args[len(os.Args)-1]))
	}
	goleak.VerifyTestMain(m)
}

// play acquires the home dir, says what came of it, and holds it until its stdin ends. Its role is "start", or the umask
// to do it under.
func play(role, dir string) int {
	if mask, ok := strings.CutPrefix(role, "umask "); ok {
		var n int
		_, _ = fmt.Sscanf(mask, "%o", &n)
		syscall.Umask(n)
	}
	h, err := Open(dir)
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	l, err := h.Acquire(Record{Life: fmt.Sprintf("life-%d", os.Getpid()), Version: "1.2.3", StartedAt: ops.At(time.Now()), Control: h.Socket()})
	if held, ok := errors.AsType[*HeldError](err); ok {
		fmt.Printf("held by %d: %s\n", held.Holder.PID, held)
		return 69
	}
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	if err := h.WriteMarker(Marker{Life: "l", At: ops.At(time.Now())}); err != nil {
		fmt.Println("error:", err)
		return 1
	}
	fmt.Println("won")
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := l.Release(); err != nil {
		fmt.Println("error:", err)
		return 1
	}
	return 0
}

// launch starts the test binary in a role on the home dir. change, if there is one, changes its command.
func launch(t *testing.T, role, dir string, change func(*exec.Cmd)) *peer.Program {
	t.Helper()
	cmd := exec.Command(os.Args[0], dir)
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	if change != nil {
		change(cmd)
	}
	return peer.Start(t, cmd)
}

func open(t *testing.T, dir string) *Home {
	t.Helper()
	h, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func acquire(t *testing.T, h *Home) *Lock {
	t.Helper()
	l, err := h.Acquire(sample())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Release(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func sample() Record {
	return Record{Life: "01LIFE", Version: "1.2.3", StartedAt: ops.At(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)), Control: "/run/x.sock"}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	fi, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return fi.Mode().Perm()
}
