package e2e

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"gatewaytui/fixtures/eventually"
)

// adopting is quick with background commands that outlive a SIGKILL.
var adopting = strings.Replace(quick, "[process]", "[process]\nsurvivors = \"adopt\"", 1)

type processRow struct {
	PID                            int
	Session, State, Policy, Origin string
	Last                           string `json:"last_output"`
	TreeSize                       int    `json:"tree_size"`
}

func (g *gateway) processes() map[int]processRow {
	g.t.Helper()
	var page struct{ Items []processRow }
	g.socket(http.MethodGet, "/v1/processes?limit=500", nil, &page)
	rows := map[int]processRow{}
	for _, r := range page.Items {
		rows[r.PID] = r
	}
	return rows
}

// C10: where the operator asked for it, a background command outlives two SIGKILLs of its gateway, is shown as adopted,
// speaks on, and ends with its session; a command in the foreground ends with the first. A stop ends all
// of it.
func TestC10_ABackgroundCommandIsAdopted(t *testing.T) {
	home := newHome(t)
	g := start(t, home, adopting)
	server := g.job("alice", "setsid sleep 7001 & i=0; while :; do echo line $((i++)); sleep 0.05; done")
	other := g.job("bob", "sleep 7002")
	g.say("carol", "sh: sleep 7003; :")
	g.running("api:user:carol", "terminal")
	first := g.life
	for range 2 {
		g.signal(syscall.SIGKILL)
		<-g.exited
		g = start(t, home, adopting)
		var row processRow
		eventually.True(t, "the server is shown as adopted, whole, and speaks", func() bool {
			row = g.processes()[server]
			return row.Origin == "adopted" && row.Policy == "kept" && row.Session == "api:user:alice" && row.State == "running" &&
				row.TreeSize >= 3 && strings.HasPrefix(row.Last, "line ")
		})
		if row := g.processes()[other]; row.Origin != "adopted" || !alive(other) {
			t.Errorf("the other command: %+v", row)
		}
	}
	for _, p := range marked(t, first) {
		if strings.Contains(p, "sleep 7003") {
			t.Errorf("the foreground command outlives the gateway: %s", p)
		}
	}
	if out, code := g.verb("reset", "api:user:alice", "--yes"); code != 0 {
		t.Fatalf("reset: %d %s", code, out)
	}
	eventually.True(t, "the server ends with its session", func() bool { _, there := g.processes()[server]; return !there && !alive(server) })
	if !alive(other) {
		t.Error("the other session's command ended as well")
	}
	if code, _ := g.stop(); code != 0 {
		t.Errorf("the stop ended with %d", code)
	}
	if left := marked(t, first); len(left) > 0 {
		t.Errorf("still running after the stop:\n%s", strings.Join(left, "\n"))
	}
}
