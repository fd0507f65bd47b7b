package outside

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// S8, B2: --replace stops the one that holds the home, waits for it, and takes its place.
func TestS8_ReplaceTakesOver(t *testing.T) {
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
		t.Fatalf("left behind:\n%s", strings.Join(left, "\n"))
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
	home := newHome(t)
	first := start(t, home, quick)
	first.say("waits", "hang") // its drain takes so long that all ten have begun before the first of them has the home
	first.running("api:user:waits", "model call")
	var mu sync.Mutex
	codes := map[int]int{}
	var all sync.WaitGroup
	for range 10 {
		cmd := exec.Command(binary, "--no-tui", "--home", home, "--replace")
		cmd.Env = append(os.Environ(), "GATEWAYTUI_ADAPTERS_API_LISTEN=127.0.0.1:0", "XDG_CONFIG_HOME="+home)
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
	if code := first.exit(); code != 0 {
		t.Fatalf("the first ended with %d", code)
	}
	eventually(t, "nine have given up", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return codes[69] == 9
	})
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
	home := newHome(t)
	first := start(t, home, quick)
	if reply, status := first.chat("a", "hello"); status != http.StatusOK {
		t.Fatalf("answered %d %q", status, reply)
	}
	began := time.Now()
	out, code := first.verb("restart", "--yes")
	if code != 0 || !strings.Contains(out, "restarted: life ") {
		t.Fatalf("restart: %d %s", code, out)
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
