package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// asPid1 makes the gateway pid 1 of a pid namespace of its own.
const asPid1 = `exec unshare --pid --fork --mount-proc --kill-child "$@"`

// childrenOf are the children of a process, with their states.
func childrenOf(t *testing.T, pid int) map[int]string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]string{}
	for _, e := range entries {
		child, err := strconv.Atoi(e.Name())
		if err != nil || parentOf(child) != pid {
			continue
		}
		text, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it ended
		}
		state, _, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+2:]), " ")
		found[child] = state
	}
	return found
}

// C3: as pid 1, where everyone's orphans end up, it leaves no zombie, its kills are verified, and it ends on SIGTERM as
// anywhere else.
func TestC3_AsPid1NothingIsLeftUnwaited(t *testing.T) {
	if out, err := exec.Command("bash", "-c", asPid1, "bash", "true").CombinedOutput(); err != nil {
		t.Skipf("runs where a pid namespace may be made, which takes root: %v %s", err, out)
	}
	g := startUnder(t, asPid1, newHome(t), quick)
	var gatewayPID int
	for child := range childrenOf(t, g.cmd.Process.Pid) {
		gatewayPID = child
	}
	var s struct{ PID int }
	if g.socket(http.MethodGet, "/v1/status", nil, &s); s.PID != 1 || gatewayPID == 0 {
		t.Fatalf("the gateway, %d from outside, is pid %d", gatewayPID, s.PID)
	}
	const perTurn = 5
	for range soak.Count(t, 20, 100) / perTurn {
		// Each forks what outlives it for a moment, in three ways, and exits.
		one := `(setsid sleep 0.05 &); setsid env -i sleep 0.05 & bash -c 'sleep 0.02 & exit 3'; `
		if reply, status := g.chat("a", "sh: "+strings.Repeat(one, perTurn)); status != http.StatusOK {
			t.Fatalf("answered %d %q", status, reply)
		}
	}
	zombies := func() (found []int) {
		for pid, state := range childrenOf(t, gatewayPID) {
			if state == "Z" {
				found = append(found, pid)
			}
		}
		return found
	}
	// What outlives its turn may still run. When the last of it has ended, its zombie is waited for.
	eventually.True(t, "nothing that was started is left", func() bool { return len(marked(t, g.life)) == 0 })
	eventually.True(t, "no zombie is left", func() bool { return len(zombies()) == 0 })

	wood := newForest(t)
	wood.plant(g, len(hostile), len(hostile), "a")
	wood.grown(t, nil)
	var page struct{ Items []struct{ PID int } }
	if g.socket(http.MethodGet, "/v1/processes", nil, &page); len(page.Items) != 1 {
		t.Fatalf("the processes are %+v, want one tree", page.Items)
	}
	if out, code := g.verb("kill", fmt.Sprint(page.Items[0].PID), "--yes"); code != 0 || !strings.Contains(out, "ended") {
		t.Errorf("kill: %d %s", code, out)
	}
	if left := wood.standing(t); len(left) > 0 {
		t.Errorf("the kill was said to be verified, and left %v", left)
	}
	eventually.True(t, "no zombie is left by the kill", func() bool { return len(zombies()) == 0 })

	if err := syscall.Kill(gatewayPID, syscall.SIGTERM); err != nil { // not reaped: its parent waits for it to end
		t.Fatal(err)
	}
	if code := g.exit(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}
