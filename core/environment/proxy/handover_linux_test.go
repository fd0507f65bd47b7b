package proxy

import (
	"bytes"
	"context"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gatewaytui/core/environment/proxy/hosts"
	"gatewaytui/core/environment/proxy/offer"
	"gatewaytui/fixtures/eventually"
)

// opened is a proxy with its socket, in a folder whose path is longer than a socket's may be.
func opened(t *testing.T, w *world, change func(*Options)) *Proxy {
	t.Helper()
	listed, err := hosts.Parse([]string{"pypi.org"})
	if err != nil {
		t.Fatal(err)
	}
	opts := Options{Hosts: listed, Key: "environments.box.network", Resolve: w.resolve, Dial: w.dial}
	if change != nil {
		change(&opts)
	}
	folder := filepath.Join(t.TempDir(), strings.Repeat("long/", 20))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := Open(filepath.Join(folder, "proxy"), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := p.Close(ctx); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(p.folder); !os.IsNotExist(err) {
			t.Errorf("the folder is left: %v", err)
		}
	})
	return p
}

// sandboxed is a command in a network namespace of its own, whose way out is p.
func sandboxed(t *testing.T, p *Proxy, argv ...string) *exec.Cmd {
	t.Helper()
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		t.Skip("runs where bubblewrap is installed")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{
		"--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/run",
		"--bind", p.folder, "/run/proxy", "--ro-bind", self, "/run/self", "--",
	}
	if out, err := exec.Command(bwrap, append(args, "true")...).CombinedOutput(); err != nil {
		t.Skipf("runs where bubblewrap works: %v: %s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, bwrap, append(args, offer.Argv("/run/self", "/run/proxy/"+socketName, argv)...)...)
}

func TestTR6_CurlInASandboxReachesTheHostsOfTheList(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("runs where curl is installed")
	}
	for _, tt := range []struct {
		name string
		tls  bool
		args []string
		says string
		code int
	}{
		{"plain", false, []string{"http://pypi.org/simple"}, "GET pypi.org /simple", 0},
		{"TLS", true, []string{"-k", "https://pypi.org/simple"}, "GET pypi.org /simple", 0},
		{"plain to another host", false, []string{"http://evil.example/"}, "the host evil.example is not on the list of this environment", 0},
		{"TLS to another host", true, []string{"-kv", "https://evil.example/"}, "403 the host evil.example is not on the list of this environment", 56},
		{"around the proxy", false, []string{"--noproxy", "*", "http://93.184.215.14/"}, "", 7},
		{"a name without the proxy", false, []string{"--noproxy", "*", "http://pypi.org/"}, "", 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := opened(t, newWorld(t, tt.tls), nil)
			cmd := sandboxed(t, p, append([]string{curl, "-sS"}, tt.args...)...)
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != tt.code || !strings.Contains(string(out), tt.says) {
				t.Errorf("exit %d, want %d:\n%s", code, tt.code, out)
			}
			eventually.True(t, "the listener is closed with the command", func() bool {
				p.mu.Lock()
				defer p.mu.Unlock()
				return p.listeners == 0
			})
		})
	}
}

// Clients such as pip show the status line of an answer to CONNECT, and nothing else of it.
func TestTR6_AClientOfPythonShowsWhichHostIsMissing(t *testing.T) {
	python := "/usr/bin/python3"
	if _, err := os.Stat(python); err != nil {
		t.Skip("runs where the system has python3")
	}
	p := opened(t, newWorld(t, false), nil)
	cmd := sandboxed(t, p, python, "-c", "import urllib.request; urllib.request.urlopen('https://other.example/simple')")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "Tunnel connection failed: 403 the host other.example is not on the list") {
		t.Errorf("%v: %s", err, out)
	}
}

// The process that hands the listener over is the command, with its own signals and exit code.
func TestTR6_TheCommandIsTheProcessThatWasStarted(t *testing.T) {
	p := opened(t, newWorld(t, false), nil)
	argv := offer.Argv("/proc/self/exe", p.folder+"/"+socketName, []string{"sh", "-c", "echo $$ $http_proxy $NO_PROXY $NODE_USE_ENV_PROXY; kill -TERM $$"})
	cmd := exec.Command(argv[0], argv[1:]...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Env = append(os.Environ(), "HTTPS_PROXY=http://elsewhere", "no_proxy=*")
	_ = cmd.Run()
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	fields := strings.Fields(out.String())
	if status.Signal() != syscall.SIGTERM || len(fields) != 4 || fields[0] != strconv.Itoa(cmd.Process.Pid) || !strings.HasPrefix(fields[1], "http://127.0.0.1:") || fields[2] != "localhost,127.0.0.1,::1" {
		t.Errorf("%v: %q", cmd.ProcessState, out.String())
	}
}

func TestTR6_WithoutItsProxyACommandDoesNotStart(t *testing.T) {
	p := opened(t, newWorld(t, false), nil)
	p.mu.Lock()
	p.listeners = listenersMost
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.listeners = 0
		p.mu.Unlock()
	}()
	for name, socket := range map[string]string{"refused: too many commands": p.folder + "/" + socketName, "connect to the gateway's proxy: no such file": p.folder + "/none", "find the gateway's proxy: no such file": "/nonexistent/proxy"} {
		argv := offer.Argv("/proc/self/exe", socket, []string{"echo", "ran"})
		out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		if err == nil || strings.Contains(string(out), "ran") || !strings.Contains(string(out), name) {
			t.Errorf("%v: %s", err, out)
		}
	}
}

// What a hostile command hands over instead of a listener is refused and closed.
func TestTR6_OnlyAListenerOfTheLoopbackIsTaken(t *testing.T) {
	everywhere, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer everywhere.Close()
	six, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skip("runs where the machine has IPv6")
	}
	defer six.Close()
	datagrams, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer datagrams.Close()
	server := httptest.NewServer(nil)
	defer server.Close()
	connected, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connected.Close()
	file := func(c interface{ File() (*os.File, error) }) []int {
		f, err := c.File()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return []int{int(f.Fd())}
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for name, fds := range map[string][]int{
		"nothing": nil, "a file": {int(null.Fd())}, "two files": {int(null.Fd()), int(null.Fd())}, "a listener on every address": file(everywhere.(*net.TCPListener)),
		"a listener on ::1": file(six.(*net.TCPListener)), "a datagram socket": file(datagrams.(*net.UDPConn)), "a connection": file(connected.(*net.TCPConn)),
	} {
		t.Run(name, func(t *testing.T) {
			p := opened(t, newWorld(t, false), nil)
			dir, err := os.Open(p.folder)
			if err != nil {
				t.Fatal(err)
			}
			defer dir.Close()
			way, err := net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: "/proc/self/fd/" + strconv.Itoa(int(dir.Fd())) + "/" + socketName})
			if err != nil {
				t.Fatal(err)
			}
			defer way.Close()
			var oob []byte
			if fds != nil {
				oob = unix.UnixRights(fds...)
			}
			if _, _, err := way.WriteMsgUnix([]byte{1}, oob, nil); err != nil {
				t.Fatal(err)
			}
			_ = way.SetReadDeadline(time.Now().Add(5 * time.Second))
			if n, err := way.Read(make([]byte, 1)); n != 0 || os.IsTimeout(err) {
				t.Errorf("it is taken: %v", err)
			}
		})
	}
}
