package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/shortdir"
)

// connector is what this test binary does as another process: it connects the socket that it has inherited, and ends.
func connector(path string) int {
	if err := unix.Connect(3, &unix.SockaddrUnix{Name: path}); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// toolOf makes every caller a tool of a session.
func toolOf(session string) func(*Options) {
	return func(o *Options) { o.Tool = func(int) (string, bool, error) { return session, true, nil } }
}

// ask sends one request as this process.
func ask(t *testing.T, r *running, method, path string) (status int, e ops.Error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://gw"+path, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := r.client.http.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 400 {
		var f failure
		if err := json.NewDecoder(resp.Body).Decode(&f); err != nil || f.Error == nil {
			t.Fatalf("%s %s: %s without an error: %v", method, path, resp.Status, err)
		}
		e = *f.Error
	}
	return resp.StatusCode, e
}

// HF7: of all that the socket serves, a tool gets the status, the probes, a stop and a restart. Everything else is refused with
// a sentence, before anything is done.
func TestHF7_AToolMayAskForTheStatusAndAStopAlone(t *testing.T) {
	f := newFake()
	recorded := map[string]bool{}
	r := serve(t, f, toolOf("api:user:bob"), func(o *Options) {
		o.ToolRefused = func(by ops.Actor, call, target string) {
			if want := (ops.Actor{Via: "socket", UID: os.Geteuid(), PID: os.Getpid(), TTY: by.TTY, Tool: true, Session: "api:user:bob"}); by != want {
				t.Errorf("%s was recorded as asked by %+v", call, by)
			}
			recorded[call+" of "+target] = true
		}
	})
	allowed := map[string]bool{
		"GET /v1/status": true, "GET /healthz": true, "GET /readyz": true, "POST /v1/stop": true, "POST /v1/restart": true,
	}
	seen := 0
	for _, rt := range r.server.routes {
		path := strings.NewReplacer("{target}", "7", "{rest...}", "heap").Replace(rt.path)
		status, e := ask(t, r, rt.method, path)
		switch {
		case allowed[rt.method+" "+rt.path]:
			if seen++; status >= 300 {
				t.Errorf("%s %s: %d %+v", rt.method, path, status, e)
			}
		case status != http.StatusForbidden || e.Code != ops.CodeToolCaller || e.Message == "" || e.Hint == "":
			t.Errorf("%s %s: %d %+v", rt.method, path, status, e)
		default:
			of := ""
			if strings.Contains(rt.path, "{target}") {
				of = "7"
			}
			if call := rt.method + " " + strings.TrimSuffix(rt.path, "{rest...}") + " of " + of; !recorded[call] {
				t.Errorf("%s is not recorded for the audit", call)
			}
		}
	}
	if seen != len(allowed) {
		t.Errorf("%d of the calls that are allowed are served", seen)
	}
	for _, cmd := range f.commands() {
		want := ops.Actor{Via: "socket", UID: os.Geteuid(), PID: os.Getpid(), TTY: cmd.By.TTY, Tool: true, Session: "api:user:bob"}
		if cmd.Verb != ops.VerbStop && cmd.Verb != ops.VerbRestart || cmd.By != want {
			t.Errorf("done: %s by %+v", cmd.Verb, cmd.By)
		}
	}
}

// HF7, A5, H11: who asks is what the kernel and the registry say, and never what the caller's environment says.
func TestHF7_TheEnvironmentMakesNoCallerATool(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := newFake()
	var asked []int
	r := serve(t, f, func(o *Options) {
		o.Tool = func(pid int) (string, bool, error) {
			asked = append(asked, pid)
			return "", false, nil
		}
	})
	out, pid := runProbe(t, self, r.path, nil, "GATEWAYTUI_LIFE=01LIFE", "GATEWAYTUI_SESSION=api:user:bob")
	if !strings.Contains(out, "202 Accepted") {
		t.Fatalf("refused: %s", out)
	}
	got := f.commands()[0].By
	want := ops.Actor{Via: "socket", UID: os.Geteuid(), PID: pid, TTY: got.TTY}
	if got != want {
		t.Errorf("asked by %+v, want %+v", got, want)
	}
	if len(asked) == 0 || asked[0] != pid {
		t.Errorf("whether a process is a tool was asked of pids %v, pid %d connected", asked, pid)
	}
}

// A caller is refused while it is unknown whether it is a tool; the next request asks again.
func TestHF7_ACallerThatCannotBeIdentifiedIsRefused(t *testing.T) {
	unknown := errors.New("its parents end one after the other")
	r := serve(t, newFake(), func(o *Options) {
		o.Tool = func(int) (string, bool, error) { return "", false, unknown }
	})
	status, e := ask(t, r, "GET", "/v1/status")
	if status != http.StatusForbidden || e.Code != ops.CodeForbidden || !strings.Contains(e.Message, unknown.Error()) {
		t.Errorf("%d %+v", status, e)
	}
}

// A process that connects and ends before it is looked at leaves its connection to another one. Its owner is unknown,
// and its pid may have been reused: it is refused, for any answer of the registry.
func TestHF7_AConnectionOfAProcessThatEndedIsRefused(t *testing.T) {
	f := newFake()
	dir := shortdir.New(t)
	s := NewServer(Options{
		Console: f, Path: filepath.Join(dir, "control.sock"), Tool: func(int) (string, bool, error) { return "", false, nil },
	})
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "inherited")
	defer file.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = []string{"CONTROL_TEST_CONNECT=" + s.opt.Path, "GORACE=atexit_sleep_ms=0"}
	cmd.ExtraFiles = []*os.File{file}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("connect: %v: %s", err, out)
	}
	conn, err := net.FileConn(file)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	t.Cleanup(func() { stop(); <-served })
	if _, err := fmt.Fprint(conn, "POST /v1/drain HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(answer); !strings.Contains(got, "403 Forbidden") || !strings.Contains(got, "has ended") {
		t.Errorf("answered %q", got)
	}
	if did := f.commands(); len(did) > 0 {
		t.Errorf("done: %+v", did)
	}
}

// A tool that asks again and again has one line in the log for each call.
func TestHF7_RefusalsOfToolsDoNotFillTheLog(t *testing.T) {
	var r refusals
	if !r.first("s", "GET /v1/snapshot") || r.first("s", "GET /v1/snapshot") || !r.first("s", "POST /v1/drain") || !r.first("t", "GET /v1/snapshot") {
		t.Error("the first refusal of a session's call is not the one that is named")
	}
	for i := range 2 * refusalsNamed {
		r.first(fmt.Sprint(i), "x")
	}
	if len(r.named) > refusalsNamed {
		t.Errorf("%d refusals are remembered", len(r.named))
	}
}
