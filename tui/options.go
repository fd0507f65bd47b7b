package tui

import (
	"context"
	"os"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

// Options are how a console is run.
type Options struct {
	// Attached is true for a gateway of another process: leaving never touches it, and when it has ended the console
	// waits for its next life. False: the gateway lives in this process, and Run returns when it has ended.
	Attached bool
	// ReadOnly removes the action keys. The server refuses their commands as well.
	ReadOnly bool
	// Theme is auto, dark, light, high-contrast or mono; empty is auto.
	Theme string
	// ASCII draws with ASCII characters alone; NoColor draws without colours in each theme.
	ASCII, NoColor bool
	// Slow halves the refresh rate during a stop, for a terminal on a slow line.
	Slow bool
	// Version is this program's: an attached console tells of a gateway with another one; empty does not. Name is what the
	// gateway is called in questions, empty for none.
	Version, Name string

	// Habits are what the last console on this home left; the zero value is a first one. Keep writes them down when they change; nil:
	// nothing is remembered.
	Habits Habits
	Keep   func(ctx context.Context, h Habits) error

	out *os.File // of which the theme depends; nil has no colours
}

// How says how a console was left.
type How int

const (
	// Cancelled: the context ended.
	Cancelled How = iota
	// Detached: an attached console was left; the gateway was not touched.
	Detached
	// LeftRunning: an embedded console was left; its gateway shall run on without one.
	LeftRunning
	// StopAsked: an embedded console was left while its gateway stops; the stop goes on.
	StopAsked
	// TerminalLost: the terminal is gone. The gateway goes on.
	TerminalLost
	// GatewayEnded: the embedded gateway has ended. Exit.Final is its last record.
	GatewayEnded
)

// String is the way out in words, for logs.
func (h How) String() string {
	return [...]string{"cancelled", "detached", "left running", "left while stopping", "terminal lost", "gateway ended"}[h]
}

// Exit is how a console ended.
type Exit struct {
	How How
	// Final is the record of the stop that this console saw, as far as it saw it; nil if it saw none, or if another life
	// has begun since.
	Final *ops.Shutdown
	// Screen is the last frame as plain lines, for the caller to leave on the normal screen where the reader should keep
	// it; empty if the console was left by hand.
	Screen []string
}

// theme makes the theme for the terminal. What the terminal can show is read from the environment alone: a question to
// it would wait for an answer that may not come.
func theme(o Options) *views.Theme {
	name := o.Theme
	if name == "" || name == "auto" {
		name = "dark"
		if light(os.Getenv("COLORFGBG")) {
			name = "light"
		}
	}
	profile := termenv.Ascii
	if !o.NoColor && o.out != nil {
		profile = lipgloss.NewRenderer(o.out).ColorProfile()
	}
	return views.NewTheme(name, profile)
}

// light reports whether COLORFGBG ("15;0", as rxvt and its likes set it) names a light background.
func light(colors string) bool {
	fields := strings.Split(colors, ";")
	last := fields[len(fields)-1]
	return last == "7" || last == "15"
}
