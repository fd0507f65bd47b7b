package process

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"gatewaytui/core/process/kernel"
)

// clockTicks is USER_HZ, which is 100 on every Linux that Go runs on.
const clockTicks = 100

func readSelf() (s self, err error) {
	link, err := os.Readlink("/proc/self")
	if err != nil {
		return s, err
	}
	if link != strconv.Itoa(os.Getpid()) {
		return s, fmt.Errorf("/proc shows pid %s for our pid %d: it belongs to another pid namespace", link, os.Getpid())
	}
	if s.proc, err = statOf(os.Getpid()); err != nil {
		return s, fmt.Errorf("read /proc/self/stat: %w", err)
	}
	if s.bootID, err = kernel.BootID(); err != nil {
		return s, fmt.Errorf("read boot id: %w", err)
	}
	return s, nil
}

// ticksNow is the time since boot in clock ticks, the unit of a process's start; the greatest value if it is not known.
func ticksNow() uint64 {
	var up unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &up); err != nil {
		return ^uint64(0)
	}
	return uint64(time.Duration(up.Nano()) / (time.Second / clockTicks))
}

// startedAt converts start ticks to a time.
func startedAt(ticks uint64) time.Time {
	var up unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &up); err != nil {
		return time.Now()
	}
	age := time.Duration(up.Nano()) - time.Duration(ticks)*(time.Second/clockTicks)
	return time.Now().Add(-max(age, 0))
}
