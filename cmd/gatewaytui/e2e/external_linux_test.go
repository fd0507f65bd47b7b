package e2e

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
)

// adapterRow is the row of an adapter.
func (g *gateway) adapterRow(name string) ops.Adapter {
	g.t.Helper()
	var page struct{ Items []ops.Adapter }
	g.socket(http.MethodGet, "/v1/adapters", nil, &page)
	at := slices.IndexFunc(page.Items, func(a ops.Adapter) bool { return a.Name == name })
	if at < 0 {
		g.t.Fatalf("there is no adapter %s: %+v", name, page.Items)
	}
	return page.Items[at]
}

// program is the pid of the process that an adapter runs now; 0: none.
func (g *gateway) program(adapter string) int {
	g.t.Helper()
	var page struct{ Items []ops.Process }
	g.socket(http.MethodGet, "/v1/processes?limit=500", nil, &page)
	for _, p := range page.Items {
		if p.Owner == "adapter:"+adapter && p.State == ops.ProcessRunning {
			return p.PID
		}
	}
	return 0
}

// PL4: people of an external adapter are answered. A SIGKILL of the gateway leaves nothing of the program. The next life answers what
// was open, once, though the program gives every message again, and its stop leaves nothing.
func TestPL4_AConversationWithAnExternalAdapterOverAKill(t *testing.T) {
	t.Parallel() // it mostly waits
	v, home := newVillage(t), newHome(t)
	g := start(t, home, v.config())
	eventually.True(t, "the program is connected", func() bool { return g.adapterRow("village").State == ops.AdapterConnected })
	v.tell("m1", "echo the **first**")
	v.has("d#1", "the **first**")
	v.tell("m2", "sh: echo [$"+villageToken+"]")
	v.has("d#1", "[]") // tools do not see its credential
	v.say(villager{ID: "m1", Chat: "g1", Kind: "group", Group: "g1", User: map[string]string{"id": "u1"}, Text: "echo in the group", Mentioned: true})
	v.has("g1", "in the group")
	v.say(villager{ID: "m1", Chat: "d2", Kind: "dm", User: map[string]string{"id": "u2"}, Text: "echo let me in"})
	v.has("d2", "u2")

	pid := g.program("village")
	if out, code := g.verb("evict", "village:group:g1:user:u1"); code != 0 {
		t.Errorf("evict: exit code %d, %s", code, out)
	}
	if out, code := g.verb("reset", "village:group:g1:user:u1", "--yes"); code != 0 {
		t.Errorf("reset: exit code %d, %s", code, out)
	}
	if now := g.program("village"); pid == 0 || now != pid {
		t.Errorf("the program was the process %d, and is %d after an eviction and a reset", pid, now)
	}
	if out, code := g.verb("adapter", "reconnect", "village", "--yes"); code != 0 {
		t.Errorf("reconnect: exit code %d, %s", code, out)
	}
	eventually.True(t, "another program is connected", func() bool {
		now := g.program("village")
		return now != 0 && now != pid && !alive(pid) && g.adapterRow("village").State == ops.AdapterConnected
	})

	v.tell("m3", "slow 600")
	g.await("its turn begins", func(l line) bool {
		return l.text("msg") == "turn started" && strings.HasPrefix(l.text("session"), "village:dm:") && l.text("turn") != ""
	})
	g.running("village:dm:u1", "model call")
	v.tell("m4", "/queue echo the second")
	g.await("a message waits", func(l line) bool { return l.text("msg") == "message waits" })
	if err := g.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	g.exit()
	g.leavesNothing()

	next := start(t, home, v.config())
	next.await("what was left is resumed", func(l line) bool {
		return l.text("msg") == "recovered pending work" && l.number("reported") == 1 && l.number("messages") == 1
	})
	v.tell("m5", "echo the last")
	v.has("d#1", "the last")
	for text, want := range map[string]int{"the **first**": 1, "The gateway ended while it worked on this message": 1, "the second": 1, "the last": 1} {
		if n := v.times("d#1", text); n != want {
			t.Errorf("the chat has %q %d times, want %d: %+v", text, n, want, v.sent())
		}
	}
	if n := v.times("g1", "in the group"); n != 1 {
		t.Errorf("the group has its answer %d times", n)
	}
	if code, _ := next.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	next.nothingLeft()
}

// PL4: a program that neither reads nor answers and ignores TERM, with a child that does too, costs a stop no more than its plan, and
// nothing of both is left.
func TestPL4_AProgramThatFreezesKeepsThePlanOfAStop(t *testing.T) {
	t.Parallel() // it mostly waits
	v := newVillage(t)
	g := start(t, newHome(t), v.config())
	v.tell("m1", "echo hello")
	v.has("d#1", "hello")
	v.freeze()
	var plan struct {
		WorstMS int64 `json:"worst_case_ms"`
	}
	g.socket(http.MethodGet, "/v1/plan", nil, &plan)
	code, took := g.stop()
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	g.nothingLeft()
	report := g.await("the report of the stop", func(l line) bool { return l.text("msg") == "stopped" })
	t.Logf("the stop took %v, its plan has %d ms", took, plan.WorstMS)
	if elapsed := report.number("elapsed_ms"); plan.WorstMS == 0 || elapsed > float64(plan.WorstMS)+50 {
		t.Errorf("the stop took %.0f ms, and %d ms is its plan", elapsed, plan.WorstMS)
	}
}

// PL4: a reload starts the program again whose command, settings or variables have changed, and ends one that is disabled. People and chats
// change without that.
func TestPL4_AReloadReplacesOnlyTheProgramThatChanged(t *testing.T) {
	t.Parallel() // it mostly waits
	v := newVillage(t)
	_, table, _ := strings.Cut(v.config(), "[adapters.village]")
	other := strings.NewReplacer("adapters.village", "adapters.hamlet", v.dir, t.TempDir()).Replace("[adapters.village]" + table)
	g := start(t, newHome(t), v.config()+other)
	connected := func(name string) bool {
		return g.adapterRow(name).State == ops.AdapterConnected && g.program(name) != 0
	}
	eventually.True(t, "both programs are connected", func() bool { return connected("village") && connected("hamlet") })
	pid, untouched := g.program("village"), g.program("hamlet")
	reload := func(config string) {
		t.Helper()
		g.edit(config + other)
		if out, code := g.verb("reload"); code != 0 {
			t.Fatalf("reload: exit code %d, %s", code, out)
		}
	}

	reload(strings.Replace(v.config(), `["u1"]`, `["u1", "u2"]`, 1))
	v.say(villager{ID: "m1", Chat: "d2", Kind: "dm", User: map[string]string{"id": "u2"}, Text: "echo let me in"})
	v.has("d2", "let me in")
	if now := g.program("village"); now != pid {
		t.Errorf("another person in allow made the process %d of %d", now, pid)
	}

	reload(v.config() + "mood = \"calm\"\n")
	eventually.True(t, "its program is another one", func() bool { return connected("village") && g.program("village") != pid && !alive(pid) })

	reload(strings.Replace(v.config(), "[adapters.village]", "[adapters.village]\nenabled = false", 1))
	eventually.True(t, "its program has ended", func() bool { return g.program("village") == 0 })
	if now := g.program("hamlet"); now != untouched {
		t.Errorf("the program of the other adapter was the process %d and is %d", untouched, now)
	}
	if code, _ := g.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	g.nothingLeft()
}

// PL4: a program without its credential, or that is not there, is a row that says so, and the gateway runs.
func TestPL4_AnAdapterThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel() // it mostly waits
	v := newVillage(t)
	setenv(t, villageToken, "")
	g := start(t, newHome(t), v.config()+"[adapters.hamlet]\ncommand = [\""+filepath.Join(v.dir, "nowhere")+"\"]\nallow = [\"u1\"]\n")
	for name, says := range map[string]string{"village": villageToken, "hamlet": "there is no program"} {
		eventually.True(t, fmt.Sprintf("the row of %s says %q", name, says), func() bool {
			row := g.adapterRow(name)
			return row.State != ops.AdapterConnected && strings.Contains(row.LastError, says)
		})
	}
	if reply, status := g.chat("ada", "echo hello"); status != http.StatusOK || reply != "hello" {
		t.Errorf("another platform answers %d %q", status, reply)
	}
	g.signal(syscall.SIGTERM)
	if code := g.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	g.nothingLeft()
}
