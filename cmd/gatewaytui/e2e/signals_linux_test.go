package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func longDrain() string {
	return strings.Replace(quick, `drain_timeout = "2s"`, `drain_timeout = "60s"`, 1)
}

func TestSignalsEndAGatewayInThreeStrengths(t *testing.T) {
	t.Parallel() // it mostly waits
	for _, tc := range []struct {
		name    string
		signals []syscall.Signal
		code    int
		mode    string
	}{
		{"one SIGTERM on an idle gateway is a graceful stop", []syscall.Signal{syscall.SIGTERM}, 0, "graceful"},
		{"one SIGINT is the same", []syscall.Signal{syscall.SIGINT}, 0, "graceful"},
		{"SIGUSR1 is a planned restart", []syscall.Signal{syscall.SIGUSR1}, 75, "graceful"},
		{"a second signal waits for no turn", []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM}, 0, "fast"},
		{"a third ends it at once with 128+n", []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM, syscall.SIGTERM}, 143, "immediate"},
		{"so does a third that is another one", []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGINT}, 130, "immediate"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := start(t, newHome(t), longDrain())
			if len(tc.signals) > 1 {
				g.say("waits", "wedge 300")
				g.running("api:user:waits", "model call")
			}
			for i, sig := range tc.signals {
				g.signal(sig)
				switch {
				case i+1 == len(tc.signals):
				case i == 0:
					g.phase("drain", "running")
				default:
					g.phase("interrupt", "running")
				}
			}
			if code := g.exit(); code != tc.code {
				t.Fatalf("exit code %d, want %d", code, tc.code)
			}
			stopped := g.log()[len(g.log())-1]
			if took := stopped.number("elapsed_ms"); took > 50_000 { // the drain may take 60 s
				t.Fatalf("it took %v ms", took)
			}
			if stopped.text("msg") != "stopped" || stopped.number("exit_code") != float64(tc.code) {
				t.Fatalf("the last line is %v", stopped)
			}
			report, err := os.ReadFile(filepath.Join(g.home, "dumps", "shutdown-"+g.life+".json"))
			if err != nil || !strings.Contains(string(report), `"mode": "`+tc.mode+`"`) {
				t.Fatalf("the report does not say mode %s: %v\n%s", tc.mode, err, report)
			}
		})
	}
}

// J1, A20: a signal that does not ask for a stop stops nothing.
func TestOtherSignalsLeaveItRunning(t *testing.T) {
	g := start(t, newHome(t), "")
	g.signal(syscall.SIGQUIT)
	dumped := g.await("the dump", func(l line) bool { return l.text("msg") == "goroutine dump written" })
	text, err := os.ReadFile(dumped.text("path"))
	if err != nil || !strings.Contains(string(text), "goroutine profile") {
		t.Fatalf("the dump: %v, %.200s", err, text)
	}
	if info, err := os.Stat(dumped.text("path")); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the dump's mode: %v, %v", info.Mode(), err)
	}
	g.signal(syscall.SIGHUP)
	g.await("a word about the terminal", func(l line) bool { return strings.HasPrefix(l.text("msg"), "the terminal is gone") })
	g.signal(syscall.SIGPIPE)
	if reply, status := g.chat("a", "hello"); status != http.StatusOK {
		t.Fatalf("after the signals it answers %d %q", status, reply)
	}
	if code, _ := g.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}

func TestAHangupStopsItWhereTheConfigSaysSo(t *testing.T) {
	g := start(t, newHome(t), "[console]\non_hangup = \"stop\"\n")
	g.signal(syscall.SIGHUP)
	if code := g.exit(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}

// A closed stderr must not end the gateway (SIGPIPE), and the log file goes on.
func TestAClosedStderrDoesNotEndIt(t *testing.T) {
	home := newHome(t)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	g := spawnTo(t, home, writer)
	writer.Close()
	isUp(t, home)
	reader.Close()
	for range 3 {
		if out, code := verb(t, home, "send", "hello"); code != 0 {
			t.Fatalf("send: %d %s", code, out)
		}
	}
	if out, code := verb(t, home, "stop", "--wait", "--yes"); code != 0 {
		t.Fatalf("stop: %d %s", code, out)
	}
	if err := g.Wait(); err != nil {
		t.Fatalf("the gateway ended with %v", err)
	}
	text, err := os.ReadFile(filepath.Join(home, "logs", "gateway.jsonl"))
	if err != nil || !strings.Contains(string(text), `"msg":"stopped"`) {
		t.Fatalf("the log file: %v\n%s", err, text)
	}
}
