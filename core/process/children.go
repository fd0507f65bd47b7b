package process

import (
	"slices"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/process/kernel"
)

// A scan of the process table costs a read for each process of the machine. The end of a tree can be known without a
// scan. We are a subreaper: when a leader ends, what it leaves becomes our children before we can wait for it. A tree
// whose leader was waited for has ended if no child of this program, waited for since or alive, can belong to it.

// childrenTries is how often our children are listed again because one of them was waited for meanwhile.
const childrenTries = 3

// childrenGone reports that no process of the selected trees lives, as far as that is known without a scan, and removes
// those trees. False means only that a scan is needed.
func (r *Registry) childrenGone(sel selection) bool {
	if sel.all {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.lastID == 0 // nothing was ever started or adopted
	}
	if sel.past != nil {
		return false
	}
	r.reap() // so that an ended leader counts as ended
	for range childrenTries {
		wanted, waited, sure := r.leaderless(sel)
		switch {
		case !sure:
			return false
		case len(wanted) == 0:
			return sel.none
		case !r.childless(wanted):
			return false
		}
		if r.forget(wanted, waited) {
			return true
		}
	}
	return false
}

// leaderless are the trees of sel and the number of children waited for so far. sure says that the leader of each tree
// has ended, and that no fork under way can belong to sel.
func (r *Registry) leaderless(sel selection) (wanted []*tree, waited uint64, sure bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sure = true
	for _, t := range r.trees {
		if sel.tree(t) {
			wanted = append(wanted, t)
			sure = sure && t.origin == ops.OriginSpawned && !t.leading // only scans find the members of an adopted tree
		}
	}
	for _, t := range r.pending {
		sure = sure && !sel.tree(t)
	}
	return wanted, r.waited, sure
}

// forget removes the wanted trees, unless a child was waited for since waited: that child may belong to them.
func (r *Registry) forget(wanted []*tree, waited uint64) bool {
	var ended []ending
	r.mu.Lock()
	still := r.waited == waited
	for _, t := range wanted {
		if still && r.trees[t.id] == t {
			ended = append(ended, r.remove(t, time.Now()))
		}
	}
	r.mu.Unlock()
	for _, e := range ended {
		r.finish(e)
	}
	return still
}

// childless reports that none of our children can belong to the wanted trees, and that their control groups are empty.
func (r *Registry) childless(wanted []*tree) bool {
	children, err := childrenOfSelf()
	if err != nil {
		return false // a kernel without CONFIG_PROC_CHILDREN, or a thread that ended meanwhile
	}
	for _, t := range wanted {
		if t.dir == "" {
			continue
		}
		if there, err := kernel.Populated(t.dir); err != nil || there {
			return false
		}
	}
	foreign := map[int]ident{}
	var strange []int
	r.mu.Lock()
	for id, child := range r.foreign {
		if child {
			foreign[id.PID] = id
		}
	}
	for _, pid := range children {
		if t := r.byPID[pid]; t == nil || !t.leading || slices.Contains(wanted, t) {
			strange = append(strange, pid)
		}
	}
	r.mu.Unlock()
	for _, pid := range strange {
		if id, is := foreign[pid]; is {
			if p, err := statOf(pid); err == nil && p.Ident == id {
				continue
			}
			return false
		}
		// Another spawn is about to enter this child, or a process of another tree left it. Its tag decides.
		tag := kernel.MarksOf(pid).TagFrom(r.opts.Life)
		if tag.Spawn() == 0 || slices.ContainsFunc(wanted, func(t *tree) bool { return tag.Spawn() == t.id }) {
			return false
		}
	}
	return true
}
