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
	// Leader is the leader of its tree, which may have ended; zero: not known, or it is being started.
	Leader Identity
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
		return Owner{}, false, callerBeforeOpen(pid)
	}
	for range climbAgain {
		owner, tracked, err = r.caller(pid)
		if !errors.Is(err, errClimbChanged) {
			break
		}
	}
	if err != nil {
		return Owner{}, false, fmt.Errorf("tell whose process %d is: %w", pid, err)
	}
	return owner, tracked, nil
}

func callerBeforeOpen(pid int) error {
	if _, err := statOf(pid); err != nil {
		return fmt.Errorf("tell whose process %d is: %w", pid, err)
	}
	if tag := kernel.TagOf(pid, make([]byte, 4<<10)); tag.Valid() && tag.Spawn() > 0 {
		return fmt.Errorf("tell whose process %d is: %w", pid, ErrNotOpen)
	}
	return nil
}

// caller is one try of Caller.
func (r *Registry) caller(pid int) (owner Owner, tracked bool, err error) {
	first, err := statOf(pid)
	if err != nil {
		return Owner{}, false, err
	}
	owner, tracked, err = r.callerOf(first)
	if err != nil {
		return Owner{}, false, err
	}
	if now, err := statOf(pid); err != nil || now.Ident != first.Ident {
		return Owner{}, false, errClimbChanged // the data may belong to another process
	}
	return owner, tracked, nil
}

func (r *Registry) callerOf(p proc) (owner Owner, tracked bool, err error) {
	if p.PID == r.self.PID {
		return Owner{}, false, nil
	}
	if owner, known := r.ownerOf(p.Ident); known {
		return owner, true, nil
	}
	if r.groups != nil {
		if owner, known := r.ownerOfGroup(p.PID); known {
			return owner, true, nil
		}
	}
	for at, err := range ancestors(p.PID, callerMost) {
		switch owner, known := r.ownerOf(at.Ident); {
		case err != nil:
			return Owner{}, false, err
		case known:
			return owner, true, nil
		case r.isForeign(at.Ident), r.self.untouchable(at):
			return Owner{}, false, nil
		case at.PPID == r.self.PID:
			return r.ownerBelow(p, at), true, nil
		}
	}
	// It is not below us. A process that an earlier life kept is not below us either; the tag from its birth identifies
	// it.
	owner, tracked = r.ownerOutside(p)
	return owner, tracked, nil
}

// ownerOf is the owner of the process i if it leads a tree, or was in one at the last scan.
func (r *Registry) ownerOf(i ident) (Owner, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.byPID[i.PID]
	if t == nil || t.leader != i {
		t = r.owners[i]
	}
	if t == nil {
		return Owner{}, false
	}
	return r.owner(t), true
}

// ownerBelow is the owner of p, whose topmost parent below us is top. top is our child because its parent ended.
func (r *Registry) ownerBelow(p, top proc) Owner {
	for _, sid := range []int{p.SID, top.SID} {
		r.mu.Lock()
		t := r.byPID[sid]
		// Until the leader was waited for, the number of its session is not reused.
		if t != nil && t.origin == ops.OriginSpawned && t.leading {
			defer r.mu.Unlock()
			return r.owner(t)
		}
		r.mu.Unlock()
	}
	owner, _ := r.ownerOfTag(p.PID)
	return owner
}

// ownerOfGroup is the owner of pid if its control group belongs to this life, or to an adopted tree.
func (r *Registry) ownerOfGroup(pid int) (Owner, bool) {
	dir := r.groups.dirOf(pid)
	if dir == "" {
		return Owner{}, false
	}
	spawn := r.groups.spawnOf(pid)
	r.mu.Lock()
	defer r.mu.Unlock()
	if owner, known := r.ownerOfSpawn(spawn); known {
		return owner, true
	}
	for _, t := range r.trees {
		if t.dir != "" && strings.HasPrefix(dir+"/", t.dir+"/") {
			return r.owner(t), true
		}
	}
	for _, life := range []string{r.groups.life, r.groups.kept} {
		if strings.HasPrefix(dir+"/", life+"/") {
			return Owner{}, true
		}
	}
	return Owner{}, false
}

// ownerOfTag is the owner of pid if its tag is of this life, or of an adopted tree.
func (r *Registry) ownerOfTag(pid int) (Owner, bool) {
	tag := kernel.TagOf(pid, make([]byte, 4<<10))
	if !tag.Valid() {
		return Owner{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if tag.From(r.opts.Life) {
		owner, _ := r.ownerOfSpawn(tag.Spawn())
		return owner, true
	}
	for _, t := range r.trees {
		if t.tag == tag {
			return r.owner(t), true
		}
	}
	return Owner{}, false
}

// ownerOfSpawn is the owner of what spawn id started, which may not have a tree yet. Registry.mu is held.
func (r *Registry) ownerOfSpawn(id uint64) (Owner, bool) {
	t := r.trees[id]
	if t == nil {
		t = r.pending[id]
	}
	if t == nil {
		return Owner{}, false
	}
	return r.owner(t), true
}

// owner returns t as an Owner. Registry.mu is held.
func (r *Registry) owner(t *tree) Owner {
	o := Owner{Session: t.session, Turn: t.turn}
	if t.leader.PID > 0 {
		o.Leader = r.identity(t.leader)
	}
	return o
}

func (r *Registry) isForeign(i ident) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, foreign := r.foreign[i]
	return foreign
}
