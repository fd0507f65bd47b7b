package e2e

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/docker"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// boxed is a config whose agent runs commands in containers.
const boxed = quick + `
[agents.default]
environment = "box"
[environments.box]
kind = "container"
image = "tools:1"
`

// dockerMachine starts the double of Docker, for the gateways of the test.
func dockerMachine(t *testing.T) *docker.Machine {
	t.Helper()
	m := docker.Start(t, "tools:1")
	setenv(t, "PATH", m.Bin+":"+os.Getenv("PATH"))
	setenv(t, "DOCKER_HOST", m.Host)
	return m
}

// TR6: a session's commands run in its container, which ends with its agent, and with the gateway.
func TestTR6_ASessionHasAContainerUntilItEnds(t *testing.T) {
	t.Parallel() // it mostly waits
	m := dockerMachine(t)
	g := start(t, newHome(t), boxed)
	if len(m.Containers(t)) > 0 {
		t.Fatal("a container exists before its first use")
	}
	for _, user := range []string{"ann", "ann", "bob"} {
		if reply, status := g.chat(user, `sh: echo "in $HOSTNAME"; exit 3`); status != http.StatusOK || !strings.Contains(reply, "in gatewaytui-") {
			t.Fatalf("the command was answered with %d %q; the containers are %q", status, reply, m.Containers(t))
		}
	}
	all := m.Containers(t)
	rows := g.environments()
	if len(all) != 2 || len(rows) != 2 || rows[0].Kind != "container" || rows[0].Session != "api:user:ann" || !strings.Contains(rows[0].Detail, all[0]) {
		t.Errorf("the containers are %q, the rows %+v", all, rows)
	}
	var sessions ops.Page[ops.Session]
	if g.socket(http.MethodGet, "/v1/sessions", nil, &sessions); len(sessions.Items) != 2 || sessions.Items[0].Environment != rows[0].Name || rows[0].Name == "" {
		t.Errorf("the sessions are %+v, want each with the environment %q", sessions.Items, rows[0].Name)
	}
	if out, code := g.verb("reset", "api:user:ann", "--yes"); code != 0 {
		t.Fatalf("the reset: %d %s", code, out)
	}
	eventually.True(t, "the reset removes the session's container", func() bool { return len(m.Containers(t)) == 1 && len(g.environments()) == 1 })

	g.job("bob", "sleep 1005")
	worst := plan(t, g)
	code, took := g.stop()
	if code != 0 || took > worst {
		t.Errorf("the stop ended with %d after %v, the plan said at most %v", code, took, worst)
	}
	if left := m.Containers(t); len(left)+len(m.Processes(""))+len(marked(t, g.life)) > 0 {
		t.Errorf("after the stop there are %q, %v, %v", left, m.Processes(""), marked(t, g.life))
	}
}

// TR6, C2: after a SIGKILL the next life says what may still exist, and removes it when the daemon answers.
func TestTR6_TheNextLifeRemovesTheContainersOfAKilledOne(t *testing.T) {
	t.Parallel() // it mostly waits
	m := dockerMachine(t)
	home := newHome(t)
	g := start(t, home, boxed)
	g.job("ann", "sleep 1006")
	m.Freeze(t, true)
	g.signal(syscall.SIGKILL)
	g.exit()
	eventually.True(t, "the guardian ends what the gateway had started", func() bool { return len(marked(t, g.life)) == 0 })
	if len(m.Containers(t)) != 1 {
		t.Fatalf("the containers are %q", m.Containers(t))
	}
	next := start(t, home, boxed)
	eventually.True(t, "the next life lists it", func() bool {
		rows := next.environments()
		return len(rows) == 1 && rows[0].ID == m.Containers(t)[0] && rows[0].Session == "api:user:ann"
	})
	m.Freeze(t, false)
	eventually.True(t, "it is removed when the daemon answers", func() bool {
		return len(m.Containers(t))+len(m.Processes(""))+len(next.environments()) == 0
	})
	if code, _ := next.stop(); code != 0 {
		t.Errorf("the stop ended with %d", code)
	}
}

// TR6: a daemon that hangs costs a stop nothing beyond its plan, and nothing is left outside of the daemon. What it may still hold is
// in the report, is listed by the next life, and is removed.
func TestTR6_AStopIsBoundedWhileTheContainersDaemonHangs(t *testing.T) {
	t.Parallel() // it mostly waits
	const containers = 10
	fenced := soak.Count(t, 3, 100)
	m := dockerMachine(t)
	home := newHome(t)
	g := start(t, home, boxed+`
[agents.fenced]
environment = "auto"
[[routes]]
match = "api:user:fenced*"
agent = "fenced"
[limits]
processes_total = 4096
`)
	for i := range containers {
		g.job(fmt.Sprint("user", i), "sleep 1007")
	}
	for i := range fenced {
		g.job(fmt.Sprint("fenced", i), "trap '' TERM; while :; do sleep 1; done")
	}
	kinds := map[string]int{}
	for _, row := range g.environments() {
		kinds[string(row.Kind)]++
	}
	t.Logf("the environments are %v", kinds)
	names := m.Containers(t)
	if len(names) != containers {
		t.Fatalf("the containers are %q", names)
	}
	worst := plan(t, g)
	m.Freeze(t, true)
	code, took := g.stop()
	if code != 0 || took > worst+50*time.Millisecond {
		t.Errorf("the stop ended with %d after %v, the plan said at most %v", code, took, worst)
	}
	t.Logf("a stop with %d containers whose daemon hangs and %d other environments: %v of at most %v", containers, fenced, took.Round(time.Millisecond), worst)
	if left := marked(t, g.life); len(left) > 0 {
		t.Errorf("still running:\n%s", strings.Join(left, "\n"))
	}
	report, err := os.ReadFile(home + "/dumps/shutdown-" + g.life + ".json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.Contains(string(report), name) {
			t.Errorf("the report does not name %s", name)
		}
	}
	next := start(t, home, boxed)
	eventually.True(t, "the next life lists them", func() bool {
		var ids []string
		for _, row := range next.environments() {
			ids = append(ids, row.ID)
		}
		slices.Sort(ids)
		slices.Sort(names)
		return slices.Equal(ids, names)
	})
	m.Freeze(t, false)
	eventually.True(t, "they are removed when the daemon answers", func() bool {
		return len(m.Containers(t))+len(m.Processes(""))+len(next.environments()) == 0
	})
	if code, _ := next.stop(); code != 0 {
		t.Errorf("the stop ended with %d", code)
	}
}
