package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/mcptest"
)

// withServers is a config with tool servers that behave so, whose tool echo each is called by "use N".
func withServers(t *testing.T, count int, behaviours ...string) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script, config, names := "", "", []string{}
	for n := range count {
		scope := "session"
		if n%2 == 1 {
			scope = "gateway"
		}
		names = append(names, fmt.Sprintf("%q", fmt.Sprintf("s%d", n)))
		script += fmt.Sprintf("[[rule]]\nmatch = '^use %d$'\ncall = [{ tool = 's%d__echo', arguments = { text = 'from %d' } }]\n", n, n, n)
		command := []string{fmt.Sprintf("%q", program), fmt.Sprintf("%q", mcptest.Argument)}
		for _, b := range behaviours {
			command = append(command, fmt.Sprintf("%q", b))
		}
		config += fmt.Sprintf("[servers.s%d]\ncommand = [%s]\nscope = %q\ntrusted = [\"*\"]\ntools = [\"echo\"]\n", n, strings.Join(command, ", "), scope)
	}
	path := filepath.Join(t.TempDir(), "script.toml")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("[model]\nprovider = \"scripted\"\nscript = %q\n[agent]\nservers = [%s]\n[adapters.api]\nlisten = \"127.0.0.1:0\"\n", path, strings.Join(names, ", ")) + config
}

// useAll calls each server once.
func (g *gateway) useAll(count int) {
	g.t.Helper()
	for n := range count {
		if reply, status := g.chat("maria", fmt.Sprintf("use %d", n)); status != http.StatusOK || reply != fmt.Sprintf("from %d", n) {
			g.t.Fatalf("server %d: %d %q", n, status, reply)
		}
	}
}

// HR1, C2: hermes#11202, #57228.
func TestHR1_AGatewayWithTwentyServersThatIsKilledLeavesNone(t *testing.T) {
	t.Parallel()
	g := start(t, newHome(t), withServers(t, 20, mcptest.Fork, mcptest.Stubborn))
	g.useAll(20)
	if n := len(marked(t, g.life)); n < 40 {
		t.Fatalf("%d processes run, want 40: each server has started another", n)
	}
	if err := g.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-g.exited
	g.leavesNothing()
}

func TestHR1_AResetEndsTheServersOfItsSessionAndAStopEndsAll(t *testing.T) {
	t.Parallel()
	g := start(t, newHome(t), withServers(t, 2, mcptest.Fork, mcptest.Stubborn))
	g.useAll(2)
	var page struct {
		Items []struct {
			Name, Session, State string
			PID                  int
			Calls                int
		}
	}
	g.socket(http.MethodGet, "/v1/servers", nil, &page)
	if len(page.Items) != 2 || page.Items[0].State != "ready" || page.Items[0].Session == "" || page.Items[1].Session != "" || page.Items[1].PID == 0 || page.Items[1].Calls != 1 {
		t.Fatalf("the servers are %+v", page.Items)
	}
	if out, code := g.verb("reset", page.Items[0].Session, "--yes"); code != 0 {
		t.Fatalf("reset: %d %s", code, out)
	}
	eventually.True(t, "the session's server has ended, and the gateway's runs", func() bool { return len(marked(t, g.life)) == 2 && alive(page.Items[1].PID) })
	if code, _ := g.stop(); code != 0 {
		t.Errorf("the stop ended with %d", code)
	}
	if left := marked(t, g.life); len(left) != 0 {
		t.Errorf("left after the stop: %q", left)
	}
}
