package host

import (
	"time"

	"golang.org/x/sys/unix"
)

// clockConfirmed is not known: macOS does not tell whether a time service keeps the clock.
func clockConfirmed(time.Time) bool { return false }

// sinceBoot is how long ago the machine started, the time that it slept included: clock_gettime(3), CLOCK_MONOTONIC.
func sinceBoot() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // the clock exists
	return time.Duration(t.Nano())
}
