package process

import (
	"errors"
	"fmt"
	"strings"

	"gatewaytui/core/ops"
	"gatewaytui/core/process/kernel"
)

// Owner is the session, turn and tree that a tracked process belongs to.
type Owner struct {
	// Session and Turn are those of its tree. Both are empty for a tree of the gateway, and for a process below the
	// gateway without a known tree.
	Session, Turn string
}

// owner is the owner of t; nil: no tree is known. What it reads of t never changes.
func (t *tree) owner() Owner {
	if t == nil {
		return Owner{}
	}
	return Owner{t.session, t.turn}
}

// callerMost is how many parents of a caller are read at most; that takes some milliseconds.
const callerMost = 512

// ErrNotOpen means that Caller was called before Open, for a process that an earlier life may have kept for this one.
var ErrNotOpen = errors.New("the process registry is not open yet")

// Caller reports whether the registry tracks the process pid, and who owns it. Tracked are the members of trees and
// everything else below the gateway that was started since Open. It uses only what the process cannot shed (HF7): its
// identity at the last scan, its control group, its parents, its session (setsid(2)), and its tag. It does not read the
// environment.
//
// The pid is of our own pid namespace. The answer is about one process: its start is the same before and after the reads.
// The caller must make sure that it is the intended process, by a pidfd or by its start. An error means that the owner is
// unknown: pid has ended, is not readable, or its parents change too fast. Do not trust such a process as one from
// outside.
//
// Not tracked are the gateway itself, its process group, the guardian, and what descends from the program since before
// Open. A call costs some tens of microseconds, however many trees there are. It may be called at any time, from any
// goroutine. Before Open nothing is tracked yet. The error is then ErrNotOpen for a process with the tag of another life,
// which may have been kept for this one.
func (r *Registry) Caller(pid int) (owner Owner, tracked bool, err error) {
	r.mu.Lock()
	usable := r.open || r.closing
	r.mu.Unlock()
	if !usable {
		err = outsideBeforeOpen(pid)
	} else {
		for range climbAgain {
			owner, tracked, err = r.caller(pid)
			if !errors.Is(err, errClimbChanged) {
				break
			}
		}
	}
	if err != nil {
		return Owner{}, false, fmt.Errorf("tell whose process %d is: %w", pid, err)
	}
	return owner, tracked, nil
}

// outsideBeforeOpen returns nil for a process that no life can have kept.
func outsideBeforeOpen(pid int) error {
	if _, err := statOf(pid); err != nil {
		return err
	}
	if kernel.MarksOf(pid).Tag().Spawn() > 0 {
		return ErrNotOpen
	}
	return nil
}

// caller is one try of Caller.
func (r *Registry) caller(pid int) (owner Owner, tracked bool, err error) {
	first, err := statOf(pid)
	if err != nil {
		return Owner{}, false, err
	}
	t, tracked, err := r.treeOf(first)
	if err != nil {
		return Owner{}, false, err
	}
	if now, err := statOf(pid); err != nil || now.Ident != first.Ident {
		return Owner{}, false, errClimbChanged // the data may belong to another process
	}
	return t.owner(), tracked, nil
}

// treeOf is the tree of p. It is nil for a tracked process whose tree is not known.
func (r *Registry) treeOf(p proc) (t *tree, tracked bool, err error) {
	if p.PID == r.self.PID {
		return nil, false, nil
	}
	if t := r.seenIn(p.Ident); t != nil {
		return t, true, nil
	}
	if r.groups != nil {
		if t, tracked := r.treeOfGroup(p.PID); tracked {
			return t, true, nil
		}
	}
	for at, err := range ancestors(p.PID, callerMost) {
		switch t := r.seenIn(at.Ident); {
		case err != nil:
			return nil, false, err
		case t != nil:
			return t, true, nil
		case r.isForeign(at.Ident), r.self.untouchable(at):
			return nil, false, nil
		case at.PPID == r.self.PID:
			return r.treeBelow(p, at), true, nil
		}
	}
	// It is not below us. A process that an earlier life kept is not below us either; the tag from its birth identifies
	// it.
	t, tracked = r.treeOutside(p)
	return t, tracked, nil
}

// seenIn is the tree that the process i leads, or was in at the last scan; nil: none.
func (r *Registry) seenIn(i ident) *tree {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.byPID[i.PID]; t != nil && t.leader == i {
		return t
	}
	return r.owners[i]
}

// treeBelow is the tree of p, whose topmost parent below us is top. top is our child because its parent ended.
func (r *Registry) treeBelow(p, top proc) *tree {
	r.mu.Lock()
	for _, sid := range []int{p.SID, top.SID} {
		// Until the leader was waited for, the number of its session is not reused.
		if t := r.byPID[sid]; t != nil && t.origin == ops.OriginSpawned && t.leading {
			r.mu.Unlock()
			return t
		}
	}
	r.mu.Unlock()
	t, _ := r.treeOfTag(p.PID)
	return t
}

// treeOfGroup is the tree of pid if its control group belongs to this life, or to an adopted tree.
func (r *Registry) treeOfGroup(pid int) (t *tree, tracked bool) {
	dir := r.groups.dirOf(pid)
	if dir == "" {
		return nil, false
	}
	spawn := r.groups.spawnOf(pid)
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.treeOfSpawn(spawn); t != nil {
		return t, true
	}
	for _, t := range r.trees {
		if t.dir != "" && strings.HasPrefix(dir+"/", t.dir+"/") {
			return t, true
		}
	}
	return nil, strings.HasPrefix(dir+"/", r.groups.life+"/") || strings.HasPrefix(dir+"/", r.groups.kept+"/")
}

func (r *Registry) isForeign(i ident) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, foreign := r.foreign[i]
	return foreign
}
