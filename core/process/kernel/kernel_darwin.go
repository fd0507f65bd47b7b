package kernel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// What macOS lacks. The text follows what cannot be done.
var errNotHere = errors.New("macOS has no such call")

// Table reads every process of this machine.
func Table([]Stat) ([]Stat, error) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, os.NewSyscallError("read the process table", err)
	}
	table := make([]Stat, len(all))
	for i := range all {
		table[i] = statOf(&all[i])
	}
	return table, nil
}

// StatOf reads one process; syscall.ESRCH: it does not exist.
func StatOf(pid int) (Stat, error) {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if errors.Is(err, unix.EIO) { // the answer is empty
		return Stat{}, syscall.ESRCH
	}
	if err != nil {
		return Stat{}, err
	}
	return statOf(p), nil
}

func statOf(p *unix.KinfoProc) Stat {
	began := p.Proc.P_starttime
	s := Stat{
		Ident: Ident{PID: int(p.Proc.P_pid), Start: uint64(began.Sec)*1e6 + uint64(began.Usec)},
		PPID:  int(p.Eproc.Ppid), PGRP: int(p.Eproc.Pgid), State: 'R', Threads: 1,
	}
	switch p.Proc.P_stat { // sys/proc.h
	case 4: // SSTOP
		s.State = 'T'
	case 5: // SZOMB
		s.State = 'Z'
	}
	s.SID, _ = unix.Getsid(s.PID) // 0 if it has ended
	return s
}

// BootID identifies this boot of the machine.
func BootID() (string, error) { return unix.Sysctl("kern.bootsessionuuid") }

// Environ is the environment of pid. It is empty for processes of other users, and for most programs that are part of
// macOS. It needs no buffer.
func Environ(pid int, _ []byte) []byte {
	_, environ := startOf(pid)
	return environ
}

// Arguments is Environ for the command line.
func Arguments(pid int, _ []byte) []byte {
	arguments, _ := startOf(pid)
	return arguments
}

// startOf splits kern.procargs2: the number of arguments, the path of the program, zero bytes, the arguments, and the
// environment, which ends with an empty string.
func startOf(pid int) (arguments, environ []byte) {
	b, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil || len(b) < 4 {
		return nil, nil
	}
	n, b := binary.NativeEndian.Uint32(b), b[4:]
	b = bytes.TrimLeft(b[max(bytes.IndexByte(b, 0), 0):], "\x00")
	end := 0
	for ; n > 0 && end < len(b); n-- {
		end += max(bytes.IndexByte(b[end:], 0), 0) + 1
	}
	end = min(end, len(b))
	environ, _, _ = bytes.Cut(b[end:], []byte{0, 0})
	return b[:end], environ
}

// Kill sends SIGKILL only to the process with this pid that started at this time. Between the look and the signal the pid
// would have to be freed and given out again, which macOS does after all others.
func Kill(pid int, start uint64) {
	if now, err := StatOf(pid); err == nil && now.Start == start {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it is gone, or we may not kill it: the next scan shows which
	}
}

// Conceal fails: the environment of a process is open to other processes of its user.
func Conceal() error {
	return errors.New("macOS shows the environment of a process to other processes of its user")
}

// SetTag fails: a process of macOS inherits nothing that it cannot take off. There is never a tag to take off.
func SetTag(t Tag) error {
	if t == 0 {
		return nil
	}
	return errNotHere
}

// TryTag is SetTag.
func TryTag(t Tag) error { return SetTag(t) }

// MarksOf is empty: see SetTag.
func MarksOf(int) Marks { return Marks{} }

// BoundProcesses fails: a process of macOS can limit itself alone.
func BoundProcesses(int, uint64) error { return errNotHere }

// ProcessLimit is the soft RLIMIT_NPROC of this process; false: not readable.
func ProcessLimit() (uint64, bool) {
	var limit unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NPROC, &limit)
	return limit.Cur, err == nil
}

// KillGroup, Populated, Members and RemoveGroup find no control group, and Rejoin has none to join.
func KillGroup(string) error         { return errNotHere }
func Populated(string) (bool, error) { return false, nil }
func Members(string) ([]int, error)  { return nil, nil }
func RemoveGroup(string) error       { return nil }
func Rejoin(string, string)          {}

// CloseAbove closes every descriptor of this process above fd that an exec would leave open. Those of the runtime are not
// among them.
func CloseAbove(fd int) {
	names, err := os.ReadDir("/dev/fd")
	if err != nil {
		return
	}
	for _, name := range names {
		n, err := strconv.Atoi(name.Name())
		if err != nil || n <= fd {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(n), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = syscall.Close(n)
		}
	}
}

// DropText does nothing: macOS gives no figure that it would change.
func DropText() {}
