package guardian

import (
	"os"

	"gatewaytui/core/process/kernel"
)

// look is one look after another at the process table, and what they share.
type look struct {
	Charge
	told          *told
	stat, environ []byte
	table         []kernel.Stat
	covered       map[int]bool // by pid, in this look
}

// kill kills what one look finds, and reports whether it found something, or could not look.
func (l *look) kill() (found bool) {
	pids, err := kernel.PIDs()
	if err != nil {
		return true
	}
	l.table = l.table[:0]
	for _, pid := range pids {
		if p, err := kernel.StatOf(pid, l.stat); err == nil {
			l.table = append(l.table, p)
		}
	}
	clear(l.covered)
	for _, p := range l.table {
		if l.covers(p) {
			l.covered[p.PID] = true
		}
	}
	for l.spread() {
	}
	for _, p := range l.table {
		if l.covered[p.PID] && p.Alive() {
			found = true
			kernel.Kill(p.PID, p.Start, l.stat)
		}
	}
	return found
}

// spread covers the children of what is covered, and reports whether there were any. They may have come after the last
// identities that the gateway told.
func (l *look) spread() (more bool) {
	for _, p := range l.table {
		if l.covered[p.PPID] && !l.covered[p.PID] && !l.spared(p) && !l.others(l.marks(p)) {
			l.covered[p.PID] = true
			more = true
		}
	}
	return more
}

// spared reports whether p is never touched.
func (l *look) spared(p kernel.Stat) bool {
	return p.PID <= 1 || p.PID == os.Getpid() || p.PID == l.PID && p.Start == l.Start
}

func (l *look) marks(p kernel.Stat) kernel.Marks { return kernel.MarksOf(p.PID, l.stat) }

// others reports whether a process of these marks was started by another life, whatever it inherited by its environment.
func (l *look) others(m kernel.Marks) bool { return m.Tag() != 0 && !l.ours(m) }

func (l *look) ours(m kernel.Marks) bool {
	for _, t := range m.Tags {
		if t.Valid() && t.Of(l.Life) {
			return true
		}
	}
	return false
}

// covers reports whether p was started by the life.
func (l *look) covers(p kernel.Stat) bool {
	if l.spared(p) || !p.Alive() {
		return false
	}
	if l.told.has(p.PID, p.Start) {
		return true
	}
	m := l.marks(p)
	if l.ours(m) {
		return true
	}
	if l.others(m) {
		return false
	}
	// Started by a gateway, and of no life any more: ours, if it was orphaned to the process that we were orphaned to. It
	// left another gateway's children no other way.
	if m.Shed() && p.PPID == os.Getppid() && p.Start >= l.Start {
		return true
	}
	return p.State != 'D' && kernel.HasMarker(p.PID, l.Life, l.environ)
}
