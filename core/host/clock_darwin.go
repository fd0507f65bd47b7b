package host

import (
	"time"

	"golang.org/x/sys/unix"
)

// ClockConfirmed is false: macOS does not tell whether a time service keeps the clock.
func (*life) ClockConfirmed(time.Time) bool { return false }

// Booted is how long ago the machine started, the time that it slept included: clock_gettime(3), CLOCK_MONOTONIC.
func (*life) Booted() (ago time.Duration, known bool) {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // the clock exists
	return time.Duration(t.Nano()), true
}
