package kernel

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

// rlimitRTTime is RLIMIT_RTTIME (getrlimit(2)).
const rlimitRTTime = 15

var errNoTag = errors.New("the limit of real-time CPU was set, but is not what /proc shows")

// SetTag tags this process, for what it starts from now on; a zero tag is unlimited again, as far as the hard limit
// allows.
func SetTag(t Tag) error {
	limit, err := realtime(nil)
	if err != nil {
		return err
	}
	limit.Cur = uint64(t)
	if t == 0 {
		limit.Cur = limit.Max
	}
	_, err = realtime(&limit)
	return err
}

// TryTag is SetTag, and makes sure that it can be seen.
func TryTag(t Tag) error {
	if err := SetTag(t); err != nil {
		return err
	}
	if TagOf(os.Getpid(), make([]byte, 4<<10)) != t {
		return errors.Join(errNoTag, SetTag(0))
	}
	return nil
}

// realtime sets the limit, if one is given, and returns what it was.
func realtime(set *syscall.Rlimit) (was syscall.Rlimit, err error) {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, 0, rlimitRTTime, uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(&was)), 0, 0)
	if errno != 0 {
		return was, errno
	}
	return was, nil
}
