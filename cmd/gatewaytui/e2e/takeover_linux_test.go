package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/syncbuf"
)

// S8, B2: --replace stops the one that holds the home, waits for it, and takes its place.
func TestS8_ReplaceTakesOver(t *testing.T) {
	t.Parallel() // it mostly waits
	home := newHome(t)
	first := start(t, home, quick)
	first.job("a", "trap '' TERM; while :; do sleep 1; done")
	first.say("waits", "hang")
	first.running("api:user:waits", "model call")
	next := start(t, home, quick, "--replace")
	if code := first.exit(); code != 0 {
		t.Fatalf("the first ended with %d", code)
	}
	if left := marked(t, first.life); len(left) > 0 {
		t.Fatalf("still running:\n%s", strings.Join(left, "\n"))
	}
	if reply, status := next.chat("a", "hello"); status != http.StatusOK {
		t.Fatalf("the next answers %d %q", status, reply)
	}
	if out, code := next.verb("history", "--json"); code != 0 || !strings.Contains(out, "replaced by pid") {
		t.Fatalf("the history says %d %s", code, out)
	}
	if code, _ := next.stop(); code != 0 {
		t.Fatalf("the next ended with %d", code)
	}
}

// B19: of ten that replace at once one wins, the others say which, and there is one takeover.
func TestB19_TenReplacementsMakeOneTakeover(t *testing.T) {
	t.Parallel() // it mostly waits
	home := newHome(t)
	first := start(t, home, longDrain())
	first.say("waits", "hang") // it drains until all ten have begun
	first.running("api:user:waits", "model call")
	var mu sync.Mutex
	codes := map[int]int{}
	var said []*syncbuf.Buffer
	var all sync.WaitGroup
	for range 10 {
		cmd := exec.Command(binary, "--no-tui", "--home", home, "--replace")
		cmd.Env = append(os.Environ(), "GATEWAYTUI_ADAPTERS_API_LISTEN=127.0.0.1:0", "XDG_CONFIG_HOME="+home)
		text := &syncbuf.Buffer{}
		cmd.Stderr, said = text, append(said, text)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		all.Go(func() {
			_ = cmd.Wait() // its code is asked of cmd
			mu.Lock()
			defer mu.Unlock()
			codes[cmd.ProcessState.ExitCode()]++
		})
	}
	eventually.True(t, "all ten have asked the first to stop", func() bool {
		return !slices.ContainsFunc(said, func(text *syncbuf.Buffer) bool { return !strings.Contains(text.String(), "replacing pid ") })
	})
	if out, code := first.verb("shutdown", "force", "--yes"); code != 0 {
		t.Fatalf("force: %d %s", code, out)
	}
	if code := first.exit(); code != 0 {
		t.Fatalf("the first ended with %d", code)
	}
	eventually.True(t, "nine have given up", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return codes[69] == 9
	})
	isUp(t, home)
	if out, code := verb(t, home, "history", "--json"); code != 0 || strings.Count(out, `"life":`) < 2 {
		t.Fatalf("history: %d %s", code, out)
	}
	if out, code := verb(t, home, "stop", "--wait", "--yes"); code != 0 {
		t.Fatalf("stop: %d %s", code, out)
	}
	all.Wait()
	if codes[0] != 1 || codes[69] != 9 {
		t.Fatalf("exit codes %v, want one 0 and nine 69", codes)
	}
}

// B5, B6: restart returns when another life answers, with the sessions of the last one.
func TestB6_RestartReturnsWhenTheNextLifeAnswers(t *testing.T) {
	t.Parallel() // it mostly waits
	home := newHome(t)
	first := start(t, home, quick)
	if reply, status := first.chat("a", "hello"); status != http.StatusOK {
		t.Fatalf("answered %d %q", status, reply)
	}
	began := time.Now()
	out, code := first.verb("restart", "--yes")
	if code != 0 || !strings.Contains(out, "restarted: life ") {
		log, _ := os.ReadFile(filepath.Join(home, "logs", "gateway.jsonl"))
		t.Fatalf("restart: %d %s\nthe log of both lives:\n%s", code, out, log)
	}
	if code := first.exit(); code != 75 {
		t.Fatalf("the first ended with %d, want 75", code)
	}
	t.Logf("restarted within %v", time.Since(began).Round(time.Millisecond))
	out, code = verb(t, home, "sessions")
	if code != 0 || !strings.Contains(out, "api:user:a") {
		t.Fatalf("the next life's sessions: %d %s", code, out)
	}
	if out, code := verb(t, home, "stop", "--wait", "--yes"); code != 0 {
		t.Fatalf("stop: %d %s", code, out)
	}
	if _, err := os.Stat(filepath.Join(home, "gateway.pid")); err == nil {
		t.Fatal("the pid file is left")
	}
}

// B2: while the one that holds the home takes its time, a replacement says who that is, in which phase it is, and
// what that waits for, and then starts.
func TestB2_AReplacementShowsWhatTheHolderWaitsFor(t *testing.T) {
	t.Parallel() // it mostly waits
	home := newHome(t)
	first := start(t, home, strings.Replace(quick, `drain_timeout = "2s"`, `drain_timeout = "8s"`, 1))
	first.say("waits", "hang")
	first.running("api:user:waits", "model call")
	next := start(t, home, quick, "--replace")
	if code := first.exit(); code != 0 {
		t.Fatalf("the first ended with %d", code)
	}
	said := next.output()
	for _, part := range []string{
		fmt.Sprintf("replacing pid %d, whose stop may take ", first.cmd.Process.Pid),
		fmt.Sprintf("pid %d is in phase drain for ", first.cmd.Process.Pid),
		"waits for turn api:user:waits",
	} {
		if !strings.Contains(said, part) {
			t.Errorf("it did not say %q", part)
		}
	}
	if code, _ := next.stop(); code != 0 {
		t.Fatalf("the next ended with %d", code)
	}
}

// B2: a holder that is stopped (SIGSTOP) sees no other signal. It is let go on, and then ends gracefully: what it has is
// kept, and what its tools started is gone.
func TestB2_AStoppedHolderIsLetGoOnAndReplaced(t *testing.T) {
	t.Parallel() // it mostly waits
	home := newHome(t)
	first := start(t, home, quick)
	if reply, status := first.chat("a", "hello"); status != http.StatusOK {
		t.Fatalf("answered %d %q", status, reply)
	}
	first.job("a", "trap '' TERM; while :; do sleep 1; done")
	first.signal(syscall.SIGSTOP)
	began := time.Now()
	next := start(t, home, quick, "--replace")
	took := time.Since(began)
	if code := first.exit(); code != 0 {
		t.Fatalf("the first ended with %d", code)
	}
	t.Logf("taken over within %v", took.Round(time.Millisecond))
	if left := marked(t, first.life); len(left) > 0 {
		t.Errorf("still running:\n%s", strings.Join(left, "\n"))
	}
	if said := next.output(); strings.Contains(said, "still holds the home") { // a rung of the ladder
		t.Errorf("it was ended by force:\n%s", said)
	}
	lives := history(t, home)
	if len(lives) != 2 || lives[1].Life != first.life || lives[1].Outcome != "clean" {
		t.Errorf("the lives are %+v, want the first one clean", lives)
	}
	if state := sessionState(t, home, "api:user:a"); state != "idle" {
		t.Errorf("the session is %q, want idle", state)
	}
	if code, _ := next.stop(); code != 0 {
		t.Fatalf("the next ended with %d", code)
	}
}

// H1: a gateway that is stopped (SIGSTOP) does not answer, and each verb that would end it says so within a bound, with
// what to do. The order is not carried out when it goes on.
func TestH1_AStoppedGatewayIsSaidNotToAnswer(t *testing.T) {
	t.Parallel() // it mostly waits
	g := start(t, newHome(t), quick)
	g.signal(syscall.SIGSTOP)
	t.Run("each", func(t *testing.T) {
		for _, line := range []string{"stop --yes", "stop --yes --wait", "stop", "restart --yes", "restart"} {
			t.Run(line, func(t *testing.T) {
				t.Parallel()
				began := time.Now()
				out, code := verb(t, g.home, strings.Fields(line)...)
				if took := time.Since(began); code != 3 || took > patience/2 { // it waits 5 s for an answer
					t.Errorf("it ended with %d after %v, want 3 after 5s", code, took)
				}
				for _, part := range []string{"does not answer", fmt.Sprintf("kill -CONT %d", g.cmd.Process.Pid)} {
					if !strings.Contains(out, part) {
						t.Errorf("it did not say %q: %s", part, out)
					}
				}
			})
		}
	})
	g.signal(syscall.SIGCONT)
	if reply, status := g.chat("a", "hello"); status != http.StatusOK {
		t.Fatalf("when it goes on it answers %d %q", status, reply)
	}
	var s struct{ State string }
	if g.socket(http.MethodGet, "/v1/status", nil, &s); s.State != "running" {
		t.Errorf("when it goes on it is %s", s.State)
	}
	if code, _ := g.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}

// B13: a pid file that was copied from another home names another home's gateway, which is neither asked nor signalled.
func TestB13_APIDFileOfAnotherHomeIsNotActedOn(t *testing.T) {
	t.Parallel() // it mostly waits
	neighbour := start(t, newHome(t), quick)
	home := newHome(t)
	g := start(t, home, quick)
	own, err := os.ReadFile(filepath.Join(home, "gateway.pid"))
	if err != nil {
		t.Fatal(err)
	}
	poison, err := os.ReadFile(filepath.Join(neighbour.home, "gateway.pid"))
	if err != nil {
		t.Fatal(err)
	}
	put := func(text []byte) {
		if err := os.WriteFile(filepath.Join(home, "gateway.pid"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(poison)
	next := spawn(t, home, quick, "--replace")
	if code := next.exit(); code != 69 {
		t.Errorf("the replacement ended with %d, want 69", code)
	}
	if out, code := g.verb("status", "--json"); code != 0 || !strings.Contains(out, g.life) {
		t.Errorf("who asks on this home is answered with %d %s", code, out)
	}
	for _, one := range []*gateway{neighbour, g} {
		if reply, status := one.chat("a", "hello"); status != http.StatusOK {
			t.Errorf("the gateway on %s answers %d %q", one.home, status, reply)
		}
	}
	put(own)
	next = start(t, home, quick, "--replace")
	if code := g.exit(); code != 0 {
		t.Errorf("with its own pid file back the gateway ended with %d", code)
	}
	put(poison)
	if out, code := next.verb("stop", "--yes"); code != 0 {
		t.Errorf("stop: %d %s", code, out)
	}
	if code := next.exit(); code != 0 {
		t.Errorf("the gateway that was to stop ended with %d", code)
	}
	if code, _ := neighbour.stop(); code != 0 {
		t.Errorf("the neighbour ended with %d", code)
	}
}

// B19: of ten that restart at once one does, and the others say so and wait for the same next life.
func TestB19_TenRestartsAreOne(t *testing.T) {
	t.Parallel() // it mostly waits
	t.Run("of a gateway that drains", func(t *testing.T) { tenRestarts(t, true) })
	t.Run("of one that is idle, and up again before the last has asked", func(t *testing.T) { tenRestarts(t, false) })
}

func tenRestarts(t *testing.T, drains bool) {
	home := newHome(t)
	first := start(t, home, quick)
	if drains {
		first.say("waits", "hang")
		first.running("api:user:waits", "model call")
	}
	type end struct {
		out  string
		code int
	}
	ends := make(chan end, 10)
	for range cap(ends) {
		go func() {
			out, code := verb(t, home, "restart", "--yes")
			ends <- end{out, code}
		}()
	}
	lives, joined := map[string]bool{}, 0
	for range cap(ends) {
		e := <-ends
		_, rest, found := strings.Cut(e.out, "restarted: life ")
		life, _, _ := strings.Cut(rest, ",")
		if e.code != 0 || !found {
			t.Fatalf("a restart ended with %d: %s", e.code, e.out)
		}
		lives[life] = true
		if strings.Contains(e.out, "already restarting (") || strings.Contains(e.out, " meanwhile\n") {
			joined++
		}
	}
	if code := first.exit(); code != 75 {
		t.Errorf("the first ended with %d, want 75", code)
	}
	var h struct{ Items []struct{ Life string } }
	out, code := verb(t, home, "history", "--json")
	if err := json.Unmarshal([]byte(out), &h); err != nil || code != 0 {
		t.Fatalf("history: %d %v %s", code, err, out)
	}
	if len(lives) != 1 || len(h.Items) != 2 || joined != 9 {
		t.Errorf("ten restarts brought %v, %d lives are in the history, %d said that it was asked for already", lives, len(h.Items), joined)
	}
	if out, code := verb(t, home, "stop", "--wait", "--yes"); code != 0 {
		t.Fatalf("stop: %d %s", code, out)
	}
}
