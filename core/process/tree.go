package process

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/process/kernel"
)

// ending is the remaining work for a removed tree, done outside of the lock.
type ending struct {
	tree *tree
	row  ops.Process
	how  string // EndedByItself or EndedByKill
}

// remove removes t from the registry, and queues its end for the journal: who finds the tree gone can wait for that with Recorded.
// Registry.mu is held.
func (r *Registry) remove(t *tree, now time.Time) ending {
	row := r.row(t, now)
	delete(r.trees, t.id)
	if r.byPID[t.leader.PID] == t {
		delete(r.byPID, t.leader.PID)
	}
	if t.handle != nil && t.policy != PolicyTurn {
		if len(r.ended) >= endedKept {
			r.ended = slices.Delete(r.ended, 0, len(r.ended)-endedKept+1)
		}
		r.ended = append(r.ended, t.handle)
	}
	how := howEnded(t)
	r.journal.add(r.entry(t), how)
	return ending{t, row, how}
}

// howEnded is how processes of t that end now are recorded. Registry.mu is held.
func howEnded(t *tree) string {
	if t.killed {
		return EndedByKill
	}
	return EndedByItself
}

// finish releases what a removed tree held.
func (r *Registry) finish(e ending) {
	t := e.tree
	closeFD(t.pidfd)
	if t.handle != nil {
		t.handle.treeGone()
	}
	r.limits(t)
	r.leaveGroups(t)
	if e.how == EndedByKill {
		r.emit(ops.EventProcessKilled, e.row, fmt.Sprintf("process tree of pid %d killed and verified", t.leader.PID))
	}
}

func (r *Registry) entry(t *tree) Entry {
	return Entry{
		Life: r.opts.Life, PID: t.leader.PID, StartTicks: t.leader.Start, BootID: r.self.bootID, Session: t.session,
		Command: t.command, Policy: t.policy, StartedAt: t.started,
	}
}

// treeOfTag is the tree of pid if its tag is of this life, or of an adopted tree.
func (r *Registry) treeOfTag(pid int) (t *tree, tracked bool) {
	tag := kernel.MarksOf(pid).Tag()
	if !tag.Valid() {
		return nil, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if tag.From(r.opts.Life) {
		return r.treeOfSpawn(tag.Spawn()), true
	}
	for _, t := range r.trees {
		if t.tag == tag {
			return t, true
		}
	}
	return nil, false
}

// treeOfSpawn is the tree of what spawn id started, which may not have a leader yet; nil: none. Registry.mu is held.
func (r *Registry) treeOfSpawn(id uint64) *tree { return cmp.Or(r.trees[id], r.pending[id]) }
