package tui

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// The requests that read and set the modes of a terminal (ioctl_tty(2)). Setting does not wait for pending output.
const (
	getModes = unix.TCGETS
	setModes = unix.TCSETS
)

// redirect makes descriptor to another name of descriptor from.
func redirect(from, to int) error { return unix.Dup3(from, to, 0) }

// reopenPath is where the file of a descriptor can be opened once more.
func reopenPath(fd uintptr) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }
