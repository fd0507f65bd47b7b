package process

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gatewaytui/fixtures/eventually"
)

// connector is a line of bash that connects descriptor 3 to a listener of the test and becomes a sleep.
func connector(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d", l.Addr().(*net.TCPAddr).Port)
}

// socketAt is the inode of the socket that descriptor 3 of pid is.
func socketAt(t *testing.T, pid int) uint64 {
	t.Helper()
	name, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/3", pid))
	inode, parseErr := strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(name, "socket:["), "]"), 10, 64)
	if err != nil || parseErr != nil {
		t.Fatalf("descriptor 3 of %d is %q: %v, %v", pid, name, err, parseErr)
	}
	return inode
}

// HF1: a tool's socket is the tool's, after any change by the process that holds it.
func TestHF1_TheSocketOfAToolIsRecognised(t *testing.T) {
	levels(t, "processes of a tool", func(t *testing.T, level Containment) {
		for name, script := range map[string]string{
			"the leader": `%s; echo it=$$; exec sleep 1000`,
			"a daemon without an environment, in a session of its own": `env -i setsid -f bash -c '%s; echo it=$$; exec sleep 1000'; sleep 1000`,
			"a child that inherited it, when its parent has ended":     `%s; (echo it=$BASHPID; exec sleep 1000) & exit`,
		} {
			t.Run(name, func(t *testing.T) {
				r := registry(t, at(level))
				p := sh(t, r, fmt.Sprintf(script, connector(t)), func(s *Spec) { s.Session = "api:user:bob" })
				it := said(t, p, "it")
				becomes(t, it, "sleep")
				if strings.Contains(name, "ended") {
					eventually.True(t, "its leader has ended", func() bool { _, ended := p.Exited(); return ended })
				}
				owner, tracked, err := r.SocketOwner(t.Context(), os.Geteuid(), socketAt(t, it.PID), 0)
				if err != nil || !tracked || owner.Session != "api:user:bob" {
					t.Errorf("%+v, %t, %v", owner, tracked, err)
				}
				if p.tree.dir == "" {
					return
				}
				// What the socket was made in decides, also if no holder is seen.
				var st unix.Stat_t
				if err := unix.Stat(p.tree.dir, &st); err != nil {
					t.Fatal(err)
				}
				if owner, tracked, err := r.SocketOwner(t.Context(), os.Geteuid(), 1, st.Ino); err != nil || !tracked || owner.Session != "api:user:bob" {
					t.Errorf("by its group: %+v, %t, %v", owner, tracked, err)
				}
			})
		}
	})
}

// A socket that a process from outside holds is not a tool's, and one without a visible holder is not from outside.
func TestHF1_ASocketFromOutsideIsRecognised(t *testing.T) {
	client := exec.Command("bash", "-c", connector(t)+"; exec sleep 1000")
	if err := client.Start(); err != nil { // before the registry is open: it is not below the gateway for it
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Process.Kill(); _ = client.Wait() })
	is := ident{PID: client.Process.Pid}
	eventually.True(t, "it has connected", func() bool {
		name, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/3", is.PID))
		return strings.HasPrefix(name, "socket:[")
	})
	inode := socketAt(t, is.PID)
	r := registry(t)
	const unheld = 1 << 40 // inodes of sockets have 32 bits
	if _, tracked, err := r.SocketOwner(t.Context(), os.Geteuid(), unheld, 0); tracked || err != nil {
		t.Errorf("while nothing is tracked: %t, %v", tracked, err)
	}
	ready(t, sh(t, r, "echo ready; exec sleep 1000"))
	for range 2 { // by search, and by memory
		if owner, tracked, err := r.SocketOwner(t.Context(), os.Geteuid(), inode, 0); tracked || err != nil {
			t.Errorf("%+v, %t, %v", owner, tracked, err)
		}
	}
	if _, tracked, err := r.SocketOwner(t.Context(), os.Geteuid(), unheld, 0); tracked || err == nil {
		t.Errorf("a socket without a holder: %t, %v", tracked, err)
	}
	if _, tracked, err := r.trackedHolder(t.Context(), unheld); tracked || err != nil {
		t.Errorf("among the tracked processes, which can all be looked into: %t, %v", tracked, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, tracked, err := r.SocketOwner(ended, os.Geteuid(), unheld, 0); tracked || err == nil {
		t.Errorf("when there is no time: %t, %v", tracked, err)
	}
}

func TestNewestFirst(t *testing.T) {
	child := exec.Command("sleep", "1000")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	pids := []int{1, child.Process.Pid, 1<<22 + 1, 2, 1<<22 + 2}
	newestFirst(pids)
	want := []int{child.Process.Pid, 2, 1, 1<<22 + 2, 1<<22 + 1}
	if fmt.Sprint(pids) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", pids, want)
	}
}

// What a look at the holder of a client's socket costs, while a tool runs.
func BenchmarkSocketOwner(b *testing.B) {
	client := exec.Command("bash", "-c", "exec 3<>/dev/udp/127.0.0.1/9; echo; exec sleep 1000")
	out, err := client.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := client.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = client.Process.Kill(); _ = client.Wait() }()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		b.Fatal(err)
	}
	name, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/3", client.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	inode, _ := strconv.ParseUint(strings.Trim(name, "socket:[]"), 10, 64)
	r := registry(b)
	ready(b, sh(b, r, "echo ready; exec sleep 1000"))
	ctx, cancel := context.WithTimeout(b.Context(), time.Hour)
	defer cancel()
	for _, known := range []bool{false, true} {
		b.Run(fmt.Sprintf("known=%t", known), func(b *testing.B) {
			for b.Loop() {
				if !known {
					r.mu.Lock()
					r.outside = nil
					r.mu.Unlock()
				}
				if _, tracked, err := r.SocketOwner(ctx, os.Geteuid(), inode, 0); tracked || err != nil {
					b.Fatal(tracked, err)
				}
			}
		})
	}
}
