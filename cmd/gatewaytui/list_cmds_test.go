package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatewaytui/core/ops"
)

// decodeLine reads the one line of JSON that was printed.
func decodeLine(t *testing.T, line string, into any) {
	t.Helper()
	if strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") {
		t.Fatalf("%q is not one line", line)
	}
	if err := json.Unmarshal([]byte(line), into); err != nil {
		t.Fatalf("%q is not JSON: %v", line, err)
	}
}

// same checks that what was printed is what the gateway answered.
func same[T any](t *testing.T, line string, want T) {
	t.Helper()
	var got T
	decodeLine(t, line, &got)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the JSON differs from the gateway's rows (-want +got):\n%s", d)
	}
}

func TestTheListsShowTheGatewaysRows(t *testing.T) {
	g := start(t, newFake())
	tests := []struct {
		verb string
		want []string
		json func(t *testing.T, line string)
	}{
		{
			"sessions",
			[]string{"KEY", "api:user:alice", "stalled", "Alice", "1h0", "running sleep 60", "10/20", "yes", "cli:local"},
			func(t *testing.T, line string) {
				same(t, line, ops.Page[ops.Session]{Items: []ops.Session{sessionRow, plainSession}, Next: "c2"})
			},
		},
		{"agents", []string{"SESSION", "api:user:alice", "running", "4.0 KiB", "12", "5.0s", "yes"}, func(t *testing.T, line string) {
			same(t, line, ops.Page[ops.Agent]{Items: []ops.Agent{agentRow}, Next: "c2"})
		}},
		{"processes", []string{"PID", "9", "running", "1m01s", "0.5", "1.0 MiB", "session", "sleep 60", "DUPLICATE OF", "4711", "ok"}, func(t *testing.T, line string) {
			same(t, line, ops.Page[ops.Process]{Items: []ops.Process{processRow}, Next: "c2"})
		}},
		{"adapters", []string{"NAME", "telegram", "needs credentials", "dial", "5"}, func(t *testing.T, line string) {
			same(t, line, ops.Page[ops.Adapter]{Items: []ops.Adapter{adapterRow}, Next: "c2"})
		}},
		{"environments", []string{"ID", "e1", "sandbox", "auto", "ready", "cli:local", "network off"}, func(t *testing.T, line string) {
			same(t, line, ops.Page[ops.Environment]{Items: []ops.Environment{environmentRow}, Next: "c2"})
		}},
		{"servers", []string{"NAME", "files", "ready", "telegram:dm:4711", "11", "stdio"}, func(t *testing.T, line string) {
			same(t, line, ops.Page[ops.Server]{Items: []ops.Server{serverRow}, Next: "c2"})
		}},
		{"jobs", []string{"NAME", "morning", "waiting", "due", "0 8 * * *", "done", "config"}, func(t *testing.T, line string) {
			same(t, line, ops.Page[ops.Job]{Items: []ops.Job{jobRow}, Next: "c2"})
		}},
		{"browsers", []string{"KIND", "browser", "b1", "ready", "telegram:dm:4711"}, func(t *testing.T, line string) {
			same(t, line, ops.Page[ops.Held]{Items: []ops.Held{heldRow}, Next: "c2"})
		}},
		{"held", []string{"KIND", "browser", "b1", "ready", "telegram:dm:4711"}, func(t *testing.T, line string) {
			same(t, line, ops.Page[ops.Held]{Items: []ops.Held{heldRow}, Next: "c2"})
		}},
		{"memory", []string{"ID", "n1", "person", "telegram:4711", "likes tea"}, func(t *testing.T, line string) {
			same(t, line, ops.Page[ops.Note]{Items: []ops.Note{noteRow}, Next: "c2"})
		}},
		{"inbox", []string{"ID", "7K3M9Q", "command", "waiting", "cli:local", "rm -rf build", "/srv/gw/work", "rm removes files"}, func(t *testing.T, line string) {
			same(t, line, ops.Page[ops.InboxItem]{Items: []ops.InboxItem{inboxRow}, Next: "c2"})
		}},
		{"approvals rules", []string{"ID", "9F2C", "git push", "/srv/gw/work", "uid 0"}, func(t *testing.T, line string) {
			same(t, line, ops.Page[ops.Rule]{Items: []ops.Rule{ruleRow}, Next: "c2"})
		}},
		{"history", []string{
			"LIFE", "00LIFE", "cut short", "adapters", "graceful, 2 of 2 phases in 5.0s, incomplete", "adapters 5.0s of 5.0s (adapter telegram 5.0s)", "deploy", "uid 0",
			"~", "1m30s", "crashed",
		}, func(t *testing.T, line string) {
			same(t, line, ops.Page[ops.Life]{Items: g.lives, Next: "c2"})
		}},
	}
	for _, tt := range tests {
		t.Run(tt.verb, func(t *testing.T) {
			words := strings.Fields(tt.verb)
			g.run(t, words...).must(t, exitDone).says(t, append(tt.want, `there are more: --cursor "c2"`)...)
			tt.json(t, g.run(t, append(words, "--json")...).must(t, exitDone).out)
			g.run(t, append(words, "--limit", "7", "--cursor", "c1", "--filter", "a b")...).must(t, exitDone)
			asked := g.queries()
			if got, want := asked[len(asked)-1], (ops.Query{Limit: 7, Cursor: "c1", Filter: "a b"}); got != want && tt.verb != "history" {
				t.Errorf("asked for %+v, want %+v", got, want)
			}
		})
	}
	if ps, processes := g.run(t, "ps").must(t, exitDone), g.run(t, "processes"); ps.out != processes.out {
		t.Errorf("ps shows\n%s\nand processes\n%s", ps.out, processes.out)
	}
}

func TestATableKeepsItsColumnsForAnyContent(t *testing.T) {
	g := start(t, newFake())
	out := g.run(t, "sessions").must(t, exitDone).out
	lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
	if len(lines) != 3 {
		t.Fatalf("two rows and their heads are %d lines:\n%s", len(lines), out)
	}
	at := strings.Index(lines[0], "STATE")
	if got := []rune(lines[2]); !strings.HasPrefix(string(got[at:]), "running") {
		t.Errorf("the column STATE does not begin at %d in\n%s", at, out)
	}
}

func TestHistoryShowsEachShutdownWithWhatOverran(t *testing.T) {
	g := start(t, newFake())
	g.run(t, "history", "--shutdowns").must(t, exitDone).says(t,
		"life        "+fakeLife+", running", "shutdown    none yet",
		"life        00LIFE, cut short in adapters, from ", "last seen ", "pid 4000", "graceful, incomplete, by uid 0: deploy",
		"adapters", "timed out", "5.0s", "1 of 1 did not end in time",
		"overran     adapter telegram, 5.0s of 5.0s: disconnect",
		"life        000LIFE, crashed", "shutdown    no report",
	)
}

func TestAStopThatWasCutShortIsNotSaidToRun(t *testing.T) {
	f := newFake()
	s := f.lives[1].Shutdown
	s.Outcome, s.EndedAt, s.Phases[1].State = ops.ShutdownRunning, ops.Time{}, ops.StepRunning
	it := &s.Phases[1].Items[0]
	it.State, it.ElapsedMS, it.Next, it.NextInMS = ops.StepRunning, 2000, "abandoned", 3000
	g := start(t, f)
	out := g.run(t, "history", "--shutdowns").must(t, exitDone).says(t, "graceful, cut short, by uid 0: deploy; it took 5.0s", "waited for  adapter telegram, 2.0s of 5.0s").out
	for _, not := range []string{"abandoned in", "waits for", "over in at most"} {
		if strings.Contains(out, not) {
			t.Errorf("a stop that is over is said to go on (%q):\n%s", not, out)
		}
	}
	g.run(t, "history").must(t, exitDone).says(t, "adapters 5.0s of 5.0s (adapter telegram 2.0s)")
}

func TestPlanSaysWhetherItFits(t *testing.T) {
	f := newFake()
	g := start(t, f)
	g.run(t, "plan").must(t, exitDone).says(t, "PHASE", "mark", "500ms", "yes", "fixed", "drain", "1m00s", "shutdown.drain_timeout",
		"worst case  1m28s, 1m00s of it for running turns", "limit       1m30s: it fits")
	same(t, g.run(t, "plan", "--json").must(t, exitDone).out, f.plan)

	f.plan.SupervisorBudgetMS, f.plan.Fits = 20_000, false
	f.plan.Shrunk = []ops.ShrunkPhase{{Name: "drain", WantedMS: 60_000, GotMS: 2_000}}
	g.run(t, "plan").must(t, exitDone).says(t, "limit       20s: it does NOT fit", "shortened   drain to 2.0s, the config asks for 1m00s")

	f.plan.SupervisorBudgetMS = 0
	g.run(t, "plan").must(t, exitDone).says(t, "limit       none known", "shutdown.supervisor_budget")
}

// A filter that matches little is answered in several pages; the verb asks until its own page is full.
func TestAFilteredListIsAskedForUntilItIsFull(t *testing.T) {
	pages := map[string]ops.Page[int]{
		"":  {Items: []int{1}, Next: "a", Scanned: 50},
		"a": {Next: "b", Scanned: 50},
		"b": {Items: []int{2, 3}, Next: "c"},
	}
	var asked []ops.Query
	ask := func(_ context.Context, q ops.Query) (ops.Page[int], error) {
		asked = append(asked, q)
		return pages[q.Cursor], nil
	}
	page, err := ops.Fill(t.Context(), ops.Query{Limit: 3, Filter: "x"}, ask)
	if err != nil || !slices.Equal(page.Items, []int{1, 2, 3}) || page.Next != "c" || page.Scanned != 0 {
		t.Fatalf("got %+v, %v", page, err)
	}
	if last := asked[len(asked)-1]; len(asked) != 3 || last.Limit != 2 || last.Filter != "x" {
		t.Fatalf("asked %+v", asked)
	}
}
