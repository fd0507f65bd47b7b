package views_test

import (
	"fmt"
	"strings"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

// A frame is a function of its screen alone: the same rows give the same text, in exactly as many lines as were asked for.
func ExampleDraw() {
	screen := views.Screen{View: views.Sessions, Snap: ops.Snapshot{
		Status:   ops.Status{State: ops.StateRunning, PID: 4121, Version: "v0.1.0"},
		Sessions: []ops.Session{{Key: "telegram:dm:4412", State: ops.SessionIdle}},
	}}
	screen.W, screen.H = 80, 24
	lines := views.Draw(screen)
	fmt.Println(len(lines), "lines")
	for _, line := range lines {
		if strings.Contains(line, "telegram") {
			fmt.Println(strings.Join(strings.Fields(line)[:4], " "))
		}
	}
	// Output:
	// 24 lines
	// telegram:dm:4412 · idle ·
}
