package process

import (
	"bytes"
	"slices"
	"strings"

	"gatewaytui/core/process/kernel"
)

// Names of the environment variables that mark a child and everything that inherits its environment (CONTRACT.md, 5).
const (
	EnvLife    = kernel.EnvLife
	EnvSession = "GATEWAYTUI_SESSION"
	EnvHomeID  = "GATEWAYTUI_HOME_ID"
	// EnvSpawn is the number of the spawn within its life. It says which tree an orphan belongs to.
	EnvSpawn = "GATEWAYTUI_SPAWN"
)

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

func statOf(pid int) (proc, error) { return kernel.StatOf(pid) }

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

// unmarked is env without the marks of a life.
func unmarked(env []string) []string {
	marks := []string{EnvLife, EnvSession, EnvHomeID, EnvSpawn}
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(marks, name)
	})
}
