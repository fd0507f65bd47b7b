package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// processOf is the row of a process; zero: it has none.
func (g *gateway) processOf(pid int) ops.Process {
	g.t.Helper()
	var page struct{ Items []ops.Process }
	g.socket(http.MethodGet, "/v1/processes?limit=500", nil, &page)
	for _, row := range page.Items {
		if row.PID == pid {
			return row
		}
	}
	return ops.Process{}
}

// p99 is what 99 of 100 messages of other sessions take at most.
func (g *gateway) p99(messages int) time.Duration {
	g.t.Helper()
	took := make([]time.Duration, messages)
	for i := range took {
		began := time.Now()
		if reply, status := g.chat([]string{"bob", "carol", "dave", "erin"}[i%4], "echo there"); status != http.StatusOK || reply != "there" {
			g.t.Fatalf("another session is answered with %d %q", status, reply)
		}
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	return took[len(took)*99/100]
}

// A fork bomb, and a command that takes all memory that it gets, cost their sessions. Others are answered as before, the rows name the limits,
// and a stop, or the guardian after a SIGKILL, ends everything. What they may take is bounded by the default limits of an environment.
func TestTR7_AForkBombAndAMemoryHogCostTheirSessionsAlone(t *testing.T) {
	if !soak.On() {
		t.Skip("runs with GATEWAYTUI_SOAK=1: it starts 512 processes and takes 2 GiB")
	}
	bomb, hog := filepath.Join(t.TempDir(), "bomb.sh"), filepath.Join(t.TempDir(), "hog.sh")
	for file, text := range map[string]string{
		bomb: "ulimit -t 60\nf() { f & f & while :; do :; done; }\nf\n",
		hog:  "ulimit -t 60\nwhile :; do head -c 3500000000 /dev/zero | tail; done\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, end := range map[string]func(g *gateway){
		"and a stop": func(g *gateway) {
			if code, took := g.stop(); code != 0 || took > 15*time.Second {
				t.Errorf("the stop had code %d and took %s", code, took)
			}
		},
		"and a SIGKILL": func(g *gateway) { g.signal(syscall.SIGKILL); <-g.exited },
	} {
		t.Run(name, func(t *testing.T) {
			g := start(t, newHome(t), "")
			var st ops.Status
			eventually.Within(func() bool { // the groups are set up some milliseconds after the start
				g.socket(http.MethodGet, "/v1/status", nil, &st)
				return len(st.Containment.SessionLimits) > 0
			})
			if !slices.Contains(st.Containment.SessionLimits, "memory") || !slices.Contains(st.Containment.SessionLimits, "pids") {
				soak.Missing(t, "no control group bounds a session here: %q", st.Containment.SessionLimits)
			}
			const messages = 400
			g.p99(messages / 4)
			before := g.p99(messages)
			hogged := g.job("eve", "bash "+hog)
			eventually.True(t, "the row of the hog names its limit", func() bool { return g.processOf(hogged).LimitHit == "memory_max" })
			bombed := g.job("mallory", "bash "+bomb)
			eventually.True(t, "the row of the bomb names its limit", func() bool { return g.processOf(bombed).LimitHit == "pids_max" })
			during := g.p99(messages)
			if row := g.processOf(bombed); row.TreeSize > 512 || !strings.Contains(row.Limit, "512 processes") {
				t.Errorf("the bomb has the row %+v", row)
			}
			t.Logf("p99 of other sessions: %s before, %s meanwhile, with controllers %q", before, during, st.Containment.SessionLimits)
			// The test itself shares the cores with what it started, so the bound has some milliseconds to spare.
			if during > 2*before+10*time.Millisecond {
				t.Errorf("p99 of other sessions went from %s to %s", before, during)
			}
			end(g)
			eventually.True(t, "nothing is left", func() bool { return len(marked(t, g.life)) == 0 })
		})
	}
}

// The limits of an environment of the config hold what runs in it, and the one that was reached is named.
func TestTR7_AnEnvironmentOfTheConfigHasItsOwnLimits(t *testing.T) {
	t.Parallel() // it mostly waits
	soak.Long(t)
	soak.Peer(t, "bwrap", "apt-get install bubblewrap")
	soak.Peer(t, "python3", "apt-get install python3")
	g := start(t, newHome(t), "[agent]\nenvironment = \"box\"\napprovals = \"off\"\n[environments.box]\nkind = \"sandbox\"\nmemory_max = \"64MiB\"\npids_max = 12\n")
	var st ops.Status
	if !eventually.Within(func() bool {
		g.socket(http.MethodGet, "/v1/status", nil, &st)
		return slices.Contains(st.Containment.SessionLimits, "memory") && slices.Contains(st.Containment.SessionLimits, "pids")
	}) {
		soak.Missing(t, "no control group bounds a session here: %q", st.Containment.SessionLimits)
	}
	if reply, _ := g.chat("alice", "sh: echo works"); !strings.Contains(reply, "works") {
		t.Skipf("runs where a sandbox works: %s", reply)
	}
	for user, c := range map[string]struct{ command, limit string }{
		"bob":   {`python3 -c "import os; [os.fork() for _ in range(6)]"`, "pids_max"},
		"carol": {"head -c 300000000 /dev/zero | tail", "memory_max"},
	} {
		if reply, _ := g.chat(user, "sh: "+c.command); !strings.Contains(reply, "exit code") && !strings.Contains(reply, "Resource temporarily unavailable") { // of a child alone
			t.Errorf("%q ended well: %s", c.command, reply)
		}
		g.await(c.limit, func(l line) bool {
			return l.text("event") == string(ops.EventProcessLimit) && l.text("limit") == c.limit
		})
	}
	if reply, _ := g.chat("alice", "sh: echo works"); !strings.Contains(reply, "works") {
		t.Errorf("another session is answered with %s", reply)
	}
	g.stop()
}
