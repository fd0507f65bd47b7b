package guardian

import (
	"os"

	"gatewaytui/core/process/kernel"
)

// scan is a series of scans of the process table, and the data that they share.
type scan struct {
	Target
	identities *reported
	environ    []byte
	table      []kernel.Stat
	covered    map[int]bool // by pid, in this scan
}

// kill scans once and kills what it finds. It reports whether it found something, or could not scan.
func (l *scan) kill() (found bool) {
	table, err := kernel.Table(l.table)
	l.table, found = table, err != nil
	clear(l.covered)
	for _, p := range l.table {
		if l.owns(p) {
			l.covered[p.PID] = true
		}
	}
	for l.spread() {
	}
	for _, p := range l.table {
		if l.covered[p.PID] && p.Alive() {
			found = true
			kernel.Kill(p.PID, p.Start)
		}
	}
	return found
}

// spread covers the children of covered processes, and reports whether there were any. Such a child may be newer than the
// last identities that the gateway reported.
func (l *scan) spread() (more bool) {
	for _, p := range l.table {
		if l.covered[p.PPID] && !l.covered[p.PID] && !l.exempt(p) && !l.others(kernel.MarksOf(p.PID)) {
			l.covered[p.PID] = true
			more = true
		}
	}
	return more
}

// exempt reports whether p is never touched.
func (l *scan) exempt(p kernel.Stat) bool {
	return p.PID <= 1 || p.PID == os.Getpid() || p.PID == l.PID && p.Start == l.Start
}

// others reports whether a process with these marks was started by another life, even if it inherited our environment.
func (l *scan) others(m kernel.Marks) bool { return m.Tag() != 0 && !l.ours(m) }

func (l *scan) ours(m kernel.Marks) bool { return m.TagOf(l.Life) != 0 }

// owns reports whether the life started p.
func (l *scan) owns(p kernel.Stat) bool {
	if l.exempt(p) || !p.Alive() {
		return false
	}
	if l.identities.has(p.PID, p.Start) {
		return true
	}
	m := kernel.MarksOf(p.PID)
	if l.ours(m) {
		return true
	}
	if l.others(m) {
		return false
	}
	// A gateway started it, and it belongs to no life any more. It is ours if it was orphaned to the same process as we
	// were. It could not leave another gateway's children in another way.
	if m.Shed() && p.PPID == os.Getppid() && p.Start >= l.Start {
		return true
	}
	return p.State != 'D' && kernel.HasMarker(p.PID, l.Life, l.environ)
}
