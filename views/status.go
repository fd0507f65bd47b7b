package views

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

var (
	nameStyle  = lipgloss.NewStyle().Bold(true)
	stateStyle = lipgloss.NewStyle().Reverse(true)
)

// maxWord is how much of one untrusted word the header shows, in runes.
const maxWord = 40

// Status draws the header: one line about the gateway, at most width cells wide and without a newline. What an operator
// needs first stands first, so that a narrow screen loses the end; an ellipsis says that something is missing. now is
// the moment at which st was read. A width below 1 gives the empty string.
func Status(st ops.Status, width int, now time.Time) string {
	if width < 1 {
		return ""
	}
	state := strings.ToUpper(term.Clean(string(st.State), maxWord))
	if state == "" {
		state = "UNKNOWN"
	}
	c := st.Counts
	parts := []string{
		nameStyle.Render("gatewaytui"),
		stateStyle.Render(state),
		fmt.Sprintf("pid %d", st.PID),
		"up " + uptime(st, now),
	}
	if n := len(st.Warnings); n > 0 {
		parts = append(parts, fmt.Sprintf("warnings %d", n))
	}
	parts = append(parts,
		fmt.Sprintf("adapters %d/%d", c.AdaptersConnected, c.Adapters),
		fmt.Sprintf("turns %d", c.RunningTurns),
		fmt.Sprintf("sessions %d", c.Sessions),
		fmt.Sprintf("agents %d", c.CachedAgents),
		fmt.Sprintf("procs %d", c.Processes),
	)
	if v := term.Clean(st.Version, maxWord); v != "" {
		parts = append(parts, v)
	}
	return ansi.Truncate(strings.Join(parts, "  "), width, string(term.Ellipsis))
}

// uptime is the gateway's age: "3d 04:12" from one day on, "04:12:09" below.
func uptime(st ops.Status, now time.Time) string {
	if st.StartedAt.IsZero() {
		return "unknown"
	}
	s := int64(max(0, now.Sub(st.StartedAt.Time)) / time.Second)
	if d := s / 86400; d > 0 {
		return fmt.Sprintf("%dd %02d:%02d", d, s/3600%24, s/60%60)
	}
	return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
}
