package tui

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

// logOf are n lines, every second about alice's session.
func logOf(n int) []ops.LogLine {
	lines := make([]ops.LogLine, n)
	for i := range lines {
		session := "api:user:alice"
		if i%2 > 0 {
			session = "cli:local"
		}
		lines[i] = ops.LogLine{
			At: ops.At(began.Add(time.Duration(i) * time.Second)), Level: "info", Text: fmt.Sprintf("line %d.", i), Fields: []ops.LogField{{Key: "session", Value: session}},
		}
	}
	return lines
}

func TestOP2_TheLogOfARowIsAPageOfItsDetail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		g.log = logOf(1000)
		b := newBench(t, g, Options{})
		l := &pulse{m: b.m, msgs: make(chan tea.Msg, 100)}
		defer synctest.Wait()
		defer b.m.tasks.end(time.Second)
		l.send(tea.WindowSizeMsg{Width: 140, Height: 40})
		l.send(press("2"))
		l.send(press("l"))
		l.pass(10 * time.Millisecond)
		b.mustShow("[log]", "line 998.")
		b.mustNotShow("line 997.") // of another session
		b.mustNotShow("session=api:user:alice")
		for range 20 { // up to the begin, page by page
			for range 10 {
				l.send(press("K"))
			}
			l.pass(fullGap)
		}
		b.mustShow("line 0.")
		g.mu.Lock()
		defer g.mu.Unlock()
		for _, q := range g.logged {
			if q.About != "api:user:alice" || q.Limit > logRows {
				t.Errorf("the gateway was asked for %+v", q)
			}
		}
	})
}

func TestOP2_View7ShowsWhatHappenedToTheRowThatWasLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		g.log = logOf(100)
		b := newBench(t, g, Options{})
		b.send(tea.WindowSizeMsg{Width: 140, Height: 40})
		b.m.addEvents([]ops.Event{
			{Seq: 1, Type: ops.EventTurnStarted, Subject: "cli:local", Text: "of the other"},
			{Seq: 2, Type: ops.EventTurnStarted, Subject: "api:user:alice", Text: "of alice"},
		})
		b.keys("2", "7")
		b.mustShow("about api:user:alice", "of alice")
		b.mustNotShow("of the other")
		b.keys("]")
		b.mustShow("[log]", "line 98.")
		b.mustNotShow("line 97.")
		b.keys("esc")
		b.mustShow("line 99.")
		b.keys("[")
		b.mustShow("of the other", "of alice")
		b.keys("k") // its detail is that of the row
		if at := b.m.streamAt(); at != 0 || b.m.follow {
			t.Errorf("row %d is selected, following %v", at, b.m.follow)
		}
		b.keys("enter")
		if b.m.view != views.Sessions || b.m.lists[views.Sessions].Selected != "cli:local" {
			t.Errorf("enter opened %s on %s", b.m.view, b.m.lists[views.Sessions].Selected)
		}
	})
}

// A selected event stays selected while others come, and while the oldest are forgotten.
func TestTheSelectedEventStaysSelected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newGateway(), Options{})
		add := func(from, n int) {
			events := make([]ops.Event, n)
			for i := range events {
				events[i] = ops.Event{Seq: uint64(from + i), Subject: "x"}
			}
			b.m.addEvents(events)
		}
		add(1, eventsKept)
		b.keys("7", "k", "k")
		selected := b.m.lists[views.Events].Selected
		add(eventsKept+1, eventsKept/4+10)
		if got := b.m.streamKey(b.m.streamAt()); got != selected || b.m.follow {
			t.Errorf("event %s was selected, now %s is", selected, got)
		}
		b.keys("G")
		if add(2*eventsKept, 5); !b.m.follow || b.m.streamAt() != b.m.streamed()-1 {
			t.Errorf("at the end it does not follow: row %d of %d", b.m.streamAt(), b.m.streamed())
		}
	})
}
