package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
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

// CV9: the picture of a server's tool is in the next request to a model that sees, and a file in the work folder. A model that does not see
// reads of the file.
func TestCV9_APictureOfAToolReachesAModelThatSees(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for vision, shown := range map[bool]int{true: 1, false: 0} {
		var mu sync.Mutex
		var bodies []string
		model := serve(t, httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			mu.Lock()
			defer mu.Unlock()
			if bodies = append(bodies, string(body)); len(bodies) != 1 {
				completed(w, "seen", "stop")
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"files__image","arguments":"{}"}}]}}]}`)
		})))
		g := start(t, newHome(t), quick+modelAt(model.URL, fmt.Sprintf("vision = %v\n", vision))+fmt.Sprintf("[agent]\nservers = [\"files\"]\n[servers.files]\ncommand = [%q, %q]\ntrusted = [\"*\"]\n", program, mcptest.Argument))
		for _, text := range []string{"look", "and now?"} {
			if reply, status := g.chat("maria", text); status != http.StatusOK || reply != "seen" {
				t.Fatalf("vision %v: %d %q", vision, status, reply)
			}
		}
		mu.Lock()
		if n := len(bodies); n != 3 {
			t.Fatalf("vision %v: the model was asked %d times", vision, n)
		}
		if got := strings.Count(bodies[1], "data:image/png;base64,"+mcptest.Picture); got != shown || !strings.Contains(bodies[1], "image saved as received/") {
			t.Errorf("vision %v: the request shows it %d times: %s", vision, got, bodies[1])
		}
		if strings.Contains(bodies[2], mcptest.Picture) || !strings.Contains(bodies[2], "image saved as received/") {
			t.Errorf("vision %v: the next turn's request is %s", vision, bodies[2])
		}
		mu.Unlock()
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
