package process

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// setSubreaper makes orphans below us our children, or leaves them to init again (PR_SET_CHILD_SUBREAPER, prctl(2)).
func setSubreaper(on bool) error {
	var arg uintptr
	if on {
		arg = 1
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, arg, 0, 0, 0); err != nil {
		return fmt.Errorf("set child subreaper: %w", err)
	}
	return nil
}

// adoptOrphans does nothing: see setSubreaper.
func (r *Registry) adoptOrphans([]proc) {}

// treeOutside is the tree of p, which is not below us.
func (r *Registry) treeOutside(p proc) (t *tree, tracked bool) { return r.treeOfTag(p.PID) }
