package views

import (
	"io"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

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
	t := &Theme{}
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

// palettes holds the looks. No pair of states differs in red against green, and from good to danger the text grows
// brighter against its background, or bolder, so that the order is seen in grey as well.
var palettes = map[string][roles]look{
	"dark": {
		Muted:    {fg: color("#8a8a8a", "245", "8")},
		Accent:   {fg: color("#5fafff", "75", "12")},
		Heading:  {fg: color("#d0d0d0", "252", "7"), bold: true},
		Selected: {fg: color("#ffffff", "231", "15"), bg: color("#005f87", "24", "4"), bold: true},
		Good:     {fg: color("#87afd7", "110", "6")},
		Busy:     {fg: color("#5fd7ff", "81", "14")},
		Slow:     {fg: color("#ffd75f", "221", "11")},
		Bad:      {fg: color("#ffaf5f", "215", "13"), bold: true},
		Danger:   {fg: color("#ffffff", "231", "15"), bg: color("#af005f", "125", "5"), bold: true},
		Alarm:    {fg: color("#000000", "16", "0"), bg: color("#ffd75f", "221", "11"), bold: true},
		Graph:    {fg: color("#9fb3c8", "110", "7")},
	},
	"light": {
		Muted:    {fg: color("#6c6c6c", "242", "8")},
		Accent:   {fg: color("#005faf", "25", "4")},
		Heading:  {fg: color("#262626", "235", "0"), bold: true},
		Selected: {fg: color("#000000", "16", "0"), bg: color("#afd7ff", "153", "14"), bold: true},
		Good:     {fg: color("#44708f", "60", "6")},
		Busy:     {fg: color("#005f87", "24", "4")},
		Slow:     {fg: color("#875f00", "94", "3")},
		Bad:      {fg: color("#870000", "88", "1"), bold: true},
		Danger:   {fg: color("#ffffff", "231", "15"), bg: color("#870050", "89", "5"), bold: true},
		Alarm:    {fg: color("#ffffff", "231", "15"), bg: color("#875f00", "94", "3"), bold: true},
		Graph:    {fg: color("#4a6076", "60", "8")},
	},
	"high-contrast": {
		Accent:   {fg: color("#00ffff", "51", "14"), bold: true},
		Heading:  {fg: color("#ffffff", "231", "15"), bold: true, underline: true},
		Selected: {fg: color("#000000", "16", "0"), bg: color("#ffffff", "231", "15"), bold: true},
		Good:     {fg: color("#ffffff", "231", "15")},
		Busy:     {fg: color("#00ffff", "51", "14"), bold: true},
		Slow:     {fg: color("#ffff00", "226", "11")},
		Bad:      {fg: color("#ffff00", "226", "11"), bold: true, underline: true},
		Danger:   {fg: color("#000000", "16", "0"), bg: color("#ffff00", "226", "11"), bold: true},
		Alarm:    {fg: color("#000000", "16", "0"), bg: color("#ffff00", "226", "11"), bold: true},
	},
	"mono": {
		Muted:    {faint: true},
		Accent:   {underline: true},
		Heading:  {bold: true},
		Selected: {invert: true},
		Busy:     {bold: true},
		Slow:     {underline: true},
		Bad:      {bold: true, underline: true},
		Danger:   {bold: true, invert: true},
		Alarm:    {bold: true, invert: true},
	},
}
