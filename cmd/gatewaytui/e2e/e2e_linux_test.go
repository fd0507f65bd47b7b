// Package e2e tests the built binary as its users meet it: by its signals, exit codes, control socket, HTTP API, log
// lines, files, and what it leaves in /proc. It looks into nothing.
package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gatewaytui/fixtures/acpagent"
	"gatewaytui/fixtures/docker"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/mcptest"
	"gatewaytui/fixtures/shortdir"
)

// patience is how long a test waits for what must come about on a machine that is busy with other tests.
const patience = 60 * time.Second

// binary is the program under test, built as the Makefile builds it.
var binary string

// waiting is how many of the tests that mostly wait run at the same time, unless -parallel says how many.
const waiting = "10"

func TestMain(m *testing.M) {
	docker.Play()
	acpagent.Play()
	if len(os.Args) > 1 && os.Args[1] == mcptest.Argument {
		mcptest.Main(os.Args[2:])
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == villageArgument {
		villagePlay(os.Args[2:])
		return
	}
	if code, is := attacker(os.Args); is {
		os.Exit(code)
	}
	if err := flag.Set("test.parallel", waiting); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	flag.Parse()
	if testing.Short() {
		fmt.Println("skipped by -short: every test here starts the built program; make test runs them")
		return
	}
	dir, err := os.MkdirTemp("", "gatewaytui-e2e")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// Under nohup SIGHUP is ignored here, and would be in every gateway. Who catches a signal hands on its default.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	binary = filepath.Join(dir, "gatewaytui")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, "gatewaytui/cmd/gatewaytui")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the program: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// trusting are the variables that let scripts run any command on the machine itself, where tests look for its processes and files. What
// the config says counts.
func trusting(config string) (env []string) {
	for key, variable := range map[string]string{
		"approvals = ": "GATEWAYTUI_AGENT_APPROVALS=off", "environment = ": "GATEWAYTUI_AGENT_ENVIRONMENT=local", "may_stop = ": "GATEWAYTUI_TOOLS_MAY_STOP=yes", "role = ": "GATEWAYTUI_ADAPTERS_API_ROLE=owner",
	} {
		if !strings.Contains(config, key) {
			env = append(env, variable)
		}
	}
	return env
}

// variables are what setenv gave, by the test.
var variables sync.Map // of testing.TB and []string

// setenv gives the gateways and verbs of t an environment variable. Unlike t.Setenv it lets t be parallel.
func setenv(t testing.TB, key, value string) {
	own, _ := variables.Load(t)
	given, _ := own.([]string)
	variables.Store(t, append(given, key+"="+value))
}

// environ is the environment of the gateways and verbs of t.
func environ(t testing.TB) []string {
	own, _ := variables.Load(t)
	given, _ := own.([]string)
	return append(os.Environ(), given...)
}

// newHome is an empty home whose path is short enough for a socket.
func newHome(t testing.TB) string {
	t.Helper()
	return shortdir.New(t)
}

// line is one log line on stderr.
type line map[string]any

func (l line) text(key string) string { s, _ := l[key].(string); return s }

func (l line) number(key string) float64 { n, _ := l[key].(float64); return n }

// gateway is a running gatewaytui --no-tui.
type gateway struct {
	t    testing.TB
	home string
	cmd  *exec.Cmd
	life string
	api  string // host:port

	exited chan struct{} // closed when the process is gone and its stderr is read to the end
	mu     sync.Mutex
	lines  []line
	raw    strings.Builder
	more   chan struct{}
}

// spawn starts the program on home with a config, and does not wait until it is ready.
func spawn(t testing.TB, home, config string, args ...string) *gateway {
	t.Helper()
	return spawnUnder(t, "", home, config, args...)
}

// spawnUnder is spawn through a line of bash that ends with exec "$@".
func spawnUnder(t testing.TB, wrapper, home, config string, args ...string) *gateway {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	g := &gateway{t: t, home: home, exited: make(chan struct{}), more: make(chan struct{})}
	argv := append([]string{binary, "--no-tui", "--home", home, "--config", file}, args...)
	if wrapper != "" {
		argv = append([]string{"bash", "-c", wrapper, "bash"}, argv...)
	}
	g.cmd = exec.Command(argv[0], argv[1:]...)
	g.cmd.Env = append(environ(t), trusting(config)...)
	if !strings.Contains(strings.ReplaceAll(config, "[metrics]\nlisten = ", ""), "listen = ") { // the API has no address of the test's own
		g.cmd.Env = append(g.cmd.Env, "GATEWAYTUI_ADAPTERS_API_LISTEN=127.0.0.1:0")
	}
	stderr, err := g.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(g.exited)
		for in := bufio.NewScanner(stderr); in.Scan(); {
			g.note(in.Text())
		}
		_ = g.cmd.Wait() // its exit code is asked of cmd
	}()
	t.Cleanup(func() {
		_ = g.cmd.Process.Kill() // it has ended already where the test came to its end
		<-g.exited
		if t.Failed() {
			t.Logf("the gateway on %s wrote:\n%s", home, g.output())
		}
	})
	return g
}

// start runs the program until it is ready.
func start(t testing.TB, home, config string, args ...string) *gateway {
	t.Helper()
	return startUnder(t, "", home, config, args...)
}

func startUnder(t testing.TB, wrapper, home, config string, args ...string) *gateway {
	t.Helper()
	g := spawnUnder(t, wrapper, home, config, args...)
	ready := g.await("ready", func(l line) bool { return l.text("msg") == "ready" })
	g.life, g.api = ready.text("life"), ready.text("api_listen")
	return g
}

func (g *gateway) note(text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.raw.WriteString(text + "\n")
	l := line{}
	if json.Unmarshal([]byte(text), &l) == nil {
		g.lines = append(g.lines, l)
	}
	close(g.more)
	g.more = make(chan struct{})
}

func (g *gateway) output() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.raw.String()
}

func (g *gateway) log() []line {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]line(nil), g.lines...)
}

// await waits for a log line.
func (g *gateway) await(what string, is func(line) bool) line {
	g.t.Helper()
	deadline := time.After(patience)
	for next := 0; ; {
		g.mu.Lock()
		lines, more := g.lines, g.more
		g.mu.Unlock()
		for ; next < len(lines); next++ {
			if is(lines[next]) {
				return lines[next]
			}
		}
		select {
		case <-more:
		case <-g.exited:
			if next == len(g.log()) {
				g.t.Fatalf("the gateway ended with %d without: %s\n%s", g.cmd.ProcessState.ExitCode(), what, g.output())
			}
		case <-deadline:
			g.t.Fatalf("waited %v in vain for: %s\n%s", patience, what, g.output())
		}
	}
}

// phase waits until a phase has a state.
func (g *gateway) phase(name, state string) line {
	g.t.Helper()
	return g.await("phase "+name+" "+state, func(l line) bool {
		return l.text("msg") == "shutdown.phase" && l.text("phase") == name && l.text("state") == state
	})
}

func (g *gateway) signal(sig syscall.Signal) {
	g.t.Helper()
	if err := g.cmd.Process.Signal(sig); err != nil {
		g.t.Fatalf("signal %v: %v", sig, err)
	}
}

// exit waits for the end and returns the exit code, or 128+n for a signal.
func (g *gateway) exit() int {
	g.t.Helper()
	select {
	case <-g.exited:
	case <-time.After(patience):
		g.t.Fatalf("the gateway did not end within %v\n%s", patience, g.output())
	}
	status, _ := g.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// stop sends SIGTERM and returns the exit code and what the stop took.
func (g *gateway) stop() (code int, took time.Duration) {
	g.t.Helper()
	began := time.Now()
	g.signal(syscall.SIGTERM)
	code = g.exit()
	return code, time.Since(began)
}

// verb runs a verb of the program against this gateway.
func (g *gateway) verb(args ...string) (out string, code int) {
	g.t.Helper()
	return verb(g.t, g.home, args...)
}

func verb(t testing.TB, home string, args ...string) (out string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var all bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, append(args, "--home", home)...)
	cmd.Stdout, cmd.Stderr, cmd.Env = &all, &all, environ(t)
	err := cmd.Run()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		t.Fatalf("run %q: %v", args, err)
	}
	return all.String(), cmd.ProcessState.ExitCode()
}

// socket asks the control socket.
func (g *gateway) socket(method, path string, body, into any) int {
	g.t.Helper()
	client := http.Client{Timeout: patience, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(g.home, "control.sock"))
		},
		DisableKeepAlives: true,
	}}
	return request(g.t, &client, method, "http://gateway"+path, body, into)
}

// request makes a request and reads the answer, which is JSON, into into; a *string takes it as it is.
func request(t testing.TB, client *http.Client, method, url string, body, into any) int {
	t.Helper()
	var in io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		in = bytes.NewReader(text)
	}
	req, err := http.NewRequest(method, url, in)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	switch into := into.(type) {
	case nil:
	case *string:
		*into = string(text)
	default:
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatalf("%s %s answered %s: %v", method, url, text, err)
		}
	}
	return res.StatusCode
}

// unread hides a command against the gateway from the fence, which would never let it run: these tests are about what holds behind the
// fence. A command that cannot be read before it runs is allowed, because their agents ask no one.
func unread(t testing.TB, home, text string) string {
	t.Helper()
	for _, tool := range []string{"sh: ", "bg: "} {
		command, is := strings.CutPrefix(text, tool)
		against := func(word string) bool { return strings.Contains(command, word) }
		if !is || !slices.ContainsFunc([]string{binary, home, "/proc/", "key"}, against) {
			continue
		}
		folder := filepath.Join(home, "work") // each environment sees it
		if _, err := os.Stat(folder); err != nil {
			folder = ""
		}
		file, err := os.CreateTemp(folder, "command-*")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Remove(file.Name()) })
		_, err = file.WriteString(command)
		if err := errors.Join(err, file.Chmod(0o644), file.Close()); err != nil {
			t.Fatal(err)
		}
		return tool + `eval "$(cat ` + file.Name() + `)"`
	}
	return text
}

// chat sends a message of user over HTTP and returns the answer with its status.
func (g *gateway) chat(user, text string) (reply string, status int) {
	g.t.Helper()
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
		Error   struct{ Message string }
	}
	client := http.Client{Timeout: 2 * patience}
	res, err := post(context.Background(), &client, g.api, user, asking(unread(g.t, g.home, text)))
	if err != nil {
		g.t.Fatalf("send a message of %s: %v", user, err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		g.t.Fatalf("read the answer to %s: %v", user, err)
	}
	status = res.StatusCode
	if len(answer.Choices) == 0 {
		return answer.Error.Message, status
	}
	return answer.Choices[0].Message.Content, status
}

// asking is the body of a chat completion with one message.
func asking(text string) []byte {
	body, _ := json.Marshal(map[string]any{"model": "any", "messages": []map[string]string{{"role": "user", "content": text}}}) // strings always encode
	return body
}

// post sends the body of a chat completion for the session api:user:NAME.
func post(ctx context.Context, client *http.Client, api, name string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+api+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Session-Key", name)
	return client.Do(req)
}

// say is chat for a message whose answer will not come before the stop. It returns what waits for it.
func (g *gateway) say(user, text string) (answered <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		res, err := post(context.Background(), http.DefaultClient, g.api, user, asking(unread(g.t, g.home, text)))
		if err == nil {
			res.Body.Close()
		}
	}()
	g.t.Cleanup(func() { <-done })
	return done
}

// job starts a background command through the agent of user and returns the pid that the program tells.
func (g *gateway) job(user, command string) int {
	g.t.Helper()
	reply, status := g.chat(user, "bg: "+command)
	_, rest, _ := strings.Cut(reply, "pid ")
	number, _, _ := strings.Cut(rest, ".")
	pid, err := strconv.Atoi(number)
	if err != nil || status != http.StatusOK {
		g.t.Fatalf("the background command was answered with %d %q", status, reply)
	}
	return pid
}

// running waits until a session has a running turn that does what.
func (g *gateway) running(key, what string) {
	g.t.Helper()
	type row struct{ Key, State, Doing string }
	var page struct{ Items []row }
	if !eventually.Within(func() bool {
		page.Items = nil
		g.socket(http.MethodGet, "/v1/sessions?limit=500", nil, &page)
		return slices.ContainsFunc(page.Items, func(s row) bool {
			return s.Key == key && s.State == "running" && strings.HasPrefix(s.Doing, what)
		})
	}) {
		g.t.Fatalf("session %s does not come to %q: %+v", key, what, page.Items)
	}
}

// marked are the live processes that carry a life's mark, as "pid command".
func marked(t testing.TB, life string) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		env, err := os.ReadFile("/proc/" + e.Name() + "/environ")
		if err != nil || !bytes.Contains(env, []byte("GATEWAYTUI_LIFE="+life)) {
			continue
		}
		if command, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline"); len(command) > 0 { // a zombie has none
			found = append(found, e.Name()+" "+strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return found
}

func alive(pid int) bool {
	command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && len(command) > 0
}
