package process

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// ours makes fd a file that supports deadlines. It owns fd, also when it fails.
func ours(fd int, name string) (*os.File, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		closeFD(fd)
		return nil, fmt.Errorf("make %s non-blocking: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

func dup(fd int) (int, error) {
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return -1, fmt.Errorf("duplicate a descriptor: %w", err)
	}
	return own, nil
}

// closeEachOnExec marks every open descriptor from first on to be closed by exec. list is the folder that shows them.
func closeEachOnExec(list string, first int) error {
	open, err := os.ReadDir(list)
	for _, e := range open {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= first {
			unix.CloseOnExec(fd) // the list's own descriptor is closed by now
		}
	}
	return err
}

// closeFD closes a descriptor that holds no unsaved data; it does nothing for -1.
func closeFD(fd int) {
	if fd < 0 {
		return
	}
	if err := unix.Close(fd); err != nil && !errors.Is(err, unix.EINTR) {
		panic(fmt.Sprintf("close descriptor %d: %v: it was closed twice", fd, err))
	}
}
