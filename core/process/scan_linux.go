package process

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"gatewaytui/core/process/kernel"
)

// clockTicks is USER_HZ, which is 100 on every Linux that Go runs on.
const clockTicks = 100

// scanner reads the process table. It is not safe for concurrent use.
type scanner struct {
	buf   [4 << 10]byte
	procs []proc
}

// scan reads every process of this pid namespace. The slice is the caller's until the next scan. It is not a snapshot: a
// process that forks and ends during the scan can be missed. Scan again to be certain.
func (s *scanner) scan() ([]proc, error) {
	pids, err := kernel.PIDs()
	if err != nil {
		return nil, fmt.Errorf("list /proc: %w", err)
	}
	s.procs = s.procs[:0]
	for _, pid := range pids {
		p, err := kernel.StatOf(pid, s.buf[:])
		switch {
		case err == nil:
			s.procs = append(s.procs, p)
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ESRCH): // it has ended
		case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES): // hidepid=1 (proc(5)): another user's
		default: // no descriptor left, no memory: "nothing found" would be wrong
			return nil, fmt.Errorf("read /proc/%d/stat: %w", pid, err)
		}
	}
	return s.procs, nil
}

// tagOf reads the tag of one process.
func (s *scanner) tagOf(pid int) kernel.Tag { return s.marksOf(pid).Tag() }

// marksOf reads the marks of one process.
func (s *scanner) marksOf(pid int) kernel.Marks { return kernel.MarksOf(pid, s.buf[:]) }

// statOf reads one process.
func statOf(pid int) (proc, error) { return kernel.StatOf(pid, make([]byte, 1<<10)) }

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
