package process

import (
	"context"
	"fmt"
	"time"

	"gatewaytui/core/process/kernel"
)

// over looks, and when it finds nothing makes sure. A scan is no snapshot: of a chain in which each process forks the
// next one and ends, it can miss both. But each such end leaves us an orphan to reap, so two looks in a row between which
// none was reaped have seen everything. Where others keep on leaving orphans, steadyLooks must do.
// A look waits for a scan under way until a time.
func (k *kill) over(ctx context.Context, until time.Time) bool {
	for looks := 1; ; looks++ {
		before := k.r.orphansReaped()
		if !k.look(ctx, until) || len(k.live) > 0 || k.silent > 0 {
			return false
		}
		k.r.reap()
		steady := k.r.orphansReaped() == before || k.sel.all && childless()
		if looks > 1 && steady || looks == steadyLooks {
			k.report.Verified = true
			return true
		}
	}
}

func (r *Registry) orphansReaped() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reaped
}

// look finds what is there to be killed now. It returns false if it could not.
func (k *kill) look(ctx context.Context, until time.Time) bool {
	find := k.findTrees
	if k.sel.past != nil {
		find = k.findPast
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
		t := k.known[p.ident]
		if t == nil {
			if t = k.pin(p); t == nil {
				continue
			}
			k.known[p.ident] = t
		}
		t.proc = p // it may have changed its group
		k.live = append(k.live, t)
	}
	return true
}

// findTrees finds the members of the trees that are selected, and with all, whatever else is ours.
func (k *kill) findTrees(ctx context.Context, until time.Time) ([]proc, error) {
	k.r.reap() // so that a leader which ended is one, and its tree can go
	v := k.r.observe(ctx, until, k.sel.all)
	if v.err != nil {
		return nil, v.err
	}
	if k.silent = v.silent; k.sel.all {
		k.silent = 0 // whosever they are
	}
	k.mark()
	var found []proc
	for t, members := range v.owned {
		if k.sel.tree(t) {
			found = append(found, members...)
		}
	}
	if k.sel.all {
		found = append(found, v.loose...)
	}
	return found, nil
}

// mark enters the trees that are selected: their rows say that they are being killed, also while no look has begun.
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
				leader := proc{ident: t.leader, pgrp: t.leader.pid, sid: t.leader.pid}
				k.groups[t] = &target{proc: leader, fd: fd}
			}
		}
	}
	if k.sel.all && k.r.groups != nil {
		k.dirs[k.r.groups.life], k.dirs[k.r.groups.kept] = true, true
	}
}

// findMembers is who is in the control groups of what is killed, when the process table showed nobody: a group is
// believed, and the kill verified, only when the kernel says that nobody lives in it.
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
			if p, err := statOf(pid); err == nil && p.alive() {
				found = append(found, p)
			}
		}
	}
	return found, nil
}

// pin makes p a target; nil if it is gone.
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
