package views

import (
	"io"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

// Role is what a piece of text means; a theme says how that looks.
type Role int

// The roles. Five of them have a colour, and mean the same everywhere: Busy works (blue), Slow needs attention (amber), Bad is broken
// (red), Danger is what may be lost (red, filled), Good ended well (green). Everything else differs by weight and grey. A state is
// always said in a word or a glyph too, never by its role alone.
const (
	Plain Role = iota
	Muted
	// Accent is what a key or a prompt is written in.
	Accent
	Heading
	// Selected is a background. The text of the selected row keeps its own roles.
	Selected
	Good
	Busy
	Slow
	Bad
	Danger
	// Alarm is Slow for a moment: what has just come to need a person.
	Alarm
	// Graph is what is drawn of numbers; it says nothing by its colour.
	Graph
	roles
)

// Themes are the names that NewTheme knows.
var Themes = []string{"dark", "light", "high-contrast", "mono"}

// Theme is how each role looks. Its styles are made once; nothing makes styles while it draws. The nil Theme and the
// zero value draw no styles at all.
type Theme struct {
	// on is what each role's text begins with; empty where the role looks like any text.
	on [roles]string
	// plainRow says that text of the selected row has no role: its background and their colours do not go together.
	plainRow bool
}

const off = "\x1b[0m"

// begin is what text of a role begins with; empty if it looks like any other.
func (t *Theme) begin(r Role) string {
	if t == nil {
		return ""
	}
	return t.on[r]
}

// NewTheme makes one of Themes for a terminal that can show the colours of profile; termenv.Ascii (a dumb terminal, or
// the request for none) leaves no styles at all, and "mono" uses none but bold, faint, underline and reverse. A name that
// is not known is "dark". It asks no terminal and no environment: what NO_COLOR, TERM and the config come to is the
// caller's to decide.
func NewTheme(name string, profile termenv.Profile) *Theme {
	looks, ok := palettes[name]
	if !ok {
		looks = palettes[Themes[0]]
	}
	r := lipgloss.NewRenderer(io.Discard) // never the default one, which asks the terminal
	r.SetColorProfile(profile)
	r.SetHasDarkBackground(name != "light")
	t := &Theme{plainRow: looks[Selected].invert || profile == termenv.ANSI}
	for role, look := range looks {
		const probe = "x"
		on, _, _ := strings.Cut(look.style(r).Render(probe), probe)
		t.on[role] = on
	}
	return t
}

// look is one role in one theme.
type look struct {
	fg, bg                         lipgloss.CompleteColor
	bold, faint, underline, invert bool
}

func (l look) style(r *lipgloss.Renderer) lipgloss.Style {
	s := r.NewStyle()
	if l.fg != (lipgloss.CompleteColor{}) {
		s = s.Foreground(l.fg)
	}
	if l.bg != (lipgloss.CompleteColor{}) {
		s = s.Background(l.bg)
	}
	return s.Bold(l.bold).Faint(l.faint).Underline(l.underline).Reverse(l.invert)
}

func color(rgb, ansi256, ansi16 string) lipgloss.CompleteColor {
	return lipgloss.CompleteColor{TrueColor: rgb, ANSI256: ansi256, ANSI: ansi16}
}

// palettes holds the looks. Red and green differ in brightness as well, and broken is bold, so that the order of states is seen in grey
// and by people who do not tell these colours apart.
var palettes = map[string][roles]look{
	"dark": {
		Muted:    {fg: color("#98a0ae", "247", "8")},
		Accent:   {bold: true},
		Heading:  {fg: color("#e6e9ef", "255", "15"), bold: true},
		Selected: {bg: color("#2a3344", "237", "8")},
		Good:     {fg: color("#8fc7a0", "115", "10")},
		Busy:     {fg: color("#6fb3ff", "75", "12")},
		Slow:     {fg: color("#f2c14e", "221", "11")},
		Bad:      {fg: color("#ff7a6b", "209", "9"), bold: true},
		Danger:   {fg: color("#ffffff", "231", "15"), bg: color("#b3261e", "124", "1"), bold: true},
		Alarm:    {fg: color("#14171d", "16", "0"), bg: color("#f2c14e", "221", "11"), bold: true},
		Graph:    {fg: color("#66809c", "67", "7")},
	},
	"light": {
		Muted:    {fg: color("#5a6069", "240", "8")},
		Accent:   {bold: true},
		Heading:  {fg: color("#101418", "233", "0"), bold: true},
		Selected: {bg: color("#d5e3f5", "189", "7")},
		Good:     {fg: color("#14532d", "22", "2")},
		Busy:     {fg: color("#0b57b0", "25", "4")},
		Slow:     {fg: color("#7a4f00", "94", "3")},
		Bad:      {fg: color("#c4001f", "160", "1"), bold: true},
		Danger:   {fg: color("#ffffff", "231", "15"), bg: color("#c4001f", "160", "1"), bold: true},
		Alarm:    {fg: color("#ffffff", "231", "15"), bg: color("#7a4f00", "94", "3"), bold: true},
		Graph:    {fg: color("#7d90a6", "103", "8")},
	},
	"high-contrast": {
		Accent:   {bold: true},
		Heading:  {fg: color("#ffffff", "231", "15"), bold: true, underline: true},
		Selected: {invert: true, bold: true},
		Good:     {fg: color("#7dffb0", "121", "10")},
		Busy:     {fg: color("#7fd0ff", "117", "14"), bold: true},
		Slow:     {fg: color("#ffff00", "226", "11")},
		Bad:      {fg: color("#ff9d8f", "217", "9"), bold: true, underline: true},
		Danger:   {fg: color("#000000", "16", "0"), bg: color("#ff9d8f", "217", "9"), bold: true},
		Alarm:    {fg: color("#000000", "16", "0"), bg: color("#ffff00", "226", "11"), bold: true},
		Graph:    {fg: color("#a8a8a8", "248", "7")},
	},
	"mono": {
		Muted:    {faint: true},
		Accent:   {bold: true},
		Heading:  {bold: true},
		Selected: {invert: true},
		Busy:     {bold: true},
		Slow:     {underline: true},
		Bad:      {bold: true, underline: true},
		Danger:   {bold: true, invert: true},
		Alarm:    {bold: true, invert: true},
		Graph:    {faint: true},
	},
}
