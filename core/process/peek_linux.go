package process

import (
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
	info, _ := os.ReadFile(proc + "/fdinfo/1") // it may have ended
	for line := range strings.Lines(string(info)) {
		octal, ok := strings.CutPrefix(line, "flags:") // proc_pid_fdinfo(5)
		if !ok {
			continue
		}
		flags, err := strconv.ParseUint(strings.TrimSpace(octal), 8, 64)
		if err != nil || flags&unix.O_ACCMODE != unix.O_RDWR {
			return nil
		}
		pipe, _ := os.OpenFile(proc+"/fd/1", os.O_RDONLY|unix.O_NONBLOCK, 0) // nil if it has ended
		return pipe
	}
	return nil
}
