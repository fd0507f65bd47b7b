package kernel

import (
	"bytes"
	"errors"
	"strconv"
	"syscall"
)

// PIDs lists the processes of this pid namespace. It is not a snapshot.
func PIDs() ([]int, error) {
	names, err := list("/proc")
	if err != nil {
		return nil, err
	}
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if name[0] < '1' || name[0] > '9' {
			continue
		}
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// StatOf reads the line of one process into buf. A kilobyte is enough.
func StatOf(pid int, buf []byte) (Stat, error) {
	b, err := ReadFile("/proc/"+strconv.Itoa(pid)+"/stat", buf)
	if err != nil {
		return Stat{}, err
	}
	return ParseStat(b)
}

// BootID identifies this boot of the machine.
func BootID() (string, error) {
	b, err := ReadFile("/proc/sys/kernel/random/boot_id", make([]byte, 64))
	return string(bytes.TrimSpace(b)), err
}

// Environ is the environment of pid, as far as it fits in buf; empty if it cannot be read. The read waits for the memory
// lock of the process.
func Environ(pid int, buf []byte) []byte {
	b, _ := ReadFile("/proc/"+strconv.Itoa(pid)+"/environ", buf)
	return b
}

// Arguments is Environ for the command line.
func Arguments(pid int, buf []byte) []byte {
	b, _ := ReadFile("/proc/"+strconv.Itoa(pid)+"/cmdline", buf)
	return b
}

// Kill sends SIGKILL only to the process with this pid that started at this tick. It reads the identity again after
// opening a pidfd that pins the process, where there are pidfds.
func Kill(pid int, start uint64, buf []byte) {
	const pidfdSendSignal, pidfdOpen = 424, 434 // the same on every architecture that Go runs on
	fd, _, errno := syscall.Syscall(pidfdOpen, uintptr(pid), 0, 0)
	if errno == 0 {
		defer syscall.Close(int(fd))
	}
	now, err := StatOf(pid, buf)
	switch {
	case err != nil || now.Start != start || errno == syscall.ESRCH:
	case errno == 0:
		_, _, _ = syscall.Syscall6(pidfdSendSignal, fd, uintptr(syscall.SIGKILL), 0, 0, 0, 0) // it is gone, or we may not kill it: the next scan shows which
	default:
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// list returns the names in a directory.
func list(path string) ([]string, error) {
	fd, err := open(path, syscall.O_RDONLY|syscall.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	var names []string
	buf := make([]byte, 8<<10)
	for {
		n, err := syscall.ReadDirent(fd, buf)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || n <= 0 {
			return names, err
		}
		_, _, names = syscall.ParseDirent(buf[:n], -1, names)
	}
}

// ReadFile reads as much of a file as fits in buf.
func ReadFile(path string, buf []byte) ([]byte, error) {
	fd, err := open(path, syscall.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	total := 0
	for total < len(buf) {
		n, err := syscall.Read(fd, buf[total:])
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			break
		}
		total += n
	}
	return buf[:total], nil
}

func open(path string, flags int) (int, error) {
	for {
		fd, err := syscall.Open(path, flags|syscall.O_CLOEXEC, 0)
		if !errors.Is(err, syscall.EINTR) {
			return fd, err
		}
	}
}
