package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

// crowd is n sessions that are idle but for the last four, whose turns have stalled.
func crowd(now time.Time, n int) []ops.Session {
	var rows []ops.Session
	for i := range n {
		r := ops.Session{
			Key: fmt.Sprintf("api:user:%03d", i), ID: fmt.Sprint("s", i), State: ops.SessionIdle,
			LastActivityAt: ops.At(now.Add(-time.Duration(i) * time.Minute)),
		}
		if i >= n-4 {
			at := ops.At(now.Add(-time.Duration(16+i) * time.Minute))
			r.State, r.Turn, r.TurnStartedAt, r.LastProgressAt, r.LastActivityAt = ops.SessionStalled, fmt.Sprint("t", i), at, at, at
		}
		rows = append(rows, r)
	}
	return rows
}

// TF15: fifty sessions take short turns one after the other, four are stalled. The stalled ones are the first rows, and
// the list stands still long enough to be read.
func TestRowsThatNeedAttentionComeFirstAndNoRowDances(t *testing.T) {
	for name, pace := range map[string]time.Duration{
		"each session begins or ends a turn twice a second": 10 * time.Millisecond,
		"each session does so every ten seconds":            200 * time.Millisecond,
	} {
		t.Run(name, func(t *testing.T) { standsStill(t, pace) })
	}
}

// standsStill has one of 51 sessions begin or end a turn each pace.
func standsStill(t *testing.T, pace time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		began := time.Now()
		g.snap.Sessions = crowd(began, 55)
		l := live(t, g, Options{})
		time.Sleep(time.Second)
		l.see(func(m *model) {
			m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
			l.cmd(m.openView(views.Sessions))
		})
		time.Sleep(time.Second)

		shown := func() (keys []string) {
			l.see(func(m *model) { keys = slices.Clone(m.lists[views.Sessions].keys) })
			return keys
		}
		// what moved tells the rows of now that do not stand in the order in which they stood before.
		moved := func(before, now []string) bool {
			return !slices.Equal(slices.DeleteFunc(slices.Clone(before), func(k string) bool { return !slices.Contains(now, k) }),
				slices.DeleteFunc(slices.Clone(now), func(k string) bool { return !slices.Contains(before, k) }))
		}
		changes, turn := 0, 0
		last := shown()
		start := time.Now()
		const minute = time.Minute
		for time.Since(start) < minute {
			for range 10 {
				turn++
				g.change(func(g *gateway) {
					g.snap.Sessions = slices.Clone(g.snap.Sessions)
					r := &g.snap.Sessions[turn*7%51]
					now := ops.At(time.Now())
					if r.LastActivityAt = now; r.Turn == "" {
						r.State, r.Turn, r.TurnStartedAt, r.LastProgressAt = ops.SessionRunning, fmt.Sprint("t", turn), now, now
					} else {
						r.State, r.Turn, r.TurnStartedAt = ops.SessionIdle, "", ops.Time{}
					}
					g.snap.At = now
				})
				g.emit(ops.Event{Type: ops.EventTurnStarted, Subject: "api:user:000"})
				time.Sleep(pace)
			}
			now := shown()
			if moved(last, now) {
				changes++
			}
			last = now
			for i, key := range now[:4] {
				if key < "api:user:051" {
					t.Fatalf("row %d is %s, want the four stalled sessions first: %q", i, key, now[:6])
				}
			}
		}
		if most := int(minute/restTime) + 1; changes > most {
			t.Errorf("the rows changed places %d times in a minute, want at most %d", changes, most)
		}

		// A row that begins to need attention does not wait for its place.
		g.change(func(g *gateway) {
			g.snap.Sessions = slices.Clone(g.snap.Sessions)
			r := &g.snap.Sessions[20]
			r.State, r.Turn, r.TurnStartedAt = ops.SessionStalled, "late", ops.At(time.Now())
			g.snap.At = ops.At(time.Now())
		})
		g.emit(ops.Event{Type: ops.EventTurnStalled, Subject: "api:user:020"})
		time.Sleep(300 * time.Millisecond)
		if now := shown(); slices.Index(now, "api:user:020") > 4 {
			t.Errorf("the newly stalled session is row %d", slices.Index(now, "api:user:020"))
		}
	})
}

func TestEnterOnTheOverviewGoesToTheRow(t *testing.T) {
	g := newGateway()
	now := time.Now()
	g.snap.Sessions = crowd(now, 55)
	g.snap.At = ops.At(now)
	g.snap.Adapters = []ops.Adapter{{Name: "api", State: ops.AdapterConnected}, {Name: "vault", State: ops.AdapterNeedsCredentials}}
	g.snap.Warnings = []ops.Warning{{Code: "store", Message: "the store takes nothing"}}
	b := newBench(t, g, Options{})
	b.m.lists[views.Sessions].Filter = "user:absent" // a filter that matches no row

	b.keys("enter") // nothing was chosen: the most urgent row
	if b.m.view != views.Sessions || b.m.lists[views.Sessions].Selected != "api:user:054" {
		t.Fatalf("view %s, row %q, message %q", b.m.view, b.m.lists[views.Sessions].Selected, b.m.message)
	}
	if s := b.m.keyContext(true).session; s == nil || s.Key != "api:user:054" {
		t.Fatalf("a lever would act on %+v", s)
	}
	b.keys("R")
	if asked(b.m) == nil || !strings.Contains(asked(b.m).Title, "api:user:054") {
		t.Fatalf("R asks %+v", asked(b.m))
	}

	for _, c := range []struct {
		name string
		down int
		view views.View
		row  string
		says string
	}{
		{"the second row is the session that is stalled for second longest", 1, views.Sessions, "api:user:053", ""},
		{"an adapter without a credential comes after the stalled turns", 4, views.Adapters, "vault", ""},
		{"a warning has no row, and is shown whole", 5, views.Overview, "", "store: the store takes nothing"},
		{"the turns that run are rows too", 6, views.Sessions, "api:user:054", ""},
		{"the last row is as far as it goes", 99, views.Adapters, "api", ""},
	} {
		b := newBench(t, g, Options{})
		for range c.down {
			b.keys("down")
		}
		b.keys("enter")
		if b.m.view != c.view || c.row != "" && b.m.lists[c.view].Selected != c.row || b.m.message != c.says {
			t.Errorf("%s: view %s, row %q, message %q", c.name, b.m.view, b.m.lists[b.m.view].Selected, b.m.message)
		}
	}
}

// While a person presses keys, no row moves, not even for what begins to need attention. 5 s after the last key the order is made
// afresh.
func TestNoRowMovesWhileKeysArePressed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		g.snap.Sessions = crowd(time.Now(), 30)
		g.snap.At = ops.At(time.Now())
		l := live(t, g, Options{})
		time.Sleep(time.Second)
		key := func(name string) {
			l.see(func(m *model) {
				_, cmd := m.Update(press(name))
				l.cmd(cmd)
			})
		}
		key("2")
		time.Sleep(time.Second)
		stall := func(i int) {
			g.change(func(g *gateway) {
				g.snap.Sessions = slices.Clone(g.snap.Sessions)
				r := &g.snap.Sessions[i]
				r.State, r.Turn, r.TurnStartedAt = ops.SessionStalled, "late", ops.At(time.Now())
				g.snap.At = ops.At(time.Now())
			})
			g.emit(ops.Event{Type: ops.EventTurnStalled, Subject: fmt.Sprintf("api:user:%03d", i)})
		}
		place := func(i int) (at int) {
			l.see(func(m *model) { at = slices.Index(m.lists[views.Sessions].keys, fmt.Sprintf("api:user:%03d", i)) })
			return at
		}
		before := place(20)
		key("j")
		stall(20)
		for range 3 {
			time.Sleep(2 * time.Second)
			if got := place(20); got != before {
				t.Fatalf("the row went from %d to %d while keys are pressed", before, got)
			}
			key("j")
		}
		time.Sleep(restTime + 2*calm)
		if got := place(20); got > 4 {
			t.Errorf("5 s after the last key the stalled session is row %d", got)
		}
		stall(21)
		time.Sleep(time.Second)
		if got := place(21); got > 5 {
			t.Errorf("with no key pressed the next stalled session is row %d after a second", got)
		}
	})
}
