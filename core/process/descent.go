package process

import (
	"errors"
	"iter"
)

// Bounds of a walk from parent to parent. climbMost is how many processes are read, since a table that changes while it
// is read could lead in a circle. climbAgain is how often the walk begins again after a process on the way ended.
const (
	climbMost  = 4096
	climbAgain = 3
)

var (
	errClimbChanged = errors.New("a parent process ended during the read")
	errClimbLong    = errors.New("too many parent processes")
)

// Descends reports whether the process pid is below the process above: a child of it, or a child's child. A process below
// a gateway ends with it. Environment, session and group do not matter, and no daemon escapes: its orphans become the
// gateway's children (PR_SET_CHILD_SUBREAPER, prctl(2)). Both pids are of our own pid namespace. A process that cannot be
// read is not below. Any goroutine may call it; no registry has to be open.
func Descends(pid, above int) bool {
	for range climbAgain {
		below, err := descends(pid, above)
		if !errors.Is(err, errClimbChanged) {
			return below
		}
	}
	return false
}

func descends(pid, above int) (bool, error) {
	for p, err := range ancestors(pid, climbMost) {
		if err != nil {
			return false, err
		}
		if p.PPID == above && above > 0 {
			return true, nil
		}
	}
	return false, nil
}

// ancestors yields the process pid, its parent, its grandparent and so on, up to a process whose parent is pid 1 or
// outside of this pid namespace. After that many processes it yields errClimbLong. It yields errClimbChanged when a
// process on the way ended and its children have another parent now. It yields the error of the read when pid cannot be
// read.
func ancestors(pid, most int) iter.Seq2[proc, error] {
	return func(yield func(proc, error) bool) {
		var child proc
		for n := range most {
			p, err := statOf(pid)
			switch {
			case err != nil && n == 0:
				yield(proc{}, err)
				return
			case err != nil:
				yield(proc{}, errClimbChanged)
				return
			}
			if n > 0 { // its pid may be reused by now: it is the parent only if the child still names it
				now, err := statOf(child.PID)
				if err != nil || now.Ident != child.Ident || now.PPID != pid {
					yield(proc{}, errClimbChanged)
					return
				}
			}
			if !yield(p, nil) || p.PPID <= 1 {
				return
			}
			child, pid = p, p.PPID
		}
		yield(proc{}, errClimbLong)
	}
}
