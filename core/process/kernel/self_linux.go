package kernel

import (
	"bytes"
	"strconv"
	"strings"
	"syscall"
)

// CloseAbove closes every descriptor of this process above fd, except those that the runtime polls.
func CloseAbove(fd int) {
	names, err := list("/proc/self/fd")
	if err != nil {
		return
	}
	var to [64]byte
	for _, name := range names {
		n, err := strconv.Atoi(name)
		if err != nil || n <= fd {
			continue
		}
		size, err := syscall.Readlink("/proc/self/fd/"+name, to[:])
		if err != nil || strings.HasPrefix(string(to[:size]), "anon_inode:[event") { // gone: it was the list's own
			continue
		}
		_ = syscall.Close(n)
	}
}

// DropText releases the pages of the program's text that its start has touched. Needed pages come back from the page
// cache, and the rest is not resident any more. Pages that a start may have changed are not text.
func DropText() {
	const dontNeed = 4 // MADV_DONTNEED
	b, err := ReadFile("/proc/self/maps", make([]byte, 8<<10))
	if err != nil {
		return
	}
	for line := range bytes.Lines(b) {
		// 00400000-00dcf000 r-xp 00000000 fe:00 9996556 /path (proc_pid_maps(5))
		fields := bytes.Fields(line)
		if len(fields) < 6 || string(fields[1]) != "r-xp" || fields[5][0] != '/' {
			continue
		}
		from, to, _ := strings.Cut(string(fields[0]), "-")
		start, err1 := strconv.ParseUint(from, 16, 64)
		end, err2 := strconv.ParseUint(to, 16, 64)
		if err1 != nil || err2 != nil || end <= start {
			continue
		}
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, uintptr(start), uintptr(end-start), dontNeed) // it only saves memory
	}
}

// Conceal keeps other processes of the same user from reading this one's memory, environment and descriptors below /proc,
// and from tracing it: the process is no longer dumpable (PR_SET_DUMPABLE, prctl(2); HF2). Root, with CAP_SYS_PTRACE,
// still can. The kernel writes no core dump of the process from then on.
//
// The process's view of itself changes as well, unless it runs as root. The files below /proc/self belong to root, so
// /proc/self/environ cannot be opened, and files such as oom_score_adj cannot be written. The same holds for a child
// between fork and exec. Exec makes the child dumpable again and gives it its files below /proc. The id maps of a user
// namespace can be written only after that exec.
func Conceal() error {
	const setDumpable = 4 // PR_SET_DUMPABLE
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setDumpable, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
