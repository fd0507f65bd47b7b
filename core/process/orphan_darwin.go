package process

import "gatewaytui/core/ops"

// setSubreaper does nothing: macOS makes orphans the children of launchd. See adoptOrphans.
func setSubreaper(bool) error { return nil }

// adoptOrphans takes an orphan for our child if it is in the session that one of our leaders opened, or if an earlier
// scan saw it in a tree. Linux makes it one. An orphan that left its session before any scan is not found here.
func (r *Registry) adoptOrphans(procs []proc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reaped.Add(1) // other processes reap our orphans, so no two scans in a row are known to have seen everything
	for i, p := range procs {
		if p.PPID == 1 && r.orphanOf(p) != nil {
			procs[i].PPID = r.self.PID
		}
	}
}

// orphanOf is the tree of p, which is not below us any more; nil: none is known. Registry.mu is held.
func (r *Registry) orphanOf(p proc) *tree {
	if t := r.owners[p.Ident]; t != nil {
		return t
	}
	// The number of a session is not reused while it has members.
	if t := r.byPID[p.SID]; t != nil && t.origin == ops.OriginSpawned && t.leader.Start <= p.Start {
		return t
	}
	return nil
}

// treeOutside is the tree of p, which is not below us.
func (r *Registry) treeOutside(p proc) (t *tree, tracked bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t = r.orphanOf(p)
	return t, t != nil
}
