package host

import (
	"time"

	"golang.org/x/sys/unix"
)

// ClockConfirmed reports whether a time service keeps the kernel's clock and wall is what that clock says. A program may
// be shown another time than the kernel's.
func (*life) ClockConfirmed(wall time.Time) bool {
	var t unix.Timex
	if _, err := unix.Adjtimex(&t); err != nil || t.Status&unix.STA_UNSYNC != 0 {
		return false
	}
	return wall.Sub(time.Unix(int64(t.Time.Sec), 0)).Abs() < time.Minute
}

// Booted is how long ago the machine started, the time that it slept included: clock_gettime(2), CLOCK_BOOTTIME, which
// cannot be set and every Linux since 2.6.39 has.
func (*life) Booted() (ago time.Duration, known bool) {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) // EINVAL on an older kernel alone
	return time.Duration(t.Nano()), true
}
