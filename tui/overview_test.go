package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

// One session among 300 that run is in trouble: it is the first row of the overview, and the levers work there.
func TestTF39_TheSessionThatNeedsAPersonIsStoppedFromTheOverviewWithAtMostFourKeys(t *testing.T) {
	for lever, done := range map[string]string{"R": "session.reset api:user:007 s7", "I": "session.interrupt api:user:007 s7"} {
		synctest.Test(t, func(t *testing.T) {
			g := newGateway()
			now := time.Now()
			g.snap.Sessions, g.snap.Adapters = nil, nil
			for i := range 300 {
				r := ops.Session{
					Key: fmt.Sprintf("api:user:%03d", i), ID: fmt.Sprint("s", i), State: ops.SessionRunning, Turn: fmt.Sprint("t", i),
					TurnStartedAt: ops.At(now.Add(-time.Second)), LastProgressAt: ops.At(now), LastActivityAt: ops.At(now),
				}
				if i == 7 {
					r.State, r.LastProgressAt = ops.SessionStalled, ops.At(now.Add(-20*time.Minute))
				}
				g.snap.Sessions = append(g.snap.Sessions, r)
			}
			b := newBench(t, g, Options{})
			b.patiently(lever, "y")
			if b.m.view != views.Overview {
				t.Errorf("%s left the overview for %s", lever, b.m.view)
			}
			b.mustHaveGiven(done)
		})
	}
}

func TestTheRangeOfTheGraphsIsChosenByKeys(t *testing.T) {
	b := newBench(t, newGateway(), Options{})
	b.send(tick{})
	shows := func() time.Duration { return time.Duration(b.m.rates.SpanMS) * time.Millisecond }
	if shows() != 30*time.Minute {
		t.Fatalf("it begins with %v", shows())
	}
	for _, c := range []struct {
		key  string
		want time.Duration
	}{{"[", 5 * time.Minute}, {"[", 5 * time.Minute}, {"]", 30 * time.Minute}, {"]", 6 * time.Hour}, {"]", 24 * time.Hour}, {"]", 24 * time.Hour}} {
		if b.keys(c.key); shows() != c.want {
			t.Fatalf("%s shows %v, not %v", c.key, shows(), c.want)
		}
	}
	if text := strings.Join(views.Draw(b.m.screen()), "\n"); !strings.Contains(text, "24 H") {
		t.Fatalf("the range is not named:\n%s", text)
	}
}

// Graphs that are empty but for their end say little.
func TestTheGraphsOfAYoungGatewayHaveTheShortestRange(t *testing.T) {
	for age, want := range map[time.Duration]time.Duration{time.Minute: 5 * time.Minute, 5 * time.Minute: 30 * time.Minute, 100 * time.Hour: 30 * time.Minute} {
		g := newGateway()
		g.snap.StartedAt = ops.At(time.Now().Add(-age))
		b := newBench(t, g, Options{})
		b.send(tick{})
		if got := time.Duration(b.m.rates.SpanMS) * time.Millisecond; got != want {
			t.Errorf("after %v it shows %v, not %v", age, got, want)
		}
		if b.keys("]"); b.m.span <= want {
			t.Errorf("after %v the next range is %v", age, b.m.span)
		}
	}
}

func TestTheRowThatTakesThePlaceOfTheSelectedOneIsSelected(t *testing.T) {
	g := newGateway()
	g.snap.Adapters = nil
	for _, name := range []string{"a", "b", "c"} {
		g.snap.Adapters = append(g.snap.Adapters, ops.Adapter{Name: name, State: ops.AdapterNeedsCredentials})
	}
	b := newBench(t, g, Options{})
	b.keys("down")
	if at := b.m.overviewRow(); at.Key != "b" {
		t.Fatalf("the second row is %+v", at)
	}
	g.mu.Lock()
	g.snap.Adapters = slices.Delete(slices.Clone(g.snap.Adapters), 1, 2)
	g.snap.Counts.Adapters, g.snap.Seq = 2, g.snap.Seq+1
	g.mu.Unlock()
	b.refresh()
	if at := b.m.overviewRow(); at.Key != "c" || b.m.lists[views.Overview].Selected != at.Name {
		t.Fatalf("after it was gone, %+v is selected, and %q is drawn so", at, b.m.lists[views.Overview].Selected)
	}
}

func TestTheInboxesCountIsLitForOneSecondAfterItGrew(t *testing.T) {
	g := newGateway()
	b := newBench(t, g, Options{})
	set := func(n int) {
		g.mu.Lock()
		g.snap.Counts.Inbox = n
		g.mu.Unlock()
		b.refresh()
	}
	if set(1); !b.m.screen().InboxGrew {
		t.Fatal("a request came, and its count is not lit")
	}
	b.m.now = b.m.now.Add(time.Second)
	if b.m.screen().InboxGrew {
		t.Fatal("the count is lit for more than a second")
	}
	b.m.inboxGrew = time.Time{}
	if set(0); b.m.screen().InboxGrew {
		t.Fatal("an inbox that became smaller lights its count")
	}
}
