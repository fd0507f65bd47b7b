package process

import (
	"bytes"
	"os"
	"time"

	"gatewaytui/core/process/kernel"
)

// Began is when this program was started, to 10 ms. On a busy machine that is well before it runs. It returns the current
// time where /proc does not show the start.
func Began() time.Time {
	p, err := statOf(os.Getpid())
	if err != nil {
		return time.Now()
	}
	return startedAt(p.Start)
}

// Resident is the resident memory of this program (RSS), in bytes; 0 where /proc does not show it.
func Resident() int64 {
	p, err := statOf(os.Getpid())
	if err != nil {
		return 0
	}
	return p.RSS * int64(os.Getpagesize())
}

// Identity names one process of this boot.
type Identity = kernel.Ident

// self is our own line in the process table, and what must never be a target.
type self struct {
	proc
	bootID string
}

// untouchable reports whether p is never signalled: ourselves, our group, our parent, pid 1, the kernel's threads.
func (s self) untouchable(p proc) bool {
	return p.PID <= 1 || p.PID == s.PID || p.PID == s.PPID || p.PGRP == s.PGRP || p.Kernel()
}

// groupTarget reports whether the group that p leads may be signalled: p leads it, and it is not ours.
func (s self) groupTarget(p proc) bool {
	return p.PID > 1 && p.PGRP == p.PID && p.PGRP != s.PGRP && !s.untouchable(p)
}

type (
	ident = kernel.Ident
	proc  = kernel.Stat
)

// marks are the marker variables of one environment.
type marks struct {
	life, session, spawn string
}

// parseEnviron reads the markers from the content of /proc/PID/environ, which the process may have overwritten with
// anything. The first variable of each name counts, as for getenv(3).
func parseEnviron(b []byte) (m marks) {
	into := map[string]*string{EnvLife: &m.life, EnvSession: &m.session, EnvSpawn: &m.spawn}
	for entry := range bytes.SplitSeq(b, []byte{0}) {
		name, value, ok := bytes.Cut(entry, []byte{'='})
		if to := into[string(name)]; ok && to != nil && *to == "" {
			*to = string(value)
		}
	}
	return m
}
