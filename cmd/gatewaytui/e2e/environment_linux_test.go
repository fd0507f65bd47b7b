package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// sandboxed is a config whose commands run where auto puts them.
const sandboxed = quick + `
[agents.default]
environment = "auto"
`

// environments are the rows of what commands run in.
func (g *gateway) environments() []ops.Environment {
	g.t.Helper()
	var page ops.Page[ops.Environment]
	g.socket(http.MethodGet, "/v1/environments", nil, &page)
	return page.Items
}

// awaitFile waits until a file has a text.
func awaitFile(t *testing.T, path, text string) {
	t.Helper()
	eventually.True(t, path+" has "+text, func() bool {
		got, _ := os.ReadFile(path)
		return strings.TrimSpace(string(got)) == text
	})
}

func TestTR6_ACommandRunsInASandboxThatEndsWithItsSession(t *testing.T) {
	soak.Peer(t, "bwrap", "bubblewrap")
	home := newHome(t)
	g := start(t, home, sandboxed)
	own := filepath.Join(home, "agents", "default", "home")
	reply, _ := g.chat("a", "sh: cat "+home+"/api.key; echo $HOME; echo t > /tmp/t")
	if !strings.Contains(reply, "No such file") || !strings.Contains(reply, own) {
		t.Fatalf("the command said %q", reply)
	}
	rows := g.environments()
	if len(rows) != 1 || rows[0].Kind != ops.EnvironmentSandbox || rows[0].Session != "api:user:a" || rows[0].State != ops.EnvironmentReady {
		t.Fatalf("environments = %+v", rows)
	}
	pid := g.job("a", `trap 'echo term > ~/term; exit 0' TERM; echo began > ~/began; while :; do sleep 0.05; done`)
	awaitFile(t, filepath.Join(own, "began"), "began")
	if row := g.processOf(pid); row.Environment != "sandbox" {
		t.Errorf("the process is %+v", row)
	}
	if out, code := g.verb("reset", "api:user:a", "--yes"); code != 0 {
		t.Fatalf("reset: %d %s", code, out)
	}
	eventually.True(t, "the reset ends the sandbox", func() bool { return len(g.environments()) == 0 })
	awaitFile(t, filepath.Join(own, "term"), "term")
	left, err := filepath.Glob(filepath.Join(home, "environments", "sandbox", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("it left %q, %v", left, err)
	}
}

func TestTR6_AStopReachesTheCommandsOfSandboxesBeforeItTakesWhatTheyUse(t *testing.T) {
	soak.Peer(t, "bwrap", "bubblewrap")
	home := newHome(t)
	g := start(t, home, sandboxed)
	own := filepath.Join(home, "agents", "default", "home")
	for _, user := range []string{"a", "b"} {
		g.job(user, `trap 'echo term > ~/term.`+user+`; exit 0' TERM; echo began > ~/began.`+user+`; while :; do sleep 0.05; done`)
		awaitFile(t, filepath.Join(own, "began."+user), "began")
	}
	if code, _ := g.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	for _, user := range []string{"a", "b"} {
		awaitFile(t, filepath.Join(own, "term."+user), "term")
	}
	if left, err := filepath.Glob(filepath.Join(home, "environments", "sandbox", "*")); err != nil || len(left) > 0 {
		t.Errorf("it left %q, %v", left, err)
	}
}

func TestTR6_NothingOfASandboxIsLeftAfterASIGKILLOfTheGateway(t *testing.T) {
	soak.Peer(t, "bwrap", "bubblewrap")
	home := newHome(t)
	g := start(t, home, sandboxed)
	own := filepath.Join(home, "agents", "default", "home")
	g.job("a", `setsid sleep 4321 & echo began > ~/began; trap '' TERM; env -i sleep 4322`)
	awaitFile(t, filepath.Join(own, "began"), "began")
	g.kill()
	g.leavesNothing()
	eventually.True(t, "what emptied its environment ends as well", func() bool {
		out, _ := shell(home, "ps -eo args | grep -c '^sleep 432[12]$'")
		return strings.TrimSpace(out) == "0"
	})
	g = start(t, home, sandboxed)
	if reply, _ := g.chat("a", "sh: cat ~/began; ls -A /tmp"); !strings.Contains(reply, "began") {
		t.Errorf("the next life says %q", reply)
	}
	if code, took := g.stop(); code != 0 || took > 10*time.Second {
		t.Errorf("exit code %d after %v", code, took)
	}
}
