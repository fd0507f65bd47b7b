package e2e

import (
	"encoding/json"
	"fmt"
	"net"
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

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// A5, B7: a stop that a turn's own tool asks for does not wait for that turn.
func TestA5_AStopAskedForByATurnDoesNotWaitForIt(t *testing.T) {
	t.Parallel() // it mostly waits
	g := start(t, newHome(t), longDrain())
	g.say("asker", "sh: "+binary+" --home "+g.home+" stop --yes --reason update; sleep 300")
	if code := g.exit(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	if drain := g.phase("drain", "done").number("elapsed_ms"); drain >= 59_000 {
		t.Fatalf("the drain took %v ms: it waited for the turn that asked for the stop", drain)
	}
	report, err := os.ReadFile(filepath.Join(g.home, "dumps", "shutdown-"+g.life+".json"))
	if err != nil || !strings.Contains(string(report), "it asked for this stop") {
		t.Fatalf("the report does not name who asked: %v\n%s", err, report)
	}
}

// A19: a SIGKILL at any phase of a stop leaves a home that starts, and the next life says how far the last one came.
func TestA19_AKillAtEveryPhaseIsClassified(t *testing.T) {
	t.Parallel() // it mostly waits
	phases := []string{"mark", "notify", "drain", "interrupt", "reap", "agents", "adapters", "background", "release", "sweep", "stores", "surrender"}
	home := newHome(t)
	for i, phase := range phases {
		g := start(t, home, quick)
		g.job("job", "trap '' TERM; setsid sleep 1006 & while :; do sleep 1; done")
		if phase == "interrupt" || phase == "reap" { // only where turns are left
			g.say("turn", "hang")
			g.running("api:user:turn", "model call")
		}
		g.signal(syscall.SIGTERM)
		// The report, not the log: a stop waits for its report on disk for 20 ms at most.
		eventually.True(t, "the report on disk has phase "+phase, func() bool { return g.reported(phase) })
		_ = g.cmd.Process.Kill() // it may have come to its end in this moment
		g.exit()
		g.leavesNothing()
		next := start(t, home, quick)
		var h struct {
			Items []struct{ Life, Outcome, Phase string }
		}
		next.socket(http.MethodGet, "/v1/history", nil, &h)
		last := h.Items[1]
		switch {
		case last.Life != g.life:
			t.Fatalf("killed in %s: the last life is %+v, want %s", phase, last, g.life)
		case last.Outcome == "clean": // it was faster than the kill
		case last.Outcome != "cut_short", slices.Index(phases, last.Phase) < i:
			t.Errorf("killed in %s: the last life is %+v", phase, last)
		}
		if code, _ := next.stop(); code != 0 {
			t.Fatalf("killed in %s: the next life ended with %d", phase, code)
		}
	}
}

// reported reports whether the gateway's shutdown report on disk says that a phase has begun, or was skipped.
func (g *gateway) reported(phase string) bool {
	text, err := os.ReadFile(filepath.Join(g.home, "dumps", "shutdown-"+g.life+".json"))
	if err != nil {
		return false
	}
	var report ops.Shutdown
	if err := json.Unmarshal(text, &report); err != nil {
		g.t.Fatalf("read the shutdown report: %v", err)
	}
	return slices.ContainsFunc(report.Phases, func(p ops.Phase) bool { return p.Name == phase && p.State != ops.StepPending })
}

// E7: one platform that hangs and one without its credential keep neither the start nor a good one back.
func TestE7_OneBadPlatformDoesNotKeepTheOthersDown(t *testing.T) {
	t.Parallel() // it mostly waits
	g := spawn(t, newHome(t), quick+"[adapters.telegram]\nenabled = true\ntoken_env = \"NO_SUCH_VARIABLE\"\n", "--demo-platforms", "stuck=hang-connect,broken=fatal,fine=good")
	g.await("the good one is connected", func(l line) bool {
		return l.text("msg") == "adapter.state" && l.text("adapter") == "fine" && l.text("state") == "connected"
	})
	g.await("ready", func(l line) bool { return l.text("msg") == "ready" })
	out, code := g.verb("adapters")
	if code != 0 || strings.Count(out, "needs credentials") != 2 || !strings.Contains(out, "NO_SUCH_VARIABLE") {
		t.Fatalf("adapters: %d\n%s", code, out)
	}
	if code, _ := g.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}

// TF19: an endpoint on another machine gets no key when its variable is unset. That is a warning in the log of each life,
// which names the variable, and in the status. An endpoint on this machine needs none.
func TestTF19_AMissingModelKeyIsAWarningInTheLogAndInTheStatus(t *testing.T) {
	t.Parallel() // it mostly waits
	home := newHome(t)
	config := func(url string) string {
		return quick + fmt.Sprintf("[model]\nprovider = \"openai\"\nname = \"m\"\nbase_url = %q\napi_key_env = \"NO_SUCH_MODEL_KEY\"\n", url)
	}
	warned := func(l line) bool { return l.text("code") == "model.credentials" }
	for life := range 2 {
		g := spawn(t, home, config("https://model.invalid/v1"))
		if w := g.await("the warning", warned); w.text("level") != "WARN" || !strings.Contains(w.text("text"), "NO_SUCH_MODEL_KEY") {
			t.Errorf("life %d: the warning is %v", life, w)
		}
		g.await("ready", func(l line) bool { return l.text("msg") == "ready" })
		var st struct {
			Warnings []struct{ Code, Message string }
		}
		g.socket(http.MethodGet, "/v1/status", nil, &st)
		found := 0
		for _, w := range st.Warnings {
			if w.Code == "model.credentials" && strings.Contains(w.Message, "NO_SUCH_MODEL_KEY") {
				found++
			}
		}
		if found != 1 {
			t.Errorf("life %d: the status has it %d times: %+v", life, found, st.Warnings)
		}
		if code, _ := g.stop(); code != 0 {
			t.Fatalf("exit code %d", code)
		}
		n := 0
		for _, l := range g.log() {
			if warned(l) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("life %d: the log has the warning %d times, want once", life, n)
		}
	}
	local := start(t, home, config("http://127.0.0.1:9/v1"))
	if code, _ := local.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	if slices.ContainsFunc(local.log(), warned) {
		t.Error("an endpoint on this machine is warned of as well")
	}
}

// C6: a command that leaves a child on its pipe comes back, with its output, and the child is gone.
func TestC6_AGrandchildOnThePipeHoldsNothingUp(t *testing.T) {
	g := start(t, newHome(t), "[tools]\ntimeout = \"2s\"\n")
	began := time.Now()
	reply, status := g.chat("a", "sh: sleep 3600 & echo kept")
	if took := time.Since(began); status != http.StatusOK || !strings.Contains(reply, "kept") || took > patience { // the grandchild sleeps for an hour
		t.Fatalf("after %v: %d %q", took, status, reply)
	}
	eventually.True(t, "nothing of it is left", func() bool { return len(marked(t, g.life)) == 0 })
	if code, _ := g.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}

// C9: a reset frees the port that a session's server holds.
func TestC9_AResetFreesThePort(t *testing.T) {
	soak.Peer(t, "python3", "Debian package python3") // its http.server is the server here
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	l.Close()
	g := start(t, newHome(t), quick)
	g.job("a", "trap '' TERM; python3 -m http.server --bind 127.0.0.1 "+port)
	eventually.True(t, "the server listens", func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	if out, code := g.verb("reset", "api:user:a", "--yes"); code != 0 {
		t.Fatalf("reset: %d %s", code, out)
	}
	l, err = net.Listen("tcp", address)
	if err != nil {
		t.Fatalf("after the reset: %v", err)
	}
	l.Close()
	if code, _ := g.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}

// F1: a process that reads, copies or opens the database from outside loses no acknowledged row of it.
func TestF1_OutsideReadersLoseNoRow(t *testing.T) {
	soak.Peer(t, "sqlite3", "Debian package sqlite3")
	home := newHome(t)
	g := start(t, home, quick)
	db := filepath.Join(home, "gateway.db")
	over := make(chan struct{})
	var meddling sync.WaitGroup
	meddling.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
			}
			_, _ = shell(home, "cat gateway.db gateway.db-wal >/dev/null; cp gateway.db copy.db; sqlite3 -readonly gateway.db 'select count(*) from turns'; stat gateway.db-shm >/dev/null")
		}
	})
	const turns = 200
	for i := range turns {
		if reply, status := g.chat(fmt.Sprintf("u%d", i%7), "hello"); status != http.StatusOK {
			t.Fatalf("turn %d: %d %q", i, status, reply)
		}
	}
	close(over)
	meddling.Wait()
	if out, code := g.verb("status"); code != 0 || strings.Contains(out, "displaced") {
		t.Fatalf("status: %d %s", code, out)
	}
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", g.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, _ := os.Readlink(fd); strings.HasSuffix(to, "(deleted)") {
			t.Errorf("it holds %s", to)
		}
	}
	if code, _ := g.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	out, err := shell(home, "sqlite3 "+db+" 'pragma integrity_check; select count(*) from turns where state = \"done\"'")
	if err != nil || out != fmt.Sprintf("ok\n%d\n", turns) {
		t.Fatalf("afterwards the database says %q, %v; want ok and %d turns", out, err, turns)
	}
}

// F3: an outside reader that pins a snapshot does not hold up the stop.
func TestF3_APinnedSnapshotDoesNotHoldUpTheStop(t *testing.T) {
	soak.Peer(t, "sqlite3", "Debian package sqlite3")
	home := newHome(t)
	g := start(t, home, quick)
	g.chat("a", "hello")
	reader := exec.Command("sqlite3", filepath.Join(home, "gateway.db"))
	in, err := reader.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = reader.Process.Kill(); _ = reader.Wait() })
	fmt.Fprintln(in, "begin; select count(*) from turns;")
	g.chat("a", "hello")
	g.stopsClean()
	next := start(t, home, quick)
	if reply, status := next.chat("a", "hello"); status != http.StatusOK {
		t.Fatalf("the next life answers %d %q", status, reply)
	}
	if code, _ := next.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}

// stopsClean stops the gateway and fails unless every phase ended within its budget: what a phase waits for in vain is
// late in the report.
func (g *gateway) stopsClean() {
	g.t.Helper()
	code, took := g.stop()
	stopped := g.await("the last line", func(l line) bool { return l.text("msg") == "stopped" })
	if code != 0 || stopped.text("outcome") != "clean" {
		g.t.Fatalf("the stop ended with %d, outcome %q, after %v", code, stopped.text("outcome"), took)
	}
}

// F5: short of descriptors, with clients that take all they can get, it names the cause, answers, and stops.
func TestF5_FewDescriptorsAreNamedAndTheStopWorks(t *testing.T) {
	home := newHome(t)
	t.Setenv("GATEWAYTUI_SESSION_IDLE_RESET", "10s") // what is watched is looked at often then
	g := startUnder(t, "ulimit -n 64; exec \"$@\"", home, quick)
	for range 80 { // more than there can be; the rest waits in the kernel
		c, err := net.Dial("tcp", g.api)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
	}
	eventually.True(t, "status names the cause", func() bool {
		out, code := g.verb("status")
		return code == 0 && strings.Contains(out, "/64 file descriptors are in use")
	})
	if out, code := g.verb("send", "hello"); code != 0 {
		t.Fatalf("send: %d %s", code, out)
	}
	g.stopsClean()
}

// smallDisk puts home on a disk of 4 MB of its own.
func smallDisk(t *testing.T, home string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", home, "tmpfs", 0, "size=4m,mode=0700"); err != nil {
		t.Skipf("runs as root where a tmpfs can be mounted: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(home, syscall.MNT_DETACH) })
}

// F5, F6: on a full disk turns fail with the reason, and go on when there is room; the stop works throughout.
func TestF6_AFullDiskIsNamedAndServiceResumes(t *testing.T) {
	home := newHome(t)
	smallDisk(t, home)
	t.Setenv("GATEWAYTUI_SESSION_IDLE_RESET", "10s")
	g := start(t, home, quick)
	if reply, status := g.chat("a", "hello"); status != http.StatusOK {
		t.Fatalf("answered %d %q", status, reply)
	}
	ballast := filepath.Join(home, "work", "ballast")
	_, _ = shell(home, "mkdir -p work; head -c 64M /dev/zero > work/ballast")
	eventually.True(t, "a turn fails with the reason", func() bool {
		reply, status := g.chat("a", "echo "+strings.Repeat("x", 3000))
		return status != http.StatusOK && (strings.Contains(reply, "full") || strings.Contains(reply, "space"))
	})
	eventually.True(t, "status names the cause", func() bool {
		out, _ := g.verb("status")
		return strings.Contains(out, "left on the disk of")
	})
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "service resumes", func() bool { _, status := g.chat("a", "hello"); return status == http.StatusOK })
	g.stopsClean()
}
