package instance

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// LockHolder is the process that holds the home's lock, as the kernel reports it, without touching the lock; false: none
// is reported, or the kernel cannot be asked.
func LockHolder(home string) (pid int, held bool) {
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(home, lockFile), &st); err != nil {
		return 0, false
	}
	f, err := os.Open("/proc/locks")
	if err != nil {
		return 0, false
	}
	defer f.Close()
	return holderOf(f, st.Dev, st.Ino)
}

// flocks yields the processes with a flock(2) and the files that they lock, as /proc/locks has them (proc_locks(5)):
// "1: FLOCK ADVISORY WRITE PID MAJ:MIN:INODE 0 EOF", with the device in hexadecimal. The pid is 0 or less if that process is
// in another pid namespace and hidden from us.
func flocks(locks io.Reader) iter.Seq2[int, string] {
	return func(yield func(pid int, file string) bool) {
		for lines := bufio.NewScanner(locks); lines.Scan(); {
			fields := strings.Fields(lines.Text())
			if len(fields) < 6 || fields[1] != "FLOCK" { // a waiter has "->" there
				continue
			}
			if pid, err := strconv.Atoi(fields[4]); err == nil && !yield(pid, fields[5]) {
				return
			}
		}
	}
}

// holderOf finds the process with a flock on the file.
func holderOf(locks io.Reader, dev, inode uint64) (pid int, held bool) {
	file := fmt.Sprintf("%02x:%02x:%d", unix.Major(dev), unix.Minor(dev), inode)
	for pid, locked := range flocks(locks) {
		if locked == file {
			return pid, true
		}
	}
	return 0, false
}

// LocksOneOf reports whether pid has a flock on one of the paths, according to /proc/locks, which is read from locks. The
// device is not compared, because on btrfs and overlayfs stat(2) returns another one.
func LocksOneOf(locks io.Reader, pid int, paths ...string) bool {
	for holder, locked := range flocks(locks) {
		inode := locked[strings.LastIndexByte(locked, ':')+1:]
		for _, path := range paths {
			var st unix.Stat_t
			if holder == pid && unix.Stat(path, &st) == nil && strconv.FormatUint(st.Ino, 10) == inode {
				return true
			}
		}
	}
	return false
}
