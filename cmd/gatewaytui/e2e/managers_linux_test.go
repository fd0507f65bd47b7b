package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gatewaytui/fixtures/eventually"
)

// kept is a gateway that a service manager keeps.
type kept struct {
	*keeper
	home string
}

// keep begins a manager with a gateway on a home and a config of its own, and waits until that is ready.
func keep(t *testing.T, begin func(*testing.T, time.Duration, ...string) *keeper, limit time.Duration, config string, args ...string) kept {
	t.Helper()
	k := kept{home: newHome(t)}
	k.keeper = begin(t, limit, arguments(t, k.home, config, args...)...)
	k.life("")
	return k
}

// arguments are a gateway's, the program included.
func arguments(t *testing.T, home, config string, args ...string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.toml")
	if !strings.Contains(config, "[agent]") { // the scripts run any command
		config = "agent.approvals = \"off\"\nagent.environment = \"local\"\n" + config
	}
	if err := os.WriteFile(file, []byte(config+"[adapters.api]\nlisten = \"127.0.0.1:0\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return append([]string{binary, "--no-tui", "--home", home, "--config", file}, args...)
}

// served is what status tells of a gateway.
type served struct {
	Life, State string
	PID         int
}

// life waits until another life than the one before serves.
func (k kept) life(before string) (s served) {
	k.t.Helper()
	eventually.True(k.t, "a life after "+before+" serves", func() bool {
		out, code := verb(k.t, k.home, "status", "--json")
		s = served{}
		return code == 0 && json.Unmarshal([]byte(out), &s) == nil && s.State == "running" && s.Life != before
	})
	return s
}

// escapee starts a tool's grandchild in a session of its own, and returns its pid.
func (k kept) escapee() int {
	k.t.Helper()
	pid := filepath.Join(k.dir, "escapee")
	command := unread(k.t, k.dir, "bg: setsid sh -c 'trap \"\" TERM; echo $$ >"+pid+"; while :; do sleep 1; done' & wait")
	out, code := verb(k.t, k.home, "send", command)
	if code != 0 || strings.Contains(out, "error") {
		k.t.Fatalf("send: %d %s", code, out)
	}
	n := 0
	eventually.True(k.t, "the grandchild runs", func() bool {
		n, _ = strconv.Atoi(strings.TrimSpace(k.read("escapee")))
		return n > 0
	})
	return n
}

// outcomes are how the lives of a home ended, the newest first.
func (k kept) outcomes() (all []string) {
	k.t.Helper()
	var h struct{ Items []struct{ Outcome string } }
	out, code := verb(k.t, k.home, "history", "--json")
	if err := json.Unmarshal([]byte(out), &h); err != nil || code != 0 {
		k.t.Fatalf("history: %d %s", code, out)
	}
	for _, l := range h.Items {
		all = append(all, l.Outcome)
	}
	return all
}

// eachKeeper runs a test under each manager that there is.
func eachKeeper(t *testing.T, test func(t *testing.T, begin func(*testing.T, time.Duration, ...string) *keeper)) {
	for _, k := range keepers {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel() // they mostly wait
			test(t, k.begin)
		})
	}
}

// within is what the managers of these tests allow a stop; quick needs some 10 s where everything hangs.
const within = 20 * time.Second

// G5: status says who keeps the gateway, and what that allows as far as it is known.
func TestG5_StatusSaysWhoKeepsIt(t *testing.T) {
	for _, m := range keepers {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			k := keep(t, m.begin, within, quick)
			if out, code := verb(t, k.home, "status"); code != 0 || !strings.Contains(out, "supervisor  "+m.status) || strings.Contains(out, "limit for a stop is unknown") {
				t.Errorf("status: %d\n%s", code, out)
			}
			out, _ := verb(t, k.home, "doctor") // this machine may have what is to be fixed
			if strings.Contains(out, "no service manager is known") || strings.Contains(out, "is not known (") {
				t.Errorf("doctor:\n%s", out)
			}
		})
	}
}

// A1, A3, C2: a stop with a platform that never lets go ends by itself, before the manager would kill, and takes along what
// a tool had hidden.
func TestA3_AStopUnderAManagerEndsByItself(t *testing.T) {
	eachKeeper(t, func(t *testing.T, begin func(*testing.T, time.Duration, ...string) *keeper) {
		k := keep(t, begin, within, quick, "--demo-platforms", "dock=hang-disconnect")
		life, hidden := k.life("").Life, k.escapee()
		said, took, err := k.stop()
		if err != nil || took > within {
			t.Fatalf("the manager says after %v: %v %s", took, err, said)
		}
		k.ended("exit 0")
		if alive(hidden) {
			t.Errorf("the grandchild %d lives on", hidden)
		}
		if left := marked(t, life); len(left) > 0 {
			t.Errorf("still running:\n%s", strings.Join(left, "\n"))
		}
		if n := k.starts(); n != 1 || !k.over() {
			t.Errorf("a stop made it start %d times; it is over: %v", n, k.over())
		}
		t.Logf("stopped within %v of %v", took.Round(time.Millisecond), within)
	})
}

// A3: supervisord allows less than the config asks for. It says so, and the stop is done by then.
func TestA3_AStopFitsWhatSupervisordAllows(t *testing.T) {
	t.Parallel() // it mostly waits
	const little = 4 * time.Second
	k := keep(t, supervisord, little, "", "--demo-platforms", "dock=hang-disconnect")
	out, code := verb(t, k.home, "status")
	if code != 0 || !strings.Contains(out, "allows a stop 4.0s (environment)") || !strings.Contains(out, "allows a stop 4s and the config asks for 1m28s") {
		t.Errorf("status has not both numbers: %d\n%s", code, out)
	}
	hidden := k.escapee()
	if said, took, err := k.stop(); err != nil || took > within {
		t.Fatalf("the manager says after %v: %v %s", took, err, said)
	}
	k.ended("exit 0")
	if alive(hidden) {
		t.Errorf("the grandchild %d lives on", hidden)
	}
}

// A3: runsv never kills. A stop that takes longer than sv waits goes on, and ends by itself.
func TestA3_AStopGoesOnWhereRunitWaitsNoLonger(t *testing.T) {
	t.Parallel() // it mostly waits
	k := keep(t, runit, 0, strings.Replace(quick, `adapter_timeout = "1s"`, `adapter_timeout = "4s"`, 1), "--demo-platforms", "dock=hang-disconnect")
	stop := k.stopCmd()
	stop.Env = append(os.Environ(), "SVWAIT=1")
	if out, err := stop.CombinedOutput(); err == nil || !strings.Contains(string(out), "timeout: run: ") {
		t.Fatalf("sv stop waited: %v %s", err, out)
	}
	k.ended("exit 0")
	eventually.True(t, "the service is down", k.over)
}

// B2, B4, B6, G1: a restart ends with 75 and leaves the next start to the manager: exactly one, of the manager's own.
func TestB4_ARestartIsTheManagersToDo(t *testing.T) {
	eachKeeper(t, func(t *testing.T, begin func(*testing.T, time.Duration, ...string) *keeper) {
		k := keep(t, begin, within, quick)
		first := k.life("")
		out, code := verb(t, k.home, "restart", "--yes")
		if code != 0 || !strings.Contains(out, "restarted: life ") {
			t.Fatalf("restart: %d %s", code, out)
		}
		next := k.life(first.Life)
		k.ended("exit 75")
		if parent := parentOf(next.PID); parent != k.cmd.Process.Pid {
			t.Errorf("the next life was started by %d, want the manager, %d", parent, k.cmd.Process.Pid)
		}
		// Another one would have met the first, or the lock.
		if _, _, err := k.stop(); err != nil {
			t.Fatalf("stop: %v", err)
		}
		k.ended("exit 75", "exit 0")
		if n := k.starts(); n != 2 {
			t.Errorf("it was started %d times, want 2", n)
		}
		if left := slices.Concat(marked(t, first.Life), marked(t, next.Life)); len(left) > 0 {
			t.Errorf("still running:\n%s", strings.Join(left, "\n"))
		}
	})
}

// S9, A19, C4: after a SIGKILL the manager starts the next life, which knows, and nothing of the killed one is left.
func TestC4_AfterASIGKILLTheManagerStartsACleanLife(t *testing.T) {
	eachKeeper(t, func(t *testing.T, begin func(*testing.T, time.Duration, ...string) *keeper) {
		k := keep(t, begin, within, quick)
		first, hidden := k.life(""), k.escapee()
		if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		killed := time.Now()
		eventually.True(t, "nothing of the killed life is left", func() bool { return len(marked(t, first.Life)) == 0 && !alive(hidden) })
		took := time.Since(killed)
		if took > 2*time.Second {
			t.Errorf("what the killed life had started lived on for %v", took)
		}
		k.life(first.Life)
		k.ended("SIGKILL")
		if got, want := fmt.Sprint(k.outcomes()), "[running crashed]"; got != want {
			t.Errorf("the history is %s, want %s", got, want)
		}
		t.Logf("nothing was left after %v", took.Round(time.Millisecond))
	})
}

// B4, S9: what does not get better by trying is tried once, where the manager knows the exit codes.
func TestB4_WhatDoesNotGetBetterIsNotTriedForEver(t *testing.T) {
	held := newHome(t)
	holder := start(t, held, quick)
	t.Cleanup(func() {
		if code, _ := holder.stop(); code != 0 {
			t.Errorf("the holder ended with %d", code)
		}
	})
	for _, tt := range []struct {
		name string
		home string
		add  string // to the config
		code string
	}{
		{"another gateway holds the home", held, quick, "exit 69"},
		{"the config is wrong", "", "[shutdown]\ndrain = 1\n", "exit 78"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachKeeper(t, func(t *testing.T, begin func(*testing.T, time.Duration, ...string) *keeper) {
				home := tt.home
				if home == "" {
					home = newHome(t)
				}
				k := begin(t, within, arguments(t, home, tt.add)...)
				eventually.True(t, "the manager has given it up", k.over)
				// Both managers would have tried again after a second.
				deadline := time.Now().Add(2500 * time.Millisecond)
				for time.Now().Before(deadline) && k.starts() == 1 {
					<-time.After(50 * time.Millisecond)
				}
				k.ended(tt.code)
				if n := k.starts(); n != 1 || !k.over() {
					t.Errorf("it was started %d times, want once; it is over: %v", n, k.over())
				}
			})
		})
	}
}
