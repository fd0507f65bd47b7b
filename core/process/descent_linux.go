package process

import (
	"errors"
	"iter"
)

// Bounds of a walk from parent to parent: how many processes are read, since a table that is read while it changes could
// lead in a circle, and how often the walk begins again when one of them ended meanwhile.
const (
	climbMost  = 4096
	climbAgain = 3
)

var (
	errClimbChanged = errors.New("one of its parents ended meanwhile")
	errClimbLong    = errors.New("it has too many parents")
)

// Descends reports whether the process pid is below the process above: a child of it, or a child's child. Who is below a
// gateway ends with it. Environment, session and group do not matter, and no daemon gets away: its orphans are the
// gateway's own children (PR_SET_CHILD_SUBREAPER, prctl(2)). Both pids are of our own pid namespace. What cannot be read
// is not below. It may be called by anybody; no registry has to be open.
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
	for p, err := range climb(pid, climbMost) {
		if err != nil {
			return false, err
		}
		if p.ppid == above && above > 0 {
			return true, nil
		}
	}
	return false, nil
}

// climb yields the process pid, its parent, that one's parent and so on, up to the one whose parent is pid 1 or outside
// of this pid namespace; at most that many, and then errClimbLong. It yields errClimbChanged when a process on the way
// ended, so that its children have another parent now, and the error of the read when pid itself cannot be read.
func climb(pid, most int) iter.Seq2[proc, error] {
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
			if n > 0 { // its pid may be another process's by now: it is the parent if the child still says so
				now, err := statOf(child.pid)
				if err != nil || now.ident != child.ident || now.ppid != pid {
					yield(proc{}, errClimbChanged)
					return
				}
			}
			if !yield(p, nil) || p.ppid <= 1 {
				return
			}
			child, pid = p, p.ppid
		}
		yield(proc{}, errClimbLong)
	}
}
