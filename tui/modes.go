package tui

import (
	"os"

	"golang.org/x/sys/unix"
)

// saveModes reads the modes of the terminals among files and returns what puts them back. A terminal that a crash left
// in raw mode echoes nothing (J5), so that they are put back even where Bubble Tea should have done it.
func saveModes(files ...*os.File) (restore func()) {
	type saved struct {
		fd    int
		modes *unix.Termios
	}
	var all []saved
	for _, f := range files {
		if f == nil {
			continue
		}
		fd := int(f.Fd())
		if modes, err := unix.IoctlGetTermios(fd, getModes); err == nil {
			all = append(all, saved{fd, modes})
		}
	}
	return func() {
		for _, s := range all {
			// TCSETS does not wait for pending output; a terminal that is gone has no modes to restore.
			_ = unix.IoctlSetTermios(s.fd, setModes, s.modes)
		}
	}
}
