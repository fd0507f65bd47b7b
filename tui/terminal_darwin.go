package tui

import "golang.org/x/sys/unix"

// The requests that read and set the modes of a terminal (tty(4)). Setting does not wait for pending output.
const (
	getModes = unix.TIOCGETA
	setModes = unix.TIOCSETA
)

// redirect makes descriptor to another name of descriptor from.
func redirect(from, to int) error { return unix.Dup2(from, to) }

// reopenPath is empty: /dev/fd gives the same open file again, whose mode is shared.
func reopenPath(uintptr) string { return "" }
