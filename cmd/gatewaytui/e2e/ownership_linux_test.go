package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// spawnTo runs a gateway whose stderr is a file of the test's.
func spawnTo(t *testing.T, home string, stderr *os.File) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(binary, "--no-tui", "--home", home)
	cmd.Env = append(os.Environ(), "GATEWAYTUI_ADAPTERS_API_LISTEN=127.0.0.1:0")
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended where the test came to its end
	return cmd
}

// namedPID is a process id in a message.
var namedPID = regexp.MustCompile(`pid (\d+)`)

// B16, B19: of many that start at once one wins, and the others say which, with the code that no supervisor retries.
func TestB16_OfManyStartersOneWins(t *testing.T) {
	home := newHome(t)
	n := soak.Count(t, 20, 50)
	var mu sync.Mutex
	var losers []string
	codes := map[int]int{}
	winner := make(chan *exec.Cmd, n)
	var all sync.WaitGroup
	for range n {
		cmd := exec.Command(binary, "--no-tui", "--home", home)
		cmd.Env = append(os.Environ(), "GATEWAYTUI_ADAPTERS_API_LISTEN=127.0.0.1:0")
		var out strings.Builder
		cmd.Stderr = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		all.Go(func() {
			_ = cmd.Wait() // its code is asked of cmd
			mu.Lock()
			defer mu.Unlock()
			codes[cmd.ProcessState.ExitCode()]++
			if cmd.ProcessState.ExitCode() == 69 {
				losers = append(losers, out.String())
			} else {
				winner <- cmd
			}
		})
	}
	eventually.True(t, "all but one have ended", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return codes[69] == n-1
	})
	isUp(t, home) // the winner may still be starting
	late := spawn(t, home, "")
	if code := late.exit(); code != 69 {
		t.Errorf("one that starts later ended with %d", code)
	}
	if out, code := verb(t, home, "stop", "--wait", "--yes"); code != 0 {
		t.Fatalf("stop: %d %s", code, out)
	}
	all.Wait()
	pid := (<-winner).Process.Pid
	if said := late.output(); !strings.Contains(said, fmt.Sprint(pid)) {
		t.Errorf("one that starts later does not name pid %d: %s", pid, said)
	}
	for _, text := range losers {
		if !strings.Contains(text, "gatewaytui attach") {
			t.Fatalf("a loser does not say what to do: %s", text)
		}
		// One that gave up before the winner had written its pid file cannot name it, and must not name another.
		for _, m := range namedPID.FindAllStringSubmatch(text, -1) {
			if m[1] != fmt.Sprint(pid) {
				t.Errorf("a loser names pid %s, and pid %d won: %s", m[1], pid, text)
			}
		}
	}
	if codes[0] != 1 {
		t.Fatalf("exit codes %v, want one 0", codes)
	}
}

// B1, B11: the gateway starts if and only if the lock is free, regardless of the pid file.
func TestB1_ThePIDFileNeverKeepsAGatewayFromStarting(t *testing.T) {
	t.Parallel() // it mostly waits
	foreign := exec.Command("sleep", "600")
	if err := foreign.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = foreign.Process.Kill(); _ = foreign.Wait() })
	record := func(pid int) string {
		return fmt.Sprintf(`{"pid":%d,"start_ticks":1,"boot_id":"x","life":"y","version":"1","started_at":"2026-01-01T00:00:00.000Z","control":""}`, pid)
	}
	for _, tc := range []struct{ name, text string }{
		{"missing", ""},
		{"empty", " "},
		{"garbage", "\x00\xff{{{"},
		{"of a dead process", record(4194000)},
		{"of a live process that is not ours", record(foreign.Process.Pid)},
		{"of this very process", record(os.Getpid())},
	} {
		t.Run("a pid file that is "+tc.name, func(t *testing.T) {
			home := newHome(t)
			put := func() {
				if tc.text == "" {
					if err := os.RemoveAll(filepath.Join(home, "gateway.pid")); err != nil {
						t.Fatal(err)
					}
					return
				}
				if err := os.WriteFile(filepath.Join(home, "gateway.pid"), []byte(strings.TrimSpace(tc.text)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			put()
			g := start(t, home, quick)
			put() // and while the lock is held
			second := spawn(t, home, quick)
			if code := second.exit(); code != 69 {
				t.Fatalf("a second gateway ended with %d, want 69", code)
			}
			if code, _ := g.stop(); code != 0 {
				t.Fatalf("exit code %d", code)
			}
		})
	}
	if !alive(foreign.Process.Pid) {
		t.Fatal("the foreign process was harmed")
	}
}

// B1: after a SIGKILL the next start needs no manual step, and says what happened.
func TestS8_B1_AKilledGatewayDoesNotKeepTheNextFromStarting(t *testing.T) {
	home := newHome(t)
	g := start(t, home, quick)
	if _, status := g.chat("a", "hello"); status != 200 {
		t.Fatal("no answer")
	}
	if err := g.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	g.exit()
	if out, code := verb(t, home, "status"); code != 3 {
		t.Fatalf("status of a killed gateway: %d %s", code, out)
	}
	next := start(t, home, quick)
	if out, code := next.verb("history", "--json"); code != 0 || !strings.Contains(out, `"crashed"`) {
		t.Fatalf("the history says %d %s", code, out)
	}
	if code, _ := next.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}

// B3: a port that is taken is tried again, and the rest runs.
func TestB3_APortThatIsTakenIsTriedAgain(t *testing.T) {
	first := start(t, newHome(t), quick)
	home := newHome(t)
	config := strings.Replace(quick, "[process]", "[adapters.api]\nlisten = \""+first.api+"\"\n[process]", 1)
	second := spawn(t, home, config)
	second.await("ready", func(l line) bool { return l.text("msg") == "ready" })
	out, code := second.verb("adapters")
	if code != 0 || !strings.Contains(out, "retrying") {
		t.Fatalf("adapters: %d %s", code, out)
	}
	if code, _ := first.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	eventually.True(t, "it has the port", func() bool { out, _ := second.verb("adapters"); return strings.Contains(out, "connected") })
	if code, _ := second.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}

// B13, B14: a home that was copied from a gateway that runs, pid file, database and all, is another home: its gateway starts,
// says so, and leaves what the first one runs alone.
func TestB13_ACopyOfARunningHomeIsAnotherHome(t *testing.T) {
	home := newHome(t)
	first := start(t, home, quick)
	pid := first.job("a", "sleep 1005")
	copied := filepath.Join(newHome(t), "copy")
	// The socket cannot be copied; what else there is must be.
	if out, err := exec.Command("cp", "-r", home, copied).CombinedOutput(); err != nil && !strings.Contains(string(out), "control.sock") {
		t.Fatalf("cp: %v %s", err, out)
	}
	second := start(t, copied, quick)
	eventually.True(t, "it has looked for what an earlier life left", func() bool {
		out, code := second.verb("status", "--json")
		return code == 0 && strings.Contains(out, `"home.copied"`)
	})
	if code, _ := second.stop(); code != 0 {
		t.Fatalf("the copy's ended with %d", code)
	}
	if !alive(pid) {
		t.Error("a process of the first home's was ended")
	}
	if out, code := first.verb("status", "--json"); code != 0 || !strings.Contains(out, first.life) || strings.Contains(out, "home.copied") {
		t.Errorf("the first says %d %s", code, out)
	}
	if code, _ := first.stop(); code != 0 {
		t.Fatalf("the first ended with %d", code)
	}
}
