package tui

import (
	"os"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	"gatewaytui/views"
)

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
