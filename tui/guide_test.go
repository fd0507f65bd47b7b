package tui

import (
	"strings"
	"testing"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

// TF38: the demo says what to press, and says something else when that was done.
func TestTheGuideOfADemoFollowsWhatIsDone(t *testing.T) {
	g := newGateway()
	now := time.Now()
	g.snap.At, g.snap.Demo = ops.At(now), &ops.Demo{Hangs: []string{"dock"}}
	g.snap.Sessions = crowd(now, 6)
	b := newBench(t, g, Options{})
	says := func(when, part string) {
		t.Helper()
		if got := b.m.guide(); !strings.Contains(got, part) {
			t.Errorf("%s: %q, want %q in it", when, got, part)
		}
		if n := len([]rune(b.m.guide())); n > 76 {
			t.Errorf("%s: %d letters do not fit 80 columns: %q", when, n, b.m.guide())
		}
		if !strings.Contains(b.m.View(), part[:min(len(part), 20)]) {
			t.Errorf("%s: the screen does not show it", when)
		}
	}
	says("at first", "enter goes to it")
	b.keys("enter")
	says("on the stuck row", "R, then y")
	b.keys("R")
	says("in the dialog", "y does it")
	b.patiently("y")
	says("after the reset", ":send api:user:000 how are you")
	b.send(done{verb: ops.VerbMessage, text: "api:user:000: Very well"})
	says("after a message", "S, then y, stops the gateway: dock will hang")
	b.keys("4")
	says("in another view", "S, then y")

	calm := newBench(t, newGateway(), Options{})
	if got := calm.m.guide(); got != "" {
		t.Errorf("a real gateway is commented: %q", got)
	}
}

func TestTheGuideSaysWhatToDoAboutThePlatformThatHangs(t *testing.T) {
	g := newGateway()
	g.snap.Demo = &ops.Demo{Hangs: []string{"telegram"}}
	g.stopping()
	b := newBench(t, g, Options{})
	b.refresh()
	b.send(tick{})
	if b.m.view != views.Shutdown {
		b.keys("6")
	}
	if got := b.m.guide(); !strings.Contains(got, "telegram never answers: A gives up on it") {
		t.Errorf("it says %q", got)
	}
}
