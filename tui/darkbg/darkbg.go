// Package darkbg keeps the program from asking its terminal for a colour.
//
// Bubble Tea v1 asks the terminal for its background while packages are initialised and waits 5 s where no answer comes
// (`docker run -t`, script(1), the pty of a CI). It does so in every verb of a binary that links it. It asks only if
// lipgloss does not know it, so this package sets it. Dark is a default, not a finding.
//
// It works by order alone: of the packages whose imports are initialised, Go initialises the one with the first import
// path next (Go specification, "Package initialization"). Therefore this package imports lipgloss and nothing else,
// and the module's path sorts before github.com/charmbracelet/bubbletea. A test of package tui holds it.
package darkbg

import "github.com/charmbracelet/lipgloss"

func init() { lipgloss.SetHasDarkBackground(true) }
