package process

import (
	"context"
	"fmt"
	"time"

	"gatewaytui/core/process/kernel"
)

// selection is what a kill ends.
type selection struct {
	tree func(*tree) bool
	// none says that nothing is left if the registry has no such tree: there is no other way to find anything of it.
	none bool
	// all is every descendant, in a tree or not, and every process with our life's marker.
	all bool
	// past replaces both; it selects what earlier lives left.
	past *earlierLives
}

// only selects one tree.
func only(wanted *tree) selection {
	return selection{tree: func(t *tree) bool { return t == wanted }, none: true}
}

// earlierLives is what a sweep of earlier lives ends.
type earlierLives struct {
	lives   []string
	leaders map[ident]bool
	found   map[ident]proc // everything that any scan found
}

// kill is one kill under way.
type kill struct {
	r      *Registry
	sel    selection
	report Report
	known  map[ident]*target
	groups map[*tree]*target // of trees whose leader was waited for: the group still exists
	trees  map[*tree]bool    // marked as being killed
	live   []*target         // at the last scan
	silent int               // at the last scan: orphans that may belong to the target
	dirs   map[string]bool   // control groups of the target
	noFDs  bool
	// carried is of the trees whose leader carries the command.
	carried carried
}

func newKill(r *Registry, sel selection) *kill {
	return &kill{
		r: r, sel: sel, known: map[ident]*target{}, groups: map[*tree]*target{}, trees: map[*tree]bool{},
		dirs: map[string]bool{}, carried: newCarried(),
	}
}

// verifyGone scans, and when a scan finds nothing it makes sure. A scan is not a snapshot: of a chain in which each
// process forks the next one and ends, it can miss both. But each such end leaves us an orphan to reap. So two scans in a
// row without a reaped orphan between them have seen everything. Where other trees keep leaving orphans, steadyLooks
// scans suffice. A scan waits for another one under way until the given time.
func (k *kill) verifyGone(ctx context.Context, until time.Time) bool {
	for looks := 1; ; looks++ {
		before := k.r.reaped.Load()
		if !k.scan(ctx, until) || len(k.live) > 0 || k.silent > 0 {
			return false
		}
		k.r.reap()
		steady := k.r.reaped.Load() == before || k.sel.all && childless()
		if looks > 1 && steady || looks == steadyLooks {
			k.report.Verified = true
			return true
		}
	}
}

// scan finds what is left to kill. It returns false if it could not.
func (k *kill) scan(ctx context.Context, until time.Time) bool {
	find := k.findTrees
	if k.sel.past != nil {
		find = k.findEarlier
	}
	found, err := find(ctx, until)
	if err == nil && len(found) == 0 {
		found, err = k.findMembers()
	}
	k.report.Problem = err
	if err != nil {
		return false
	}
	k.live = k.live[:0]
	for _, p := range found {
		if k.r.self.untouchable(p) {
			continue
		}
		t := k.known[p.Ident]
		if t == nil {
			if t = k.pin(p); t == nil {
				continue
			}
			k.known[p.Ident] = t
		}
		t.proc = p // it may have changed its group
		k.live = append(k.live, t)
	}
	return true
}

// findTrees finds the members of the selected trees, and with all, every other process of this life.
func (k *kill) findTrees(ctx context.Context, until time.Time) ([]proc, error) {
	k.r.reap() // so that an ended leader counts as ended, and its tree can be removed
	v := k.r.observe(ctx, until, k.sel.all)
	if v.err != nil {
		return nil, v.err
	}
	if k.silent = v.silent; k.sel.all {
		k.silent = 0 // all are ended, identified or not
	}
	k.mark()
	var found []proc
	for t, members := range v.owned {
		if k.sel.tree(t) {
			found = append(found, members...)
			k.carried.note(t, members, k.r.self.PID)
		}
	}
	if k.sel.all {
		found = append(found, v.unattributed...)
	}
	return found, nil
}

// mark enters the selected trees. Their rows show that they are being killed, even before the first scan.
func (k *kill) mark() {
	if k.sel.tree == nil {
		return
	}
	k.r.mu.Lock()
	defer k.r.mu.Unlock()
	for _, t := range k.r.trees {
		if !k.sel.tree(t) {
			continue
		}
		if !k.trees[t] {
			k.trees[t] = true
			t.killing++
			if t.dir != "" {
				k.dirs[t.dir] = true
			}
		}
		if k.groups[t] == nil && !t.leading && t.pidfd >= 0 && !k.noFDs {
			if fd, err := dup(t.pidfd); err == nil {
				leader := proc{Ident: t.leader, PGRP: t.leader.PID, SID: t.leader.PID}
				k.groups[t] = &target{proc: leader, fd: fd}
			}
		}
	}
	if k.sel.all && k.r.groups != nil {
		k.dirs[k.r.groups.life], k.dirs[k.r.groups.kept] = true, true
	}
}

// findMembers lists the members of the control groups of the target when the process table showed none. The kill is
// verified only when the kernel reports each group as empty.
func (k *kill) findMembers() (found []proc, err error) {
	for dir := range k.dirs {
		there, err := kernel.Populated(dir)
		if err != nil {
			return nil, fmt.Errorf("read control group %s: %w", dir, err)
		}
		if !there {
			continue
		}
		pids, err := kernel.Members(dir)
		if err != nil {
			return nil, fmt.Errorf("list control group %s: %w", dir, err)
		}
		for _, pid := range pids {
			if p, err := statOf(pid); err == nil && p.Alive() {
				found = append(found, p)
			}
		}
	}
	return found, nil
}

// pin makes p a target; nil if p is gone.
func (k *kill) pin(p proc) *target {
	if k.noFDs {
		return &target{proc: p, fd: -1}
	}
	t, there, err := openTarget(p)
	if !there {
		return nil
	}
	if err != nil {
		// The scans need descriptors more than the targets do.
		k.noFDs = true
		k.closeFDs()
	}
	return t
}

func (k *kill) closeFDs() {
	for _, t := range k.known {
		closeFD(t.fd)
		t.fd = -1
	}
	for t, g := range k.groups {
		closeFD(g.fd)
		delete(k.groups, t)
	}
}

// findEarlier finds what earlier lives left.
func (k *kill) findEarlier(ctx context.Context, until time.Time) ([]proc, error) {
	p := k.sel.past
	if k.r.groups != nil {
		adopted := map[string]bool{} // the control groups of the trees that earlier lives started
		for _, t := range k.r.all() {
			adopted[t.dir] = t.tag != 0
		}
		for _, life := range p.lives {
			dir, kept := k.r.groups.of(life)
			k.dirs[dir] = true
			for _, tree := range k.r.groups.trees(kept) {
				if !adopted[tree] {
					k.dirs[tree] = true
				}
			}
		}
	}
	found, err := k.r.earlierProcs(ctx, until, p)
	if err != nil {
		return nil, err
	}
	for _, q := range found {
		p.found[q.Ident] = q
	}
	return found, nil
}

func (r *Registry) earlierProcs(ctx context.Context, until time.Time, p *earlierLives) ([]proc, error) {
	if err := r.takeScan(ctx, until, nil); err != nil {
		return nil, fmt.Errorf("scan processes: %w", err)
	}
	defer r.giveScan()
	procs, err := kernel.Table(nil)
	if err != nil {
		return nil, fmt.Errorf("scan processes: %w", err)
	}
	never := map[ident]bool{} // the program and its descendants, and what was adopted
	for _, members := range r.inherited(procs, nil) {
		for _, q := range members {
			never[q.Ident] = true
		}
	}
	for _, q := range descendants(procs, r.self.PID, nil) {
		never[q.Ident] = true
	}
	spare := func(q proc) bool { return never[q.Ident] || r.self.untouchable(q) }
	seen := map[ident]bool{}
	var out []proc
	add := func(q proc) {
		if !seen[q.Ident] && q.Alive() {
			seen[q.Ident] = true
			out = append(out, q)
		}
	}
	for _, q := range procs {
		if spare(q) {
			continue
		}
		if !p.leaders[q.Ident] && (!q.Alive() || !r.bornIn(q, p.lives...)) {
			continue
		}
		add(q)
		for _, below := range descendants(procs, q.PID, spare) {
			// A process with another life's tag belongs to that life, or is another gateway. It must not be ended.
			if m := kernel.MarksOf(below.PID); m.Tag() == 0 || tagFrom(m, p.lives) {
				add(below)
			}
		}
	}
	return out, nil
}
