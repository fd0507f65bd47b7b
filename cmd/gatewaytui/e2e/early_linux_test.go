package e2e

import (
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gatewaytui/core/adapter/telegram/botapitest"
	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
	"gatewaytui/fixtures/upgrade"
)

// As PostgreSQL stops in the middle of a crash recovery: SIGTERM while a start migrates and recovers a home of 10,000
// sessions, whose last life was killed, is a planned stop that exits 0, and the next life has every row.
func TestASIGTERMDuringARecoveryLosesNothing(t *testing.T) {
	t.Parallel() // it mostly waits
	soak.Long(t)
	bot := botapitest.New("4242:made-up")
	t.Cleanup(bot.Close)
	setenv(t, upgrade.Token, "4242:made-up")
	setenv(t, "GATEWAYTUI_ADAPTERS_TELEGRAM_BASE_URL", bot.URL)
	rounds := soak.Count(t, 2, 20)
	for n := range rounds {
		home := firstEdition(t)
		old, err := os.ReadFile(filepath.Join(home, "gateway.pid"))
		if err != nil {
			t.Fatal(err)
		}
		g := spawn(t, home, upgrade.Config)
		eventually.True(t, "the start has taken the home", func() bool {
			now, err := os.ReadFile(filepath.Join(home, "gateway.pid"))
			return err == nil && len(now) > 0 && string(now) != string(old)
		})
		<-time.After(time.Duration(rand.IntN(200)) * time.Millisecond) // the moment is random, not waited for
		code, took := g.stop()
		if code != 0 {
			t.Errorf("round %d: SIGTERM during the start ended with %d:\n%s", n, code, g.output())
		}
		ready := strings.Contains(g.output(), `"msg":"ready"`)
		recovered := strings.Contains(g.output(), `"msg":"recovered pending work"`)
		next := start(t, home, upgrade.Config)
		if reply, status := next.chat("user-09999", "echo once more"); reply != "once more" || status != http.StatusOK {
			t.Errorf("round %d: an old session answered %d %q", n, status, reply)
		}
		var st ops.Status
		eventually.True(t, "every session is listed", func() bool {
			next.socket(http.MethodGet, "/v1/status", nil, &st)
			return st.Counts.Sessions >= 10_020
		})
		if code, _ := next.stop(); code != 0 {
			t.Errorf("round %d: the next life ended with %d", n, code)
		}
		if n == rounds-1 || soak.On() { // it takes seconds under the race detector
			lost, _ := missing(t, firstEdition(t), home)
			for _, row := range lost {
				t.Errorf("round %d: lost: %s", n, row)
			}
		}
		t.Logf("round %d: recovered %v, ready %v, stopped within %v", n, recovered, ready, took.Round(time.Millisecond))
	}
}

// SIGTERM while --replace waits for the holder ends the replacement at once with 0. The holder's stop goes on, and the next
// start has what was acknowledged.
func TestASIGTERMDuringAReplacementEndsIt(t *testing.T) {
	t.Parallel() // it mostly waits
	home := newHome(t)
	config := modelAt(mirror(t).URL, longDrain())
	first := start(t, home, config)
	first.chat("a", "keep this")
	first.say("waits", "hang")
	t.Cleanup(func() { _ = first.cmd.Process.Kill() }) // the hanging turn of a test that fails ends with it
	first.running("api:user:waits", "model call")
	next := spawn(t, home, config, "--replace")
	first.phase("drain", "running")
	next.signal(syscall.SIGTERM)
	if code := next.exit(); code != 0 || !strings.Contains(next.output(), "whose stop goes on") {
		t.Errorf("the replacement ended with %d:\n%s", code, next.output())
	}
	select {
	case <-first.exited:
		t.Fatal("the replacement waited for the end of the holder")
	default:
	}
	if out, code := first.verb("interrupt", "api:user:waits", "--yes"); code != 0 { // its drain is over
		t.Errorf("interrupt: %d %s", code, out)
	}
	if code := first.exit(); code != 0 {
		t.Errorf("the holder ended with %d", code)
	}
	third := start(t, home, config)
	if all, _ := third.chat("a", recall); !strings.Contains(all, "assistant: heard keep this\n") {
		t.Errorf("the conversation is %q", all)
	}
	if code, _ := third.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
