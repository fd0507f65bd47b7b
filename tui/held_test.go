package tui

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

// withHeld is a gateway with a server of two sessions, an idle one, a hook and two jobs.
func withHeld() *gateway {
	g := newGateway()
	g.snap.Servers = []ops.Server{
		{Name: "files", Scope: ops.ServerOfSession, Session: "api:user:alice", State: ops.ServerReady, Tools: 11},
		{Name: "files", Scope: ops.ServerOfSession, Session: "cli:local", State: ops.ServerFailed, LastError: "exit status 1"},
		{Name: "github", Scope: ops.ServerOfGateway, State: ops.ServerIdle},
	}
	g.snap.Held = []ops.Held{
		{Kind: ops.HeldServer, ID: "files", Session: "api:user:alice", Owner: "mcp:files", State: ops.HeldReady},
		{Kind: ops.HeldServer, ID: "files", Session: "cli:local", Owner: "mcp:files", State: ops.HeldFailed},
		{Kind: ops.HeldAgent, ID: "coder", Session: "cli:local", Owner: "acp", State: ops.HeldReady},
		{Kind: ops.HeldHook, ID: "notify", Owner: "hook", State: ops.HeldStarting},
	}
	g.snap.Jobs = []ops.Job{
		{Name: "morning", Schedule: "0 8 * * *", State: ops.JobWaiting, Session: "job:morning"},
		{Name: "report", Schedule: "every 6h", State: ops.JobPaused, Session: "job:report"},
	}
	return g
}

func TestEachKeyOfTheViewHeldActsOnItsRow(t *testing.T) {
	const restart, job, paused, hook, agent = "/github", "/morning", "/report", "/notify", "/coder"
	for _, tc := range []struct {
		name, row string
		keys      []string
		sent      string
	}{
		{"R restarts a server, after a yes", restart, []string{"R", "y"}, "servers.restart github"},
		{"R without a yes does nothing", restart, []string{"R", "n"}, ""},
		{"t runs a job at once", job, []string{"t"}, "jobs.run morning"},
		{"P pauses a job at once", job, []string{"P"}, "jobs.pause morning"},
		{"c resumes a paused job", paused, []string{"c"}, "jobs.resume report"},
		{"P does nothing to a paused job", paused, []string{"P"}, ""},
		{"c does nothing to a job that is not paused", job, []string{"c"}, ""},
		{"X deletes a job, after a yes", job, []string{"X", "y"}, "jobs.delete morning"},
		{"R does nothing to a job", job, []string{"R", "y"}, ""},
		{"X and t do nothing to a server", restart, []string{"X", "y", "t"}, ""},
		{"E ends an external agent with the cached agent of its session", agent, []string{"E", "y"}, "session.evict cli:local"},
		{"E does nothing to a hook", hook, []string{"E", "y"}, ""},
		{"R does nothing to an external agent", agent, []string{"R", "y"}, ""},
		{"no key acts on a hook", hook, []string{"R", "y", "t", "P", "c", "X", "y"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := withHeld()
				b := newBench(t, g, Options{})
				b.patiently("9")
				for _, k := range tc.row {
					b.patiently(string(k))
				}
				b.patiently(append([]string{"enter"}, tc.keys...)...)
				sent := ""
				for _, c := range g.commands() {
					sent += fmt.Sprintf("%s %s", c.Verb, c.Target)
				}
				if sent != tc.sent {
					t.Errorf("the gateway got %q, want %q; message %q", sent, tc.sent, b.m.message)
				}
			})
		})
	}
}

func TestTheViewHeldListsServersThatDoNotRunAndJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, withHeld(), Options{})
		b.patiently("9")
		want := []string{"server files of api:user:alice", "server files of cli:local", "server github", "acp coder of cli:local", "hook notify", "job morning", "job report"}
		if got := views.Keys(&b.m.shown, views.Held); strings.Join(got, ",") != strings.Join(want, ",") {
			t.Errorf("the view lists %q, want %q", got, want)
		}
	})
}

func TestAPaletteNamesServersAndJobsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, withHeld(), Options{})
		b.patiently("9")
		for kind, want := range map[ops.Verb]string{ops.VerbRestartServer: "files,github", ops.VerbRunJob: "morning,report"} {
			spec, _ := kind.Spec()
			if got := strings.Join(targets(spec)(b.m), ","); got != want {
				t.Errorf("%s offers %q, want %q", kind, got, want)
			}
		}
	})
}
