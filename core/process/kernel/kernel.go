// Package kernel reads and ends processes with nothing but system calls: the lines of the process table, the tag that a
// process inherits, and control groups.
//
// It imports little and sets nothing up, because the guardian is built on it: see that package for the reason. It has no
// state. All of it may be called from any goroutine.
package kernel

import "bytes"

// EnvLife names the environment variable that marks what a life started (CONTRACT.md, 5).
const EnvLife = "GATEWAYTUI_LIFE"

// Ident names one process of this boot: a pid is reused, a pid with its start is not.
type Ident struct {
	PID int
	// Start is when the process started, in clock ticks since boot; on macOS in microseconds since 1970.
	Start uint64
}

// Stat is what the process table says of a process, in the units of /proc/PID/stat (proc_pid_stat(5)). macOS leaves Flags,
// CPU and RSS at 0.
type Stat struct {
	Ident
	PPID, PGRP, SID int
	State           byte
	Flags           uint64
	Threads         int
	CPU             uint64 // user and system time, in clock ticks
	RSS             int64  // pages
}

// Alive does not count zombies (C3). A leader with other running threads is shown as a zombie but is alive.
func (s Stat) Alive() bool {
	switch s.State {
	case 'Z':
		return s.Threads > 1
	case 'X', 'x':
		return false
	}
	return true
}

// Kernel reports whether it is a thread of the kernel (PF_KTHREAD of linux/sched.h).
func (s Stat) Kernel() bool { return s.Flags&0x00200000 != 0 }

// HasMarker reports whether the environment of pid, as far as it fits in buf, names life in EnvLife. The read waits for
// the memory lock of the process.
func HasMarker(pid int, life string, buf []byte) bool {
	return hasMarker(Environ(pid, buf), life)
}

func hasMarker(environ []byte, life string) bool {
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, []byte(EnvLife+"=")); ok {
			return string(value) == life // the first one counts, as for getenv(3)
		}
	}
	return false
}
