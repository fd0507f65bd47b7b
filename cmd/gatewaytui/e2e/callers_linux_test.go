package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
)

const otherUser = 65534

// needsUsers skips a test that starts programs of several users.
func needsUsers(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("runs as root: it starts programs of several users")
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("runs where there is curl")
	}
}

// answered is what a caller of the API gets.
type answered struct {
	status       int
	text         string // of the reply
	code, reason string // of the refusal
}

// saying is the body of a chat completion.
func saying(user, text string) string {
	b, _ := json.Marshal(map[string]any{"model": "any", "user": user, "messages": []map[string]string{{"role": "user", "content": text}}})
	return string(b)
}

func (g *gateway) url() string { return "http://" + g.api + "/v1/chat/completions" }

// curl is the argv of a request, whose answer ends with a line that is its status.
func curl(url, body string, header ...string) []string {
	argv := []string{"curl", "-s", "-m", "60", "-w", `\n%{http_code}\n`, "-H", "Content-Type: application/json", "-d", body}
	for _, h := range header {
		argv = append(argv, "-H", h)
	}
	return append(argv, url)
}

// askAs sends one request as another user's program.
func (g *gateway) askAs(uid uint32, body string, header ...string) answered {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	argv := curl(g.url(), body, header...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = "/"
	if int(uid) != os.Geteuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		g.t.Fatalf("curl as uid %d: %v\n%s", uid, err, out)
	}
	return parseAnswer(g.t, string(out))
}

func parseAnswer(t testing.TB, out string) (a answered) {
	t.Helper()
	out = strings.TrimSpace(out)
	i := strings.LastIndexByte(out, '\n')
	var body struct {
		Choices []struct{ Message struct{ Content string } }
		Error   struct{ Message, Code string }
	}
	if _, err := fmt.Sscan(out[i+1:], &a.status); err != nil || json.Unmarshal([]byte(out[:max(i, 0)]), &body) != nil {
		t.Fatalf("curl wrote %q", out)
	}
	if len(body.Choices) > 0 {
		a.text = body.Choices[0].Message.Content
	}
	a.code, a.reason = body.Error.Code, body.Error.Message
	return a
}

func (g *gateway) apiKey() string {
	g.t.Helper()
	b, err := os.ReadFile(filepath.Join(g.home, "api.key"))
	if err != nil {
		g.t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// callerOf is the caller in the row of a session.
func (g *gateway) callerOf(key string) *ops.Caller {
	g.t.Helper()
	var page struct{ Items []ops.Session }
	g.socket(http.MethodGet, "/v1/sessions", nil, &page)
	for _, s := range page.Items {
		if s.Key == key {
			return s.Caller
		}
	}
	g.t.Fatalf("there is no session %s: %+v", key, page.Items)
	return nil
}

// HF1: another user of the machine gets the shell of the gateway's user only with the key, and everyone sees who asked.
func TestHF1_AnotherUserNeedsTheKey(t *testing.T) {
	needsUsers(t)
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0"} {
		t.Run(listen, func(t *testing.T) {
			home := newHome(t)
			if l, err := net.Listen("tcp", listen); err != nil {
				t.Skipf("runs where %s can be listened on: %v", listen, err)
			} else {
				l.Close()
			}
			g := startUnder(t, `umask 0; exec "$@"`, home, fmt.Sprintf("[adapters.api]\nlisten = %q\n", listen))
			file := filepath.Join(home, "api.key")
			if fi, err := os.Lstat(file); err != nil || fi.Mode() != 0o600 {
				t.Fatalf("the key has mode %v, %v", fi, err)
			}
			key := g.apiKey()
			for name, header := range map[string][]string{"no key": nil, "a wrong key": {"Authorization: Bearer sk-no"}} {
				a := g.askAs(otherUser, saying("eve", "sh: id"), header...)
				if a.status != http.StatusUnauthorized || !strings.Contains(a.reason, file) || strings.Contains(a.reason, key) {
					t.Errorf("with %s another user got %+v", name, a)
				}
			}
			if a := g.askAs(otherUser, saying("eve", "echo with the key"), "Authorization: Bearer "+key, "X-Session-Key: eve"); a.text != "with the key" {
				t.Errorf("with the key another user got %+v", a)
			}
			if reply, status := g.chat("alice", "echo as root"); status != http.StatusOK || reply != "as root" {
				t.Errorf("our own user got %d %q", status, reply)
			}
			if by := g.callerOf("api:user:eve"); by == nil || *by != (ops.Caller{UID: otherUser, By: ops.ByKey}) {
				t.Errorf("the session of another user came from %+v", by)
			}
			if by := g.callerOf("api:user:alice"); by == nil || *by != (ops.Caller{UID: 0, By: ops.ByKernel}) {
				t.Errorf("our own session came from %+v", by)
			}
			g.await("a turn with its caller", func(l line) bool {
				return l.text("msg") == "turn started" && l.text("session") == "api:user:eve" && l.text("caller") == "uid 65534 with the key"
			})
			if out, code := g.verb("sessions", "-o", "wide"); code != 0 || !strings.Contains(out, "uid 65534 with the key") {
				t.Errorf("sessions -o wide, %d:\n%s", code, out)
			}
			if out, code := g.verb("status"); code != 0 || !strings.Contains(out, file) {
				t.Errorf("status does not tell where the key is, %d:\n%s", code, out)
			}
			var st ops.Status
			g.socket(http.MethodGet, "/v1/status", nil, &st)
			if a := st.APIAccess; a == nil || a.By != ops.ByKernel || a.KeyFile != file || a.UID != 0 {
				t.Errorf("the status has %+v", a)
			}
			if strings.Contains(g.output(), key) {
				t.Error("the key is in the log")
			}
			g.stop()
			next := start(t, home, "")
			if by := next.callerOf("api:user:eve"); by == nil || *by != (ops.Caller{UID: otherUser, By: ops.ByKey}) {
				t.Errorf("after a restart the session came from %+v", by)
			}
			if next.apiKey() != key {
				t.Error("the restart has another key")
			}
			next.stop()
		})
	}
}

// HF1: a gateway of one user serves that user and root, and no other.
func TestHF1_AGatewayOfAnotherUserServesItsOwnAndRoot(t *testing.T) {
	needsUsers(t)
	const owner = 65533
	home, bin := newHome(t), newHome(t)
	program := filepath.Join(bin, "gatewaytui")
	b, err := os.ReadFile(binary)
	if err == nil {
		err = os.WriteFile(program, b, 0o755)
	}
	for _, f := range []func() error{func() error { return err }, func() error { return os.Chmod(bin, 0o755) }, func() error { return os.Chown(home, owner, owner) }} {
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
	// The config is read before, as root.
	wrapper := fmt.Sprintf(`shift; cd /; exec env -u HOME setpriv --reuid %d --regid %d --clear-groups %s --no-tui --home %s`, owner, owner, program, home)
	g := startUnder(t, wrapper, home, "")
	for _, tt := range []struct {
		uid    uint32
		status int
	}{{owner, http.StatusOK}, {0, http.StatusOK}, {otherUser, http.StatusUnauthorized}} {
		if a := g.askAs(tt.uid, saying("eve", "echo hi")); a.status != tt.status {
			t.Errorf("uid %d got %+v, want %d", tt.uid, a, tt.status)
		}
	}
	a := g.askAs(owner, saying("bob", "sh: curl -s -m 60 -w '\\n%{http_code}\\n' -H 'Content-Type: application/json' -d '"+saying("eve", "echo x")+"' "+g.url()))
	if !strings.Contains(a.text, "tool_caller") {
		t.Errorf("a tool got %+v", a)
	}
	// While a tool runs, too.
	_ = g.askAs(owner, saying("bob", "bg: sleep 1000"), "X-Session-Key: bob")
	for _, uid := range []uint32{owner, 0} {
		if a := g.askAs(uid, saying("eve", "echo hi")); a.status != http.StatusOK {
			t.Errorf("next to a tool uid %d got %+v", uid, a)
		}
	}
	g.stop()
}

// HF1: a tool has the uid of the gateway and can read its key. It is refused all the same, in every form.
func TestHF1_AToolIsNotACallerOfTheAPI(t *testing.T) {
	t.Parallel() // it mostly waits
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("runs where there is curl")
	}
	forms := map[string]string{
		"a plain child":                     `bash %[1]s`,
		"a daemon without an environment":   `env -i PATH=$PATH setsid -w bash %[1]s`,
		"a child whose parents have ended":  `(env -i PATH=$PATH setsid bash -c 'bash %[1]s >%[1]s.part; mv %[1]s.part %[1]s.out' >/dev/null 2>&1 &); until test -e %[1]s.out; do sleep 0.1; done; cat %[1]s.out; rm %[1]s.out`,
		"root of a user namespace, if any":  `unshare -Ur true 2>/dev/null && exec unshare -Ur bash %[1]s; bash %[1]s`,
		"a child that inherited the socket": `bash %[1]s.inherit`,
	}
	for name, config := range map[string]string{"without a key": "", "with a key in the config": "[adapters.api]\nkey_env = \"OUTSIDE_API_KEY\"\n"} {
		t.Run(name, func(t *testing.T) {
			key := "the-key-of-the-config"
			g := startUnder(t, `OUTSIDE_API_KEY=`+key+` exec "$@"`, newHome(t), config)
			if config == "" {
				key = g.apiKey()
			} else if _, err := os.Stat(filepath.Join(g.home, "api.key")); err == nil {
				t.Error("an unused key was made")
			}
			auth := "Authorization: Bearer " + key
			for form, command := range forms {
				for which, header := range map[string][]string{"without the key": {"X-Session-Key: eve"}, "with the key": {auth, "X-Session-Key: eve"}} {
					file := filepath.Join(t.TempDir(), "ask")
					var line strings.Builder
					for _, a := range curl(g.url(), saying("eve", "echo a tool asked"), header...) {
						fmt.Fprintf(&line, " '%s'", a)
					}
					body := saying("eve", "echo a tool asked")
					plain := append([]string{"POST /v1/chat/completions HTTP/1.0", "Host: localhost", fmt.Sprintf("Content-Length: %d", len(body))}, header...)
					// The answer, and after it the status as curl writes it.
					inherit := fmt.Sprintf(`exec 3<>/dev/tcp/%[2]s
(setsid bash -c 'sleep 0.3; cat %[1]s.request >&3; cat <&3 >%[1]s.got 2>&1; mv %[1]s.got %[1]s.out' &)
exec 3>&-
until test -e %[1]s.out; do sleep 0.1; done
tail -n 1 %[1]s.out; head -n 1 %[1]s.out | cut -d' ' -f2; rm %[1]s.out
`, file, strings.Replace(g.api, ":", "/", 1))
					for at, text := range map[string]string{
						file: line.String() + "\n", file + ".inherit": inherit, file + ".request": strings.Join(plain, "\r\n") + "\r\n\r\n" + body,
					} {
						if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
							t.Fatal(err)
						}
					}
					a := g.askAs(uint32(os.Geteuid()), saying("bob", "sh: "+fmt.Sprintf(command, file)), auth)
					if got := parseAnswer(t, a.text); got.status != http.StatusForbidden || got.code != "tool_caller" {
						t.Errorf("%s %s got %+v", form, which, got)
					}
				}
			}
			var page struct{ Items []ops.Session }
			g.socket(http.MethodGet, "/v1/sessions", nil, &page)
			for _, s := range page.Items {
				if s.Key == "api:user:eve" {
					t.Errorf("a tool made the session %+v", s)
				}
			}
			g.stop()
		})
	}
}

// HF1: who a connection comes from does not change while it is kept, and is looked up again for the next one.
func TestHF1_AKeptConnectionKeepsItsCaller(t *testing.T) {
	needsUsers(t)
	g := start(t, newHome(t), "")
	argv := append(curl(g.url(), saying("eve", "echo hi")), g.url(), g.url())
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: otherUser, Gid: otherUser}}
	out, err := cmd.CombinedOutput()
	if n := strings.Count(string(out), "missing_api_key"); err != nil || n != 3 {
		t.Errorf("three requests of another user over one connection (%v): %s", err, out)
	}
	argv = append(curl(g.url(), saying("alice", "echo hi")), g.url(), g.url())
	out, err = exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if n := bytes.Count(out, []byte(`"content":"hi"`)); err != nil || n != 3 {
		t.Errorf("three requests of our own over one connection (%v): %s", err, out)
	}
	g.stop()
}

// HF1: a client that has gone when its request is looked at cannot be identified, and gets nothing done without the key.
func TestHF1_AClientThatHasGoneIsNotServed(t *testing.T) {
	if os.Geteuid() == 0 {
		// A socket without an owner has the uid 0: nothing is proved by a gateway that serves root otherwise.
		t.Log("the gateway runs as root")
	}
	g := start(t, newHome(t), "")
	body := saying("gone", "echo hi")
	stopped := g.cmd.Process.Pid
	if err := syscall.Kill(stopped, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "each thread of the gateway stands", func() bool { return standing(stopped) })
	nc, err := net.Dial("tcp", g.api)
	if err == nil {
		_, err = fmt.Fprintf(nc, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		nc.Close()
	}
	if kill := syscall.Kill(stopped, syscall.SIGCONT); err != nil || kill != nil {
		t.Fatal(err, kill)
	}
	g.await("the refusal", func(l line) bool {
		return l.text("msg") == "api request refused" && l.text("code") == "missing_api_key" && l.text("caller") == "unknown"
	})
	for _, l := range g.log() {
		if l.text("msg") == "turn started" {
			t.Errorf("a turn was started: %v", l)
		}
	}
	g.stop()
}

// standing reports whether SIGSTOP has reached every thread of a process (proc_pid_stat(5)): kill(2) returns before that.
func standing(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, file := range threads {
		stat, err := os.ReadFile(file)
		if err != nil || !strings.HasPrefix(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " T") {
			return false
		}
	}
	return len(threads) > 0
}
