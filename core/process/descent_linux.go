package process

// Bounds of Descends: how many parents are looked at, since a table that is read while it changes could lead in a circle,
// and how often it begins again when one of them ended meanwhile.
const (
	climbMost  = 4096
	climbAgain = 3
)

// Descends reports whether the process pid is below the process above: a child of it, or a child's child. Who is below a
// gateway ends with it. Environment, session and group do not matter, and no daemon gets away: its orphans are the
// gateway's own children (PR_SET_CHILD_SUBREAPER, prctl(2)). Both pids are of our own pid namespace. What cannot be read
// is not below. It may be called by anybody; no registry has to be open.
func Descends(pid, above int) bool {
	for range climbAgain {
		below, whole := climb(pid, above)
		if whole {
			return below
		}
	}
	return false
}

// climb goes from parent to parent; whole is false if one of them ended on the way, so that its children have another
// parent now.
func climb(pid, above int) (below, whole bool) {
	for range climbMost {
		p, err := statOf(pid)
		switch {
		case err != nil:
			return false, false
		case p.ppid == above && above > 0:
			return true, true
		case p.ppid <= 1:
			return false, true
		}
		pid = p.ppid
	}
	return false, true
}
