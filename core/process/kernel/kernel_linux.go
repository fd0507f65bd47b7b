package kernel

import (
	"bytes"
	"errors"
	"os"
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

// Table reads every process of this pid namespace. It is not a snapshot: a process that forks and ends meanwhile can be
// missed. Read again to be certain. An error means that a process is not in the table although it may live. The memory of
// reuse is used again; nil: new memory.
func Table(reuse []Stat) ([]Stat, error) {
	pids, err := PIDs()
	if err != nil {
		return nil, &os.PathError{Op: "list", Path: "/proc", Err: err}
	}
	table := reuse[:0]
	if reuse == nil {
		table = make([]Stat, 0, len(pids))
	}
	var buf [statBytes]byte
	for _, pid := range pids {
		p, statErr := readStat(pid, buf[:])
		switch {
		case statErr == nil:
			table = append(table, p)
		case errors.Is(statErr, syscall.ENOENT), errors.Is(statErr, syscall.ESRCH): // it has ended
		case errors.Is(statErr, syscall.EPERM), errors.Is(statErr, syscall.EACCES): // hidepid=1 (proc(5)): another user's
		default: // no descriptor left, no memory: "nothing found" would be wrong
			err = &os.PathError{Op: "read", Path: "/proc/" + strconv.Itoa(pid) + "/stat", Err: statErr}
		}
	}
	return table, err
}

// StatOf reads one process; syscall.ENOENT or syscall.ESRCH: it does not exist.
func StatOf(pid int) (Stat, error) { return readStat(pid, make([]byte, statBytes)) }

// statBytes is more than a line of /proc/PID/stat has.
const statBytes = 1 << 10

func readStat(pid int, buf []byte) (Stat, error) {
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
func Kill(pid int, start uint64) {
	const pidfdSendSignal, pidfdOpen = 424, 434 // the same on every architecture that Go runs on
	fd, _, errno := syscall.Syscall(pidfdOpen, uintptr(pid), 0, 0)
	if errno == 0 {
		defer syscall.Close(int(fd))
	}
	now, err := StatOf(pid)
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
