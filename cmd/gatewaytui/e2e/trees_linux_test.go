package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gatewaytui/fixtures/eventually"
)

// quick is a config whose stop is short.
const quick = `
[process]
kill_grace = "1s"
[shutdown]
drain_timeout = "2s"
notify_timeout = "500ms"
interrupt_grace = "1s"
agent_timeout = "1s"
adapter_timeout = "1s"
background_timeout = "500ms"
store_timeout = "1s"
`

// hostileTrees are commands whose processes do all to outlive who started them.
var hostileTrees = map[string]string{
	"plain":                "sleep 1000",
	"ignores TERM":         "trap '' TERM INT HUP; while :; do sleep 1; done",
	"a session of its own": "setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' & wait",
	"double-forked":        "(setsid sh -c 'sleep 1001 & sleep 1002 & exit 0' &) ; sleep 0.1",
	"a deep tree":          "sh -c 'sh -c \"sh -c \\\"sleep 1003; :\\\"; :\"; :'",
	"a pipe held open":     "(sleep 1004 &) ; echo done",
}

func plan(t *testing.T, g *gateway) (worst time.Duration) {
	t.Helper()
	var p struct {
		WorstCaseMS int64 `json:"worst_case_ms"`
	}
	if status := g.socket(http.MethodGet, "/v1/plan", nil, &p); status != http.StatusOK || p.WorstCaseMS == 0 {
		t.Fatalf("the plan: %d, %+v", status, p)
	}
	return time.Duration(p.WorstCaseMS) * time.Millisecond
}

// C2, C5, C7, B16: what tools started is gone when the gateway is, even if it hides; the next life opens the store at once.
func TestNothingOutlivesAGracefulStop(t *testing.T) {
	t.Parallel() // it mostly waits
	home := newHome(t)
	g := start(t, home, quick)
	for name, command := range hostileTrees {
		g.job(name, command)
	}
	for _, last := range []string{"sleep 1000", "sleep 1001", "sleep 1002", "sleep 1003", "sleep 1004", "trap \"\" TERM", "trap '' TERM"} {
		eventually.True(t, last+" runs", func() bool {
			return slices.ContainsFunc(marked(t, g.life), func(p string) bool { return strings.Contains(p, last) })
		})
	}
	worst := plan(t, g)
	code, took := g.stop()
	if code != 0 || took > worst {
		t.Fatalf("the stop ended with %d after %v, the plan said at most %v", code, took, worst)
	}
	if left := marked(t, g.life); len(left) > 0 {
		t.Fatalf("still running:\n%s", strings.Join(left, "\n"))
	}
	sweep := g.phase("sweep", "done")
	t.Logf("stopped within %v of at most %v; the sweep took %v ms", took.Round(time.Millisecond), worst, sweep.number("elapsed_ms"))

	next := start(t, home, quick)
	if reply, status := next.chat("plain", "hello"); status != http.StatusOK {
		t.Fatalf("the next life answers %d %q", status, reply)
	}
	if out, code := next.verb("history", "--json"); code != 0 || !strings.Contains(out, `"outcome":"clean"`) {
		t.Fatalf("the history says %d %s", code, out)
	}
	if code, _ := next.stop(); code != 0 {
		t.Fatalf("the next life ended with %d", code)
	}
}

// Everything that can hang hangs: adapters that never connect, send or disconnect, a model that never answers, a turn
// that ignores its end, notices that cannot be sent, trees that ignore TERM (A1, A2, A7, A9, S1, S5, S6).
func TestEverythingHangsAtOnceAndTheStopIsBounded(t *testing.T) {
	t.Parallel() // it mostly waits
	home := newHome(t)
	g := start(t, home, quick, "--demo-platforms", "p1=hang-connect,p2=hang-send,p3=hang-disconnect,p4=black-hole,p5=deaf")
	for name, command := range hostileTrees {
		g.job(name, command)
	}
	g.say("hangs", "hang")
	g.running("api:user:hangs", "model call")
	g.say("wedged", "wedge 300")
	g.running("api:user:wedged", "model call")
	g.say("tool", "sh: trap '' TERM; while :; do sleep 1; done")
	g.running("api:user:tool", "terminal")
	worst := plan(t, g)
	code, took := g.stop()
	if code != 0 || took > worst+500*time.Millisecond { // the process's own end comes on top of the plan's
		t.Fatalf("the stop ended with %d after %v, the plan said at most %v", code, took, worst)
	}
	if left := marked(t, g.life); len(left) > 0 {
		t.Fatalf("still running:\n%s", strings.Join(left, "\n"))
	}
	t.Logf("stopped within %v of at most %v", took.Round(time.Millisecond), worst)
	order(t, g)
	next := start(t, home, quick)
	if code, _ := next.stop(); code != 0 {
		t.Fatalf("the next life ended with %d", code)
	}
}

// order proves from the log what came before what: the marker before anything that waits, the trees before the first
// disconnect, the sweep last of all that kills.
func order(t *testing.T, g *gateway) {
	t.Helper()
	var began, ended []string
	for _, l := range g.log() {
		if l.text("msg") != "shutdown.phase" {
			continue
		}
		switch l.text("state") {
		case "running":
			began = append(began, l.text("phase"))
		case "pending":
		default:
			ended = append(ended, l.text("phase"))
		}
	}
	want := []string{"mark", "notify", "drain", "interrupt", "reap", "agents", "adapters", "background", "release", "sweep", "stores", "surrender"}
	if !slices.Equal(ended, want) {
		t.Errorf("the phases ended in the order %v, want %v", ended, want)
	}
	if i, j := slices.Index(began, "reap"), slices.Index(began, "adapters"); i < 0 || j < i {
		t.Errorf("the phases began in the order %v, want reap before adapters", began)
	}
}

// S18, A19: the marker and the turns are on disk before anything that waits, so that a SIGKILL at any later moment leaves
// what happened.
func TestAKilledStopLeavesWhatItWaitedFor(t *testing.T) {
	t.Parallel() // it mostly waits
	home := newHome(t)
	g := start(t, home, "[shutdown]\ndrain_timeout = \"60s\"\n")
	g.say("waits", "hang")
	g.running("api:user:waits", "model call")
	if err := g.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	g.phase("drain", "running")
	if err := g.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	g.exit()
	if _, err := os.Stat(filepath.Join(home, ".clean_shutdown")); err != nil {
		t.Fatalf("the marker: %v", err)
	}
	report, err := os.ReadFile(filepath.Join(home, "dumps", "shutdown-"+g.life+".json"))
	if err != nil || !strings.Contains(string(report), `"api:user:waits"`) {
		t.Fatalf("the report on disk: %v\n%s", err, report)
	}
	next := start(t, home, quick)
	out, code := next.verb("history", "--json")
	if code != 0 || !strings.Contains(out, `"cut_short"`) || !strings.Contains(out, `"phase":"drain"`) {
		t.Fatalf("the history says %d %s", code, out)
	}
	var page struct{ Items []struct{ Key, State string } }
	next.socket(http.MethodGet, "/v1/sessions", nil, &page)
	if fmt.Sprint(page.Items) != "[{api:user:waits interrupted}]" {
		t.Fatalf("the next life's sessions are %+v", page.Items)
	}
}

// A3: where the service manager allows little, the drain is what shrinks, and marker, turns and trees are done within it.
func TestAStopFitsWhatTheServiceManagerAllows(t *testing.T) {
	home := newHome(t)
	t.Setenv("GATEWAYTUI_STOP_BUDGET", "3s")
	g := start(t, home, "")
	g.job("a", hostileTrees["ignores TERM"])
	g.say("waits", "hang")
	g.running("api:user:waits", "model call")
	warned := g.await("a warning with both numbers", func(l line) bool { return l.text("code") == "shutdown.budget" })
	if text := warned.text("text"); !strings.Contains(text, "allows a stop 3s") || !strings.Contains(text, "1m28s") {
		t.Errorf("the warning is %q", text)
	}
	if out, code := g.verb("plan"); code != 0 || !strings.Contains(out, "3.0s") {
		t.Fatalf("the plan says %d %s", code, out)
	}
	code, _ := g.stop()
	took := g.await("the last line", func(l line) bool { return l.text("msg") == "stopped" }).number("elapsed_ms")
	if code != 0 || took > 3000 {
		t.Fatalf("the stop ended with %d after %v ms, and 3 s were allowed", code, took)
	}
	if left := marked(t, g.life); len(left) > 0 {
		t.Fatalf("still running:\n%s", strings.Join(left, "\n"))
	}
}
