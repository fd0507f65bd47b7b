package kernel

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"
	"unsafe"
)

// The limits that carry a tag (getrlimit(2)). Neither limits anything at these values. The kernel has ignored
// RLIMIT_LOCKS since Linux 2.4.25.
const (
	rlimitProcesses = 6  // RLIMIT_NPROC
	rlimitLocks     = 10 // RLIMIT_LOCKS
	rlimitRTTime    = 15 // RLIMIT_RTTIME
)

var tagLimits = [...]int{rlimitRTTime, rlimitLocks}

const infinity = ^uint64(0) // RLIM_INFINITY

var errNoTag = errors.New("the limits that carry the tag were set, but /proc shows other values")

// SetTag tags this process, for what it starts from now on. It bounds the hard limits, which a process without
// CAP_SYS_RESOURCE cannot make unlimited again. A zero tag takes the tag off: the limits become unlimited where that is
// allowed, and carry Free where it is not.
func SetTag(t Tag) error {
	for _, which := range tagLimits {
		limit, err := prlimit(0, which, nil)
		if err != nil {
			return err
		}
		if t == 0 {
			err = untag(which, limit)
		} else {
			limit.Cur, limit.Max = uint64(t), min(limit.Max, bound)
			_, err = prlimit(0, which, &limit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func untag(which int, limit syscall.Rlimit) error {
	if limit.Max == bound {
		if _, err := prlimit(0, which, &syscall.Rlimit{Cur: infinity, Max: infinity}); err == nil {
			return nil
		}
	}
	limit.Cur = limit.Max
	if limit.Max == bound {
		limit.Cur = uint64(Free)
	}
	_, err := prlimit(0, which, &limit)
	return err
}

// TryTag is SetTag, and checks that the tag can be read back.
func TryTag(t Tag) error {
	if err := SetTag(t); err != nil {
		return err
	}
	if m := MarksOf(os.Getpid()); m.Tags != [...]Tag{t, t} || !m.Bounded {
		return errors.Join(errNoTag, SetTag(0))
	}
	return nil
}

// BoundProcesses sets RLIMIT_NPROC of process pid and of what it starts: how many processes and threads their user may
// have when they create another one. A lower limit stays.
func BoundProcesses(pid int, most uint64) error {
	limit, err := prlimit(pid, rlimitProcesses, nil)
	if err != nil || limit.Max <= most {
		return err
	}
	limit.Cur, limit.Max = min(limit.Cur, most), most
	_, err = prlimit(pid, rlimitProcesses, &limit)
	return err
}

// ProcessLimit is the soft RLIMIT_NPROC of this process; false: unlimited, or not readable.
func ProcessLimit() (uint64, bool) {
	limit, err := prlimit(0, rlimitProcesses, nil)
	return limit.Cur, err == nil && limit.Cur != infinity
}

// prlimit sets a limit of process pid if set is given, and returns the previous limit. Pid 0 is this process.
func prlimit(pid, which int, set *syscall.Rlimit) (was syscall.Rlimit, err error) {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), uintptr(which), uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(&was)), 0, 0)
	if errno != 0 {
		return was, errno
	}
	return was, nil
}

// MarksOf reads the marks of pid; zero if pid is gone.
func MarksOf(pid int) Marks {
	var buf [4 << 10]byte
	b, err := ReadFile("/proc/"+strconv.Itoa(pid)+"/limits", buf[:])
	if err != nil {
		return Marks{}
	}
	return parseMarks(b)
}

// parseMarks reads the content of /proc/PID/limits (proc_pid_limits(5)).
func parseMarks(b []byte) (m Marks) {
	m.Bounded = true
	for i, name := range [len(tagLimits)]string{"Max realtime timeout", "Max file locks"} {
		soft, hard := limitOf(b, name)
		if t := Tag(soft); t.Valid() {
			m.Tags[i] = t
		}
		m.Bounded = m.Bounded && hard != infinity
	}
	_, m.Processes = limitOf(b, "Max processes")
	return m
}

// limitOf is a line's soft and hard limit. Text such as "unlimited", anything but a number, and a line that is cut are
// infinity.
func limitOf(b []byte, name string) (soft, hard uint64) {
	_, rest, _ := bytes.Cut(b, []byte("\n"+name))
	line, _, whole := bytes.Cut(rest, []byte("\n"))
	first, rest, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
	second, _, _ := bytes.Cut(bytes.TrimSpace(rest), []byte(" "))
	if !whole || len(second) == 0 {
		return infinity, infinity
	}
	return limitValue(first), limitValue(second)
}

func limitValue(word []byte) uint64 {
	v, err := strconv.ParseUint(string(word), 10, 64)
	if err != nil {
		return infinity
	}
	return v
}
