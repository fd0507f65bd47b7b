package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/acpagent"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/mcptest"
	"gatewaytui/fixtures/soak"
)

// holder is a gateway that holds something of each kind, none of which ends when it is asked to. Browsers, which do, are among them under
// make soak.
type holder struct {
	*gateway
	servers, agents, jobs, hooks, browsers int
	config                                 string
}

// hoarding is the script of its model: "serve N" calls a tool of the server N, "stuck N" one that does not return.
func hoarding(servers int) string {
	var b strings.Builder
	for i := range servers {
		fmt.Fprintf(&b, "[[rule]]\nmatch = '^serve %[1]d$'\ncall = [{ tool = \"s%[1]d__echo\", arguments = { text = \"hello\" } }]\n", i)
		fmt.Fprintf(&b, "[[rule]]\nmatch = '^stuck %[1]d$'\ncall = [{ tool = \"s%[1]d__sleep\", arguments = { seconds = 3600 } }]\n", i)
	}
	b.WriteString("[[rule]]\nmatch = '(?s)sleep$'\ncall = [{ tool = \"terminal\", arguments = { command = \"trap '' TERM; sleep 3600 & sleep 3600\" } }]\n")
	return b.String()
}

// hoard starts one, and makes it hold everything.
func hoard(t *testing.T) *holder {
	t.Helper()
	h := &holder{servers: 6, agents: 2, jobs: 3, hooks: 2}
	if !soak.On() {
		t.Parallel() // it mostly waits; under make soak its browsers do not
	} else {
		h.servers, h.agents, h.jobs, h.hooks, h.browsers = 20, 5, 10, 5, 5
	}
	setenv(t, acpagent.Folder, t.TempDir())
	script := filepath.Join(t.TempDir(), "script.toml")
	if err := os.WriteFile(script, []byte(hoarding(h.servers)+browsing), 0o600); err != nil {
		t.Fatal(err)
	}
	var config strings.Builder
	fmt.Fprintf(&config, "%s\n[model]\nscript = %q\n[agents.external]\nkind = \"acp\"\ncommand = [%q]\nenv = [%q]\n", quick, script, os.Args[0], acpagent.Folder)
	config.WriteString("[[routes]]\nmatch = \"api:user:external*\"\nagent = \"external\"\n")
	var names []string
	for i := range h.servers {
		name := fmt.Sprintf("s%d", i)
		names = append(names, fmt.Sprintf("%q", name))
		scope := []string{"session", "gateway"}[i%2]
		fmt.Fprintf(&config, "[servers.%s]\ncommand = [%q, %q, %q, %q]\nscope = %q\ntools = [\"echo\", \"sleep\"]\n", name, os.Args[0], mcptest.Argument, mcptest.Stubborn, mcptest.Fork, scope)
	}
	for i := range h.jobs {
		fmt.Fprintf(&config, "[jobs.j%d]\nschedule = \"every 24h\"\nprompt = \"sleep\"\n", i)
	}
	for i := range h.hooks {
		fmt.Fprintf(&config, "[hooks.h%d]\non = [\"gateway.state\", \"agent.cached\"]\ncommand = [\"bash\", \"-c\", \"trap '' TERM; setsid sleep 3600 & sleep 3600\"]\ntimeout = \"1h\"\n", i)
	}
	fmt.Fprintf(&config, "[agent]\nservers = [%s]\n", strings.Join(names, ", "))
	site := page(t, "for the browsers")
	if h.browsers > 0 {
		config.WriteString(browserServer(t, site) + "[agents.surfer]\nservers = [\"browser\"]\n[[routes]]\nmatch = \"api:user:surfer*\"\nagent = \"surfer\"\n")
	}
	h.config = config.String()
	h.gateway = start(t, newHome(t), h.config)
	for i := range h.browsers { // on a busy machine a browser may need more than one start, each of which has a limit
		eventually.True(t, fmt.Sprintf("the browser %d shows a page", i), func() bool {
			reply, status := h.chat(fmt.Sprintf("surfer%d", i), "go: "+site.URL)
			return status == http.StatusOK && strings.Contains(reply, "A page")
		})
	}
	for i := range h.servers {
		if reply, status := h.chat("a", fmt.Sprintf("serve %d", i)); status != http.StatusOK || !strings.Contains(reply, "hello") {
			t.Fatalf("the server %d answers %d %s", i, status, reply)
		}
	}
	h.say("a", "stuck 0")
	for i := range h.agents {
		h.say(fmt.Sprintf("external%d", i), "deaf")
	}
	t.Cleanup(func() { _ = h.cmd.Process.Kill() }) // before the clients are waited for: what they asked has no answer
	for i := range h.jobs {
		if out, code := h.verb("jobs", "run", fmt.Sprintf("j%d", i)); code != 0 {
			t.Fatalf("jobs run: exit code %d, %s", code, out)
		}
	}
	eventually.True(t, "everything is held", func() bool {
		return h.held(ops.HeldServer) == h.servers && h.held(ops.HeldAgent) == h.agents && h.held(ops.HeldHook) >= h.hooks && h.jobsRun() == h.jobs && h.held(ops.HeldBrowser) == h.browsers
	})
	t.Logf("held are %d servers, %d agents, %d jobs, %d hooks and %d browsers, in %d processes", h.servers, h.agents, h.jobs, h.hooks, h.browsers, len(marked(t, h.life)))
	return h
}

// held is how many resources of a kind the gateway holds.
func (h *holder) held(kind ops.HeldKind) (n int) {
	var page struct{ Items []ops.Held }
	h.socket(http.MethodGet, "/v1/held?limit=1000", nil, &page)
	for _, row := range page.Items {
		if row.Kind == kind {
			n++
		}
	}
	return n
}

func (h *holder) jobsRun() (n int) {
	var page struct{ Items []ops.Job }
	h.socket(http.MethodGet, "/v1/jobs?limit=1000", nil, &page)
	for _, row := range page.Items {
		if row.State == ops.JobRunning {
			n++
		}
	}
	return n
}

// nothingLeft checks that no process of the gateway's life is left.
func (g *gateway) nothingLeft() {
	g.t.Helper()
	eventually.True(g.t, "no process of the gateway is left", func() bool { return len(marked(g.t, g.life)) == 0 })
}

func TestS10_AStopWithEverythingHeldAndHangingKeepsItsPlanAndLeavesNothing(t *testing.T) {
	h := hoard(t)
	var plan struct {
		WorstMS int64 `json:"worst_case_ms"`
	}
	h.socket(http.MethodGet, "/v1/plan", nil, &plan)
	code, took := h.stop()
	if code != 0 {
		t.Errorf("the stop ended with %d", code)
	}
	h.nothingLeft()
	// A folder whose browser could not be ended within these short budgets is removed by the next start (HR2).
	t.Logf("the stop took %v, its plan has %d ms; %d folders of browsers are left for the next start", took, plan.WorstMS, len(folders(h.home)))
	report := h.await("the report of the stop", func(l line) bool { return l.text("msg") == "stopped" })
	if elapsed := report.number("elapsed_ms"); plan.WorstMS == 0 || elapsed > float64(plan.WorstMS)+50 {
		t.Errorf("the stop took %.0f ms (%v), and %d ms is its plan", elapsed, took, plan.WorstMS)
	}
}

func TestS10_AGatewayThatIsKilledWithEverythingHeldLeavesNothing(t *testing.T) {
	h := hoard(t)
	if err := h.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	h.exit()
	began := time.Now()
	h.nothingLeft()
	t.Logf("nothing was left %v after the SIGKILL", time.Since(began))
}

func TestS12_AResetAndAnExpiryLeaveNothingOfWhatTheirSessionsHeld(t *testing.T) {
	h := hoard(t)
	shared := h.servers / 2
	users := []string{"a", "external0", "external1"}
	reset := h.browsers / 2
	for i := range reset {
		users = append(users, fmt.Sprintf("surfer%d", i))
	}
	began := time.Now()
	for _, user := range users {
		if reply, status := h.chat(user, "/new"); status != http.StatusOK {
			t.Fatalf("%d %s", status, reply)
		}
	}
	eventually.True(t, "the sessions hold nothing", func() bool {
		return h.held(ops.HeldServer) == shared && h.held(ops.HeldAgent) == h.agents-2 && h.held(ops.HeldBrowser) == h.browsers-reset
	})
	t.Logf("the sessions that were reset held nothing after %v", time.Since(began))
	if reply, status := h.chat("idle", "serve 0"); status != http.StatusOK {
		t.Fatalf("%d %s", status, reply)
	}
	if n := h.held(ops.HeldServer); n != shared+1 {
		t.Fatalf("%d servers are held, want %d", n, shared+1)
	}
	h.edit(h.config + "[session]\nidle_reset = \"100ms\"\n")
	if out, code := h.verb("reload"); code != 0 {
		t.Fatalf("reload: exit code %d, %s", code, out)
	}
	began = time.Now()
	eventually.True(t, "the sessions that expired hold nothing", func() bool {
		return h.held(ops.HeldServer) == shared && h.held(ops.HeldBrowser) == 0 && len(folders(h.home)) == 0
	})
	t.Logf("the sessions that expired held nothing after %v", time.Since(began))
	for _, command := range marked(t, h.life) {
		if strings.Contains(command, "chromium") || strings.Contains(command, "playwright") {
			t.Errorf("left of a browser: %s", command)
		}
	}
}
