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
