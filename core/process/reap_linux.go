package process

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// nextZombie returns the pid of a child that has ended, without collecting it, or 0.
func nextZombie() int {
	pid, _ := peekChild()
	return pid
}

// childless reports that we have no child at all, and so, as a subreaper, no descendant.
func childless() bool {
	_, err := peekChild()
	return errors.Is(err, unix.ECHILD)
}

func peekChild() (int, error) {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 0, err
		}
		// si_pid is the first member of the union after three ints, which is aligned as a pointer (sigaction(2),
		// asm-generic/siginfo.h).
		const size = unsafe.Sizeof(uintptr(0))
		const at = (3*4 + size - 1) / size * size
		return int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), at))), nil
	}
}

// oomKills is the count now; 0 if the kernel does not show it.
func oomKills() uint64 { return countIn("/proc/vmstat", "oom_kill") }
