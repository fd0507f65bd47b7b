package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gatewaytui/fixtures/eventually"
)

// past is a life as the history shows it.
type past struct {
	Life, Outcome, Phase string
	PID                  int
}

// history is every life of a home, newest first, as the gateway that runs there tells it.
func history(t *testing.T, home string) []past {
	t.Helper()
	out, code := verb(t, home, "history", "--json")
	var h struct{ Items []past }
	if err := json.Unmarshal([]byte(out), &h); code != 0 || err != nil {
		t.Fatalf("history: %d %v %s", code, err, out)
	}
	return h.Items
}

// parentOf is the parent of a process; 0 if it is gone.
func parentOf(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	var state string
	var parent int
	if _, err := fmt.Sscan(string(text[strings.LastIndexByte(string(text), ')')+1:]), &state, &parent); err != nil {
		return 0
	}
	return parent
}

// sessionState is the state of a session as the gateway on home tells it.
func sessionState(t *testing.T, home, key string) string {
	t.Helper()
	out, code := verb(t, home, "sessions", "--json")
	var page struct{ Items []struct{ Key, State string } }
	if err := json.Unmarshal([]byte(out), &page); code != 0 || err != nil {
		t.Fatalf("sessions: %d %v %s", code, err, out)
	}
	for _, s := range page.Items {
		if s.Key == key {
			return s.State
		}
	}
	return ""
}

func stopAt(t *testing.T, home string) {
	t.Helper()
	if out, code := verb(t, home, "stop", "--wait", "--yes"); code != 0 {
		t.Fatalf("stop: %d %s", code, out)
	}
}

// B7: a restart that a tool of the gateway asks for brings exactly one next life, however the tool hides; that life is not
// a child of anything that the restart ended, and the turn that asked is marked as what it is.
func TestB7_ARestartFromInsideBringsOneNextLife(t *testing.T) {
	t.Parallel() // it mostly waits
	const restart = "restart --yes >said 2>&1"
	for _, tc := range []struct{ name, message, state string }{
		{"in the foreground", "sh: GW " + restart, "interrupted"},
		{"in the foreground, and the tool would go on", "sh: GW " + restart + " & sleep 300", "interrupted"},
		{"in the background", "bg: GW " + restart, "idle"},
		{"by a daemon without an environment", "sh: (setsid env -i GW " + restart + " &); sleep 300", "interrupted"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			home := newHome(t)
			g := start(t, home, quick)
			g.say("asker", strings.ReplaceAll(tc.message, "GW", binary+" --home "+home))
			if code := g.exit(); code != 75 {
				t.Fatalf("the gateway ended with %d, want 75", code)
			}
			t.Cleanup(func() { _, _ = verb(t, home, "stop", "--wait", "--yes") }) // it is not a child of this test
			// The control socket answers before the store is open. A gateway that runs is in the history.
			isUp(t, home)
			lives := history(t, home)
			if len(lives) != 2 || lives[0].Life == g.life || lives[1].Life != g.life || lives[1].Outcome != "clean" {
				t.Fatalf("the lives are %+v, want the next one and %s, which ended clean", lives, g.life)
			}
			if left := marked(t, g.life); len(left) > 0 {
				t.Errorf("still running:\n%s", strings.Join(left, "\n"))
			}
			env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", lives[0].PID))
			if err != nil || strings.Contains(string(env), "GATEWAYTUI_LIFE=") || parentOf(lives[0].PID) == g.cmd.Process.Pid {
				t.Errorf("the next life, below pid %d, bears the marks of the last one: %v", parentOf(lives[0].PID), err)
			}
			said, err := os.ReadFile(filepath.Join(home, "work", "said"))
			if err != nil || !strings.Contains(string(said), "the gateway starts its next life itself") {
				t.Errorf("the tool was not informed: %v %q", err, said)
			}
			if state := sessionState(t, home, "api:user:asker"); state != tc.state {
				t.Errorf("the session that asked is %q, want %q", state, tc.state)
			}
			stopAt(t, home)
		})
	}
}

// B7: a replacement that a tool of the gateway starts would end with what it replaces: it is refused, and nothing is done.
func TestB7_AReplacementFromInsideIsRefused(t *testing.T) {
	for _, tc := range []struct{ name, message string }{
		{"in the foreground", "sh: GW; echo code $?"},
		{"by a daemon without an environment", "sh: (setsid env -i GW >out 2>&1; echo code $? >>out) & wait; cat out"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			home := newHome(t)
			g := start(t, home, quick)
			reply, status := g.chat("asker", strings.ReplaceAll(tc.message, "GW", binary+" --home "+home+" --no-tui --replace 2>&1"))
			if status != http.StatusOK || !strings.Contains(reply, "nothing was done") || !strings.Contains(reply, "gatewaytui restart") || !strings.Contains(reply, "code 69") {
				t.Fatalf("answered %d %q", status, reply)
			}
			if lives := history(t, home); len(lives) != 1 {
				t.Fatalf("the lives are %+v", lives)
			}
			if code, _ := g.stop(); code != 0 {
				t.Fatalf("exit code %d", code)
			}
		})
	}
}

// B7: a stop that a background process asks for ends the gateway with that process, and is whole.
func TestB7_AStopFromInsideIsWhole(t *testing.T) {
	t.Parallel() // it mostly waits
	for _, command := range []string{"stop --yes", "stop --yes --wait", "stop --yes --mode fast"} {
		t.Run(command, func(t *testing.T) {
			home := newHome(t)
			g := start(t, home, quick)
			g.job("asker", "trap '' TERM; "+binary+" --home "+home+" "+command+"; sleep 300")
			if code := g.exit(); code != 0 {
				t.Fatalf("exit code %d", code)
			}
			if left := marked(t, g.life); len(left) > 0 {
				t.Errorf("still running:\n%s", strings.Join(left, "\n"))
			}
			next := start(t, home, quick)
			if lives := history(t, home); len(lives) != 2 || lives[1].Outcome != "clean" {
				t.Errorf("the lives are %+v", lives)
			}
			if code, _ := next.stop(); code != 0 {
				t.Fatalf("exit code %d", code)
			}
		})
	}
}

// B8, D19: of a life that was killed in the middle of a tool call that stops it, the next one shows the turn as
// interrupted and the last step that is known. It does not run the call again: not at the start, and not with the next
// message.
func TestB8_AnUnfinishedStopIsNotRunAgain(t *testing.T) {
	t.Parallel() // it mostly waits
	for _, tc := range []struct{ name, command, outcome string }{
		{"killed before the stop was asked for", "echo ran >>times; sleep 300; GW stop --yes", "crashed"},
		{"killed while the stop waited", "echo ran >>times; GW stop --yes --wait", "cut_short"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			home := newHome(t)
			g := start(t, home, longDrain())
			g.say("other", "hang") // what the stop waits for
			g.running("api:user:other", "model call")
			g.say("asker", "sh: "+strings.ReplaceAll(tc.command, "GW", binary+" --home "+home))
			times := filepath.Join(home, "work", "times")
			eventually.True(t, "the call runs", func() bool { text, _ := os.ReadFile(times); return string(text) == "ran\n" })
			if tc.outcome == "cut_short" {
				g.phase("drain", "running")
			}
			g.signal(syscall.SIGKILL)
			g.exit()
			next := start(t, home, quick)
			if state := sessionState(t, home, "api:user:asker"); state != "interrupted" {
				t.Errorf("the session is %q, want interrupted", state)
			}
			if lives := history(t, home); len(lives) != 2 || lives[1].Outcome != tc.outcome {
				t.Errorf("the lives are %+v, want the last one %s", lives, tc.outcome)
			}
			if reply, status := next.chat("asker", "hello"); status != http.StatusOK {
				t.Errorf("the next message is answered with %d %q", status, reply)
			}
			if text, err := os.ReadFile(times); err != nil || string(text) != "ran\n" {
				t.Errorf("the call ran %d times, %v", strings.Count(string(text), "ran"), err)
			}
			if code, _ := next.stop(); code != 0 {
				t.Fatalf("exit code %d", code)
			}
		})
	}
}
