package e2e

import (
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/skew"
	"gatewaytui/fixtures/soak"
)

const day = 24 * time.Hour

// watchful is a config in which a conversation without a message for a day starts afresh, and the gateway looks five times a
// second for what has expired and what has stalled.
const watchful = quick + `
[session]
idle_reset = "24h"
[agent]
stall_warn = "2s"
stall_after = "1h"
`

// Gaps in kind: while the clock is two days ahead, two days back or ten years back, no conversation expires and no turn is
// taken for stalled before its time. Ages are those of the monotonic clock, and the life that ends then has lasted some time.
func TestAClockThatJumpsUnderARunningGatewayChangesNothing(t *testing.T) {
	t.Parallel() // it mostly waits
	soak.Long(t)
	clock := skew.New(t)
	config := modelAt(mirror(t).URL, watchful)
	for _, tt := range []struct {
		name string
		jump time.Duration
	}{
		{"two days ahead", 2 * day},
		{"two days back", -2 * day},
		{"ten years back", -3652 * day},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home := newHome(t)
			clock.Set(0)
			g := startUnder(t, clock.Line(binary), home, config)
			g.chat("a", "before the jump")
			before := g.session("api:user:a").ID
			if before == "" {
				t.Fatal("no conversation is listed")
			}
			g.say("b", "hang")
			t.Cleanup(func() { _ = g.cmd.Process.Kill() }) // the hanging turn of a test that fails ends with it
			g.running("api:user:b", "model call")

			clock.Set(tt.jump)
			// The turn began before the jump and stalls after it: the gateway has looked, by its monotonic clock.
			stalled := g.await("the hanging turn is found", func(l line) bool { return l.text("msg") == "turn stalled" })
			if at, err := time.Parse(time.RFC3339, stalled.text("time")); err != nil || clock.Now().Sub(at).Abs() > time.Hour {
				t.Fatalf("the log says %q at %s: the program does not see the clock that was set", stalled.text("time"), clock.Now())
			}
			if still, err := time.ParseDuration(stalled.text("without_progress")); err != nil || still <= 0 || still > time.Hour {
				t.Errorf("the turn is said to have made no progress for %q", stalled.text("without_progress"))
			}
			if after := g.session("api:user:a").ID; after != before {
				t.Errorf("the idle conversation was %s and is %q", before, after)
			}
			if s := g.session("api:user:b"); s.State != ops.SessionStalled {
				t.Errorf("the session of the hanging turn is %q, want it stalled", s.State)
			}
			if reply, status := g.chat("c", "after the jump"); status != http.StatusOK {
				t.Errorf("a new turn is answered %d %q", status, reply)
			}
			eventually.True(t, "the clock is judged", g.doubtsClock)
			var st ops.Status
			g.socket(http.MethodGet, "/v1/status", nil, &st)
			if up := time.Duration(st.UptimeMS) * time.Millisecond; up <= 0 || up > time.Hour {
				t.Errorf("it is said to be up for %v", up)
			}
			out := string(mustRun(t, clock.Command(binary, "history", "--home", home)))
			if strings.Contains(out, " 0s") {
				t.Errorf("history says of the running life:\n%s", out)
			}

			if code, _ := g.stop(); code != 0 {
				t.Errorf("the stop ended with %d", code)
			}
			clock.Set(0)
			// Without idle_reset: what was said while the clock was back is old for the life whose clock is right.
			next := startUnder(t, clock.Line(binary), home, modelAt(mirror(t).URL, quick))
			if after := next.session("api:user:a").ID; after != before {
				t.Errorf("back in time, the idle conversation was %s and is %q", before, after)
			}
			for user, text := range map[string]string{"a": "before the jump", "c": "after the jump"} {
				if all, _ := next.chat(user, recall); !strings.Contains(all, "assistant: heard "+text+"\n") {
					t.Errorf("back in time, the conversation of %s is %q", user, all)
				}
			}
			last := next.lifeBefore()
			if lasted := last.EndedAt.Sub(last.StartedAt.Time); last.Outcome != ops.OutcomeClean || lasted <= 0 || lasted > time.Hour {
				t.Errorf("the life with the jump is %+v: it lasted %v", last, lasted)
			}
			if code, _ := next.stop(); code != 0 {
				t.Errorf("the stop of the next life ended with %d", code)
			}
		})
	}
}

// HF21: two lives with a clock a year ahead cost no conversation and no row, and the life after them, whose clock is right,
// has everything.
func TestHF21_TwoLivesAYearAheadLoseNothing(t *testing.T) {
	t.Parallel() // it mostly waits
	soak.Long(t)
	clock := skew.New(t)
	home := newHome(t)
	config := modelAt(mirror(t).URL, watchful)
	var said ledger
	g := startUnder(t, clock.Line(binary), home, config)
	end := said.load(g.api, "early", 4)
	t.Cleanup(end)
	said.underLoad(t, 100)
	end()
	g.chat("over", "of a conversation that has ended")
	if out, code := g.verb("reset", "api:user:over", "--yes"); code != 0 {
		t.Fatalf("reset: %d %s", code, out)
	}
	if code, _ := g.stop(); code != 0 {
		t.Fatalf("the stop ended with %d", code)
	}
	rows := countRows(t, home)
	clock.Set(365 * day)
	for life := range 2 {
		g := startUnder(t, clock.Line(binary), home, config)
		g.say("hangs", "hang")
		g.await("it has looked for what is over", func(l line) bool { return l.text("msg") == "turn stalled" })
		if !g.doubtsClock() {
			t.Errorf("life %d does not doubt a clock a year ahead", life)
		}
		for _, line := range said.lost(g, "early") {
			t.Errorf("life %d has lost: %s", life, line)
		}
		if code, _ := g.stop(); code != 0 {
			t.Errorf("life %d ended with %d", life, code)
		}
		if now := countRows(t, home); now["sessions"] < rows["sessions"] || now["turns"] < rows["turns"] || now["messages"] < rows["messages"] {
			t.Errorf("life %d left %v of %v rows", life, now, rows)
		}
	}
	clock.Set(0)
	g = startUnder(t, clock.Line(binary), home, config)
	for _, line := range said.lost(g, "early") {
		t.Errorf("back in time is lost: %s", line)
	}
	if code, _ := g.stop(); code != 0 {
		t.Errorf("the stop ended with %d", code)
	}
}

// countRows is how many rows the tables of conversations have, those that are over included. No gateway may have home.
func countRows(t testing.TB, home string) map[string]int {
	t.Helper()
	db := database(t, home)
	defer db.Close()
	rows := map[string]int{}
	for _, table := range []string{"sessions", "turns", "messages"} {
		var n int
		if err := db.QueryRow("SELECT count(*) FROM " + table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		rows[table] = n
	}
	return rows
}

// session is the row of the conversation that key has now, zero if there is none.
func (g *gateway) session(key string) ops.Session {
	g.t.Helper()
	var page struct{ Items []ops.Session }
	g.socket(http.MethodGet, "/v1/sessions?limit=500", nil, &page)
	for _, s := range page.Items {
		if s.Key == key {
			return s
		}
	}
	return ops.Session{}
}

// doubtsClock reports whether status warns of the clock.
func (g *gateway) doubtsClock() bool {
	g.t.Helper()
	var st ops.Status
	g.socket(http.MethodGet, "/v1/status", nil, &st)
	for _, w := range st.Warnings {
		if w.Code == "clock" {
			return true
		}
	}
	return false
}

// lifeBefore is the row of the life before this one.
func (g *gateway) lifeBefore() ops.Life {
	g.t.Helper()
	var h struct{ Items []ops.Life }
	g.socket(http.MethodGet, "/v1/history", nil, &h)
	if len(h.Items) < 2 {
		g.t.Fatalf("the history has %d lives, want 2", len(h.Items))
	}
	return h.Items[1]
}

func mustRun(t testing.TB, cmd *exec.Cmd) []byte {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", cmd.Args, err, out)
	}
	return out
}
