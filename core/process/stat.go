package process

import (
	"bytes"

	"gatewaytui/core/process/kernel"
)

// proc is the part of a line of /proc/PID/stat that we use (proc_pid_stat(5)).
type proc struct {
	ident
	ppid, pgrp, sid int
	state           byte
	flags           uint64
	threads         int
	cpu             uint64 // user and system time, in clock ticks
	rss             int64  // pages
}

// kernelThread is PF_KTHREAD of linux/sched.h.
const kernelThread = 0x00200000

func (p proc) kernel() bool { return p.flags&kernelThread != 0 }

// alive does not count zombies (C3).
func (p proc) alive() bool { return kernel.Stat{State: p.state, Threads: p.threads}.Alive() }

func procOf(s kernel.Stat) proc {
	return proc{
		ident: ident{pid: s.PID, start: s.Start}, ppid: s.PPID, pgrp: s.PGRP, sid: s.SID, state: s.State, flags: s.Flags,
		threads: s.Threads, cpu: s.CPU, rss: s.RSS,
	}
}

// marks are the marker variables of one environment.
type marks struct {
	life, session, spawn string
}

// parseEnviron reads the markers from the content of /proc/PID/environ, which the process may have overwritten with
// anything. The first variable of each name counts, as for getenv(3).
func parseEnviron(b []byte) marks {
	var m marks
	for len(b) > 0 {
		entry := b
		if i := bytes.IndexByte(b, 0); i >= 0 {
			entry, b = b[:i], b[i+1:]
		} else {
			b = nil
		}
		if !bytes.HasPrefix(entry, []byte(envPrefix)) {
			continue
		}
		name, value, ok := bytes.Cut(entry, []byte{'='})
		if !ok {
			continue
		}
		var into *string
		switch string(name) {
		case EnvLife:
			into = &m.life
		case EnvSession:
			into = &m.session
		case EnvSpawn:
			into = &m.spawn
		default:
			continue
		}
		if *into == "" {
			*into = string(value)
		}
	}
	return m
}
