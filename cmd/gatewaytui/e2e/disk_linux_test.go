package e2e

import (
	"bufio"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// inject has strace change what g's calls of fsync and fdatasync do from now on, until repair is called or the test ends: strace(1),
// tampering.
func (g *gateway) inject(what string) (repair func()) {
	g.t.Helper()
	return g.injectInto("fsync,fdatasync", what)
}

// injectInto is inject for calls, a list of names with commas. Each thread of the gateway counts its calls for itself.
func (g *gateway) injectInto(calls, what string) (repair func()) {
	g.t.Helper()
	strace := soak.Peer(g.t, "strace", "apt-get install strace")
	cmd := exec.Command(strace, "-f", "-o", "/dev/null", "-e", "trace="+calls, "-e", "inject="+calls+":"+what,
		"-p", strconv.Itoa(g.cmd.Process.Pid))
	said, err := cmd.StderrPipe()
	if err != nil {
		g.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	repair = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGINT) // it lets go of the gateway; it has ended already if the gateway has
		_ = cmd.Wait()                         // its end says nothing of the test
	})
	g.t.Cleanup(repair)
	in := bufio.NewScanner(said)
	for in.Scan() {
		if strings.Contains(in.Text(), "attached") {
			go func() { // ends with strace
				for in.Scan() {
				}
			}()
			return repair
		}
		if strings.Contains(in.Text(), "not permitted") {
			soak.Missing(g.t, "runs where strace may attach to a process: %s", in.Text())
		}
	}
	g.t.Fatal("strace ended without attaching")
	return nil
}

// TF9: what a slow, a full or a broken disk does to a planned stop never makes a service manager call it failed.
func TestAPlannedStopOnABadDiskExitsZero(t *testing.T) {
	t.Parallel() // it mostly waits
	soak.Long(t)
	for _, tt := range []struct {
		name, inject, outcome string
		phases                map[string]string
	}{
		// The stores wait for four fsyncs in a row: of 500 ms they take two thirds of their time. A busy machine adds as much again, so
		// that make test has half of it.
		{"a disk that takes its time for each fsync ends the stop clean", "delay_exit=" + strconv.Itoa(soak.Count(t, 250_000, 500_000)), "clean", map[string]string{"mark": "done", "stores": "done"}},
		{"one that is full leaves it incomplete", "error=ENOSPC", "incomplete", map[string]string{"stores": "failed"}},
		{"one over its quota leaves it incomplete", "error=EDQUOT", "incomplete", map[string]string{"stores": "failed"}},
		{"one that is broken leaves it incomplete", "error=EIO", "incomplete", map[string]string{"stores": "failed"}},
		{"one that answers too late leaves it incomplete", "delay_exit=4000000", "incomplete", map[string]string{"mark": "timed_out", "stores": "timed_out"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := start(t, newHome(t), "")
			g.inject(tt.inject)
			code, took := g.stop()
			if code != 0 {
				t.Errorf("the stop exited %d, want 0", code)
			}
			stopped := g.await("stopped", func(l line) bool { return l.text("msg") == "stopped" })
			if got := stopped.text("outcome"); got != tt.outcome {
				t.Errorf("the outcome is %s, want %s", got, tt.outcome)
			}
			for phase, state := range tt.phases {
				g.phase(phase, state)
			}
			t.Logf("stopped within %v", took.Round(time.Millisecond))
		})
	}
}

// A phase that took longer than its budget because nothing was run says so.
func TestAPhaseThatTheMachineHeldUpNamesTheReason(t *testing.T) {
	t.Parallel() // it mostly waits
	soak.Long(t)
	g := start(t, newHome(t), "[shutdown]\ndrain_timeout = \"1s\"\n")
	g.say("hangs", "hang")
	g.running("api:user:hangs", "model call")
	g.signal(syscall.SIGTERM)
	eventually.True(t, "it drains", func() bool {
		var sd struct {
			Phases []struct{ Name, State string }
		}
		if g.socket(http.MethodGet, "/v1/shutdown", nil, &sd) != http.StatusOK {
			return false
		}
		for _, p := range sd.Phases {
			if p.Name == "drain" && p.State == "running" {
				return true
			}
		}
		return false
	})
	g.signal(syscall.SIGSTOP)
	time.Sleep(2500 * time.Millisecond) // modelled: a machine that runs nothing of the gateway for longer than the drain
	g.signal(syscall.SIGCONT)
	if code := g.exit(); code != 0 {
		t.Errorf("the stop exited %d, want 0", code)
	}
	drain := g.phase("drain", "timed_out")
	if took, budget := drain.number("elapsed_ms"), drain.number("budget_ms"); took <= budget+50 {
		t.Fatalf("the drain took %v ms of %v: it was not held up", took, budget)
	}
	if why := drain.text("detail"); !strings.Contains(why, "over its budget: the machine did not run the gateway for") {
		t.Errorf("the drain ended with %q, which does not say why it was late", why)
	}
}
