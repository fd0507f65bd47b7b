package views

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

// grey is the relative luminance of a colour, 0 to 1 (WCAG 2.2, "relative luminance").
func grey(t *testing.T, c lipgloss.CompleteColor, otherwise string) float64 {
	t.Helper()
	rgb := c.TrueColor
	if rgb == "" {
		rgb = otherwise
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(rgb, "#"), 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	part := func(v uint64) float64 {
		f := float64(v&0xff) / 255
		if f <= 0.04045 {
			return f / 12.92
		}
		return math.Pow((f+0.055)/1.055, 2.4)
	}
	return 0.2126*part(n>>16) + 0.7152*part(n>>8) + 0.0722*part(n)
}

func TestEveryRoleCanBeReadInGrey(t *testing.T) {
	for _, name := range Themes {
		paper, pen := "#000000", "#ffffff"
		if name == "light" {
			paper, pen = pen, paper
		}
		for r := range roles {
			look := palettes[name][r]
			a, b := grey(t, look.fg, pen), grey(t, look.bg, paper)
			least := 4.5 // WCAG 2.2, 1.4.3; 1.4.11 for what is not text
			if r == Graph {
				least = 3
			}
			if c := contrast(a, b); c < least {
				t.Errorf("%s: role %d has a contrast of %.1f to 1, and %.1f can be read by most", name, r, c, least)
			}
		}
		selected := palettes[name][Selected]
		back := grey(t, selected.bg, paper)
		if apart := contrast(back, grey(t, lipgloss.CompleteColor{}, paper)); apart < 1.3 && !selected.invert {
			t.Errorf("%s: the selected row differs from the others by %.1f to 1 in grey", name, apart)
		}
		for r := range roles {
			look := palettes[name][r]
			if !selected.invert && look.bg == (lipgloss.CompleteColor{}) && r != Graph {
				if c := contrast(grey(t, look.fg, pen), back); c < 4.5 {
					t.Errorf("%s: role %d has a contrast of %.1f to 1 in the selected row", name, r, c)
				}
			}
		}
		if name == "mono" {
			continue
		}
		if c := contrast(grey(t, palettes[name][Good].fg, pen), grey(t, palettes[name][Bad].fg, pen)); c < 1.2 {
			t.Errorf("%s: done and broken differ by %.2f to 1 in grey", name, c)
		}
	}
}

// contrast is that of two luminances, 1 to 21 (WCAG 2.2, "contrast ratio").
func contrast(a, b float64) float64 { return (max(a, b) + 0.05) / (min(a, b) + 0.05) }

// Colour has five meanings; what differs from them has none.
func TestOnlyFiveMeaningsHaveAColour(t *testing.T) {
	for name, looks := range palettes {
		for r, look := range looks {
			switch Role(r) {
			case Good, Busy, Slow, Bad, Danger, Alarm:
				continue
			}
			for _, c := range []lipgloss.CompleteColor{look.fg, look.bg} {
				if c.TrueColor == "" {
					continue
				}
				n, err := strconv.ParseUint(c.TrueColor[1:], 16, 32)
				if err != nil {
					t.Fatal(err)
				}
				red, green, blue := int(n>>16), int(n>>8&0xff), int(n&0xff)
				if spread := max(red, green, blue) - min(red, green, blue); spread > 64 {
					t.Errorf("%s: role %d is not a grey: %s", name, r, c.TrueColor)
				}
			}
		}
	}
}

func TestNoColourAtAllWhereTheTerminalHasNone(t *testing.T) {
	for _, theme := range []*Theme{nil, {}, NewTheme("dark", termenv.Ascii), NewTheme("mono", termenv.Ascii)} {
		s := screen(Sessions, fiveRows())
		s.W, s.H, s.Theme = 80, 24, theme
		inert(t, Draw(s))
	}
}

func TestTheMonoThemeHasNoColours(t *testing.T) {
	theme := NewTheme("mono", termenv.TrueColor)
	for r := range roles {
		for code := range strings.SplitSeq(strings.Trim(theme.begin(r), "\x1b[m"), ";") {
			if n, _ := strconv.Atoi(code); n >= 30 { // colours are SGR 30 to 49 and 90 to 107 (ECMA-48 8.3.117)
				t.Fatalf("role %d begins with %q", r, theme.begin(r))
			}
		}
	}
	if theme.begin(Selected) == "" {
		t.Fatal("the selected row looks like any other")
	}
}

func TestAnUnknownThemeIsTheDarkOne(t *testing.T) {
	if got, want := NewTheme("solarized", termenv.ANSI), NewTheme("dark", termenv.ANSI); *got != *want {
		t.Fatalf("it is %q", got.on)
	}
}
