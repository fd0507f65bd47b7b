package views

import "github.com/charmbracelet/lipgloss"

// Role is what a piece of text means; a theme says how that looks.
type Role int

// The roles. A state is always said in a word and a glyph too, never by its role alone.
const (
	Plain Role = iota
	Muted
	Accent
	Heading
	Selected
	Good
	Busy
	Slow
	Bad
	Danger
	roles
)

// Theme is how each role looks. Its styles are made once; nothing makes styles while it draws.
type Theme struct {
	// Name is dark, light, high-contrast or mono.
	Name   string
	styles [roles]lipgloss.Style
	plain  bool
}

// Paint gives text the look of a role.
func (t *Theme) Paint(r Role, text string) string {
	if t == nil || t.plain || r == Plain || text == "" {
		return text
	}
	return t.styles[r].Render(text)
}
