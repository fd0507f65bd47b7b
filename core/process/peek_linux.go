package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// pipesOf are the inodes of the pipes among the standard streams of pid, as far as they can be read. It does not wait for
// the process.
func pipesOf(pid int) (inodes []uint64) {
	for fd := range 3 {
		to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd))
		if err != nil {
			continue
		}
		if number, is := strings.CutPrefix(to, "pipe:["); is {
			if inode, err := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64); err == nil {
				inodes = append(inodes, inode)
			}
		}
	}
	return inodes
}

// keptOutput opens the pipe that pid writes its output to, if it is the pipe that pid was started with. That pipe is open
// for reading as well, which no shell does. Otherwise it returns nil, because another process reads that pipe.
func keptOutput(pid int) *os.File {
	proc := "/proc/" + strconv.Itoa(pid)
	if to, err := os.Readlink(proc + "/fd/1"); err != nil || !strings.HasPrefix(to, "pipe:[") {
		return nil
	}
	var buf [1 << 10]byte
	for line := range bytes.Lines(readUpTo(proc+"/fdinfo/1", buf[:])) {
		octal, ok := bytes.CutPrefix(line, []byte("flags:")) // proc_pid_fdinfo(5)
		if !ok {
			continue
		}
		flags, err := strconv.ParseUint(string(bytes.TrimSpace(octal)), 8, 64)
		if err != nil || flags&unix.O_ACCMODE != unix.O_RDWR {
			return nil
		}
		fd, err := unix.Open(proc+"/fd/1", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil
		}
		pipe, err := ours(fd, "output")
		if err != nil {
			return nil
		}
		return pipe
	}
	return nil
}

// readUpTo reads at most len(buf) bytes; a file that cannot be read counts as empty.
func readUpTo(path string, buf []byte) []byte {
	fd, err := unix.Open(path, os.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	total := 0
	for total < len(buf) {
		n, err := unix.Read(fd, buf[total:])
		if n <= 0 || err != nil {
			break
		}
		total += n
	}
	return buf[:total]
}
