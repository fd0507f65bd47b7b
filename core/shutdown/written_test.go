package shutdown

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/ops"
)

// A9: the file left by a SIGKILL names the phase in progress, its start and the blockers.
func TestA9_EveryTransitionIsSavedBeforeThePhaseIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCast(t)
		d := &disk{}
		r := Start(Plan{[]Phase{
			{Name: "quick", Budget: time.Second, List: items(takes("a", 0))},
			{Name: "stuck", Budget: 5 * time.Second, List: items(c.hang("adapter", "x"), takes("y", time.Second))},
			{Name: "last", Budget: time.Second, List: items(takes("b", 0))},
		}}, Options{Exit: noExit(t), Save: func(s ops.Shutdown) error { time.Sleep(time.Millisecond); return d.save(s) }})
		time.Sleep(3 * time.Second)
		saved := d.saved()
		last := saved[len(saved)-1]
		if p, ok := last.Running(); !ok || p.Name != "stuck" || p.StartedAt.IsZero() || len(last.Blockers()) != 1 || last.Blockers()[0].ID != "x" {
			t.Errorf("the file says %+v", last)
		}
		<-r.Done()
		saved = d.saved()
		began := map[string]bool{}
		for _, s := range saved {
			if p, ok := s.Running(); ok && len(p.Items) > 0 {
				began[p.Name] = true
			}
		}
		if !began["quick"] || !began["stuck"] || !began["last"] {
			t.Errorf("phases on disk while they ran: %v, want all three", began)
		}
		if last := saved[len(saved)-1]; last.Outcome != ops.ShutdownIncomplete || last.EndedAt.IsZero() {
			t.Errorf("the last save is not the end: %+v", last)
		}
	})
}

// A19: a SIGKILL at any transition leaves a file that says how far the stop had come, and an end only if there was one.
func TestA19_WhereverAStopIsCutShortItsFileSaysWhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCast(t)
		d := &disk{}
		plan := Standard(defaults())
		for i := range plan.Phases {
			plan.Phases[i].List = items(takes("x", time.Millisecond), c.hang("task", "y"))
		}
		r := Start(plan, Options{ID: "s1", Life: "l1", Reason: "upgrade", By: "uid 1000", Exit: noExit(t), Save: d.save})
		<-r.Done()
		saves := d.saved()
		seen := map[string]bool{}
		last := false // an end was written
		for i, s := range saves {
			b, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			var read ops.Shutdown
			if err := json.Unmarshal(b, &read); err != nil {
				t.Fatal(err)
			}
			if read.ID != "s1" || read.Life != "l1" || read.Reason != "upgrade" || read.By != "uid 1000" || read.StartedAt.IsZero() {
				t.Errorf("file %d does not say whose stop it is: %s", i, b)
			}
			over := true
			for _, p := range read.Phases {
				over = over && p.State.Over()
				seen[p.Name+" "+string(p.State)] = true
			}
			if ended := read.Outcome != ops.ShutdownRunning; ended == read.EndedAt.IsZero() || ended && !over || last && !ended {
				t.Errorf("file %d of %d says that the stop is %s: %s", i, len(saves), read.Outcome, b)
			} else {
				last = ended
			}
		}
		if !last {
			t.Error("no file says that the stop is over")
		}
		for _, f := range plan.Phases {
			// Release has no budget, and nothing is left over here that it could run in.
			if f.Budget > 0 && (!seen[f.Name+" running"] || !seen[f.Name+" timed_out"]) {
				t.Errorf("the files do not show that phase %s ran and how it ended", f.Name)
			}
		}
	})
}

// CONTRACT.md, 8.
func TestEachPhaseWritesOneLineWhenItBeginsAndOneWhenItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCast(t)
		var b bytes.Buffer
		log := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			switch {
			case a.Key == slog.TimeKey:
				return slog.Attr{}
			case a.Key == "stack" && strings.Contains(a.Value.String(), "_test.go:"): // it leads to the panic
				return slog.String("stack", "here")
			}
			return a
		}}))
		var events []ops.EventType
		r := Start(Plan{[]Phase{
			{Name: "first", Budget: time.Second, List: items(c.hang("adapter", "x"), panics("y", "boom"))},
			{Name: "second", Budget: time.Second, When: func(*Run) (bool, string) { return false, "not needed" }},
			{Name: "third", Budget: time.Second, List: func(context.Context, *Run) []Item { panic("no map") }},
		}}, Options{Exit: noExit(t), Log: log, Observe: func(e Event) { events = append(events, e.Type) }})
		<-r.Done()
		want := []string{
			`level=INFO msg=shutdown.phase phase=first state=running elapsed_ms=0 budget_ms=1000 blockers="[adapter:x task:y]"`,
			`level=ERROR msg=shutdown.item phase=first kind=task id=y state=failed elapsed_ms=0 budget_ms=1000 detail="panic: boom" stack=here`,
			`level=WARN msg=shutdown.item phase=first kind=adapter id=x state=timed_out elapsed_ms=1000 budget_ms=1000 detail="did not return within 1s"`,
			`level=WARN msg=shutdown.phase phase=first state=timed_out elapsed_ms=1000 budget_ms=1000 blockers=[adapter:x] detail="1 of 2 did not end in time, 1 of 2 failed"`,
			`level=INFO msg=shutdown.phase phase=second state=skipped elapsed_ms=0 budget_ms=1000 blockers=[] detail="not needed"`,
			`level=INFO msg=shutdown.phase phase=third state=running elapsed_ms=0 budget_ms=1000 blockers=[] detail="listing its items: panic: no map"`,
			`level=ERROR msg=shutdown.phase phase=third state=failed elapsed_ms=0 budget_ms=1000 blockers=[] detail="listing its items: panic: no map" stack=here`,
		}
		got := strings.Split(strings.TrimSpace(b.String()), "\n")
		for i := range max(len(got), len(want)) {
			var g, w string
			if i < len(got) {
				g = got[i]
			}
			if i < len(want) {
				w = want[i]
			}
			if g != w {
				t.Errorf("line %d:\n got %s\nwant %s", i+1, g, w)
			}
		}
		p, i := ops.EventShutdownPhase, ops.EventShutdownItem
		if want := []ops.EventType{p, i, i, p, p, p, p, ops.EventShutdownEnded}; fmt.Sprint(events) != fmt.Sprint(want) {
			t.Errorf("observed %v, want %v", events, want)
		}
	})
}

func TestDetailsAreOneBoundedLineOfText(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain text stays", "dial tcp 10.0.0.1:443", "dial tcp 10.0.0.1:443"},
		{"control characters become blanks", "a\x00b\x1bc\x9bd\r\ne", "a b c?d  e"},
		{"C1 in UTF-8 as well", "a\u009bb", "a b"},
		{"bidi and line separators too", "a\u202eb\u2028c", "a b c"},
		{"bytes that are not UTF-8 are marked", "a\xffb", "a?b"},
		{"nothing is nothing", "", ""},
		{"long text is cut between runes", strings.Repeat("é", 400), strings.Repeat("é", 150) + "…"},
		{"long text that is not UTF-8 is cut too", strings.Repeat("\x80", 400), strings.Repeat("?", 296) + "…"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := clean(tt.in); got != tt.want {
				t.Errorf("clean(%.20q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}
