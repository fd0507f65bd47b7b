package tui

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/x/ansi"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

// crowdedGateway has more sessions than a snapshot, all idle.
func crowdedGateway(n int) *gateway {
	g := newGateway()
	for i := range n {
		g.crowd = append(g.crowd, ops.Session{
			Key: fmt.Sprintf("telegram:dm:%06d", i), ID: fmt.Sprint(i), State: ops.SessionIdle, Platform: "telegram",
			LastActivityAt: ops.At(began.Add(-time.Duration(i) * time.Minute)),
		})
	}
	return g
}

func shows(b *bench) string { return ansi.Strip(strings.Join(b.m.draw(), "\n")) }

// A console of a gateway with more sessions than a snapshot scrolls through them page by page, finds any of them by its
// filter, and acts on one that no snapshot has.
func TestEverySessionOfALargeGatewayIsReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 5000
		b := newBench(t, crowdedGateway(n), Options{})
		b.keys("2")
		if text := shows(b); !strings.Contains(text, "of 5000 sessions") {
			t.Fatalf("the view does not say how many there are:\n%s", text)
		}
		l := b.m.lists[views.Sessions]
		for range 20 {
			b.keys("G")
			b.refresh()
		}
		if len(l.keys) != n || l.keys[n-1] != "telegram:dm:004999" {
			t.Fatalf("scrolling to the end shows %d of %d sessions", len(l.keys), n)
		}
		for i, key := range l.keys {
			if key != b.g.crowd[i].Key {
				t.Fatalf("row %d is %s, want %s", i, key, b.g.crowd[i].Key)
			}
		}
		b.keys("g", "/")
		b.typing("dm:004321")
		if len(l.keys) != 1 || l.keys[0] != "telegram:dm:004321" {
			t.Fatalf("the filter shows %v", l.keys)
		}
		b.keys("enter")
		b.refresh()
		b.keys("R")
		b.mustBeAsked("Reset telegram:dm:004321?")
	})
}

// A row that was read beyond the snapshot and is gone is not kept for ever: it is asked for while it is selected.
func TestASessionThatIsGoneLeavesTheView(t *testing.T) {
	first := []ops.Session{{Key: "a", State: ops.SessionIdle}}
	further := []ops.Session{{Key: "a", State: ops.SessionRunning}, {Key: "b", State: ops.SessionRunning}, {Key: "c", State: ops.SessionIdle}, {Key: "d", State: ops.SessionIdle}}
	got := withMore(first, further, map[string]bool{"d": true})
	if len(got) != 2 || got[0].State != ops.SessionIdle || got[1].Key != "c" {
		t.Fatalf("merged %+v: want a as the snapshot has it, and c; b's turn is over, d is gone", got)
	}
}
