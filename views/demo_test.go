package views

import (
	"strings"
	"testing"

	"gatewaytui/core/ops"
)

// aDemo makes a screen one of a demo.
func aDemo(sc Screen) Screen {
	sc.Snap.Demo = &ops.Demo{Hangs: []string{"dock"}, Talk: []ops.Said{
		{At: before(9 * sec), Platform: "harbour", Who: "alice", Text: "how are you?"},
		{At: before(9 * sec), Platform: "harbour", To: "alice", Text: "Very well, thank you: three chats at once and no hurry. And you?"},
		{At: before(3 * sec), Platform: "dock", Who: "nora", Text: "\x1b[31mthe ship is in\u202e"},
	}}
	sc.Snap.Home = "/run/user/1000/gatewaytui-demo-123456"
	sc.Guide = "a chat is stuck: enter goes to it  ·  2 all chats  ·  ? all keys"
	return sc
}

// TF8: no screen of a demo can be taken for a real gateway.
func TestEveryScreenOfADemoSaysSo(t *testing.T) {
	stopping := stopScreen(adaptersStuck(90*sec, 4*sec).report())
	gone := stopScreen(adaptersStuck(90*sec, 4*sec).report())
	gone.Link.State = LinkGone
	screens := map[string]Screen{"a stop": stopping, "a stop whose gateway is gone": gone}
	for _, v := range Views {
		sc := screen(v, fiveRows())
		sc.View = v
		screens[v.String()] = sc
	}
	for name, sc := range screens {
		for _, size := range [][2]int{{200, 60}, {140, 40}, {80, 24}, {40, 6}, {30, 1}} {
			demo := aDemo(sc)
			demo.W, demo.H = size[0], size[1]
			lines := Draw(demo)
			exact(t, lines, demo.W, demo.H)
			if !strings.Contains(lines[0], "DEMO") {
				t.Errorf("%s at %dx%d does not say so: %q", name, demo.W, demo.H, lines[0])
			}
			real := sc
			real.W, real.H = size[0], size[1]
			if text := strings.Join(Draw(real), "\n"); strings.Contains(text, "DEMO") {
				t.Errorf("%s of a real gateway says DEMO", name)
			}
			if demo.H >= 24 && !strings.Contains(strings.Join(lines, "\n"), "a chat is stuck: enter goes to it") {
				t.Errorf("%s at %dx%d has no hint", name, demo.W, demo.H)
			}
		}
	}
}

func TestTheOverviewOfADemoLooksAsReviewed(t *testing.T) {
	everySize(t, aDemo(overviewStates()["calm"])).check(t, "overview-demo")
}
