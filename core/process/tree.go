package process

import (
	"fmt"
	"slices"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/process/kernel"
)

// The origins of a tree.
const (
	originSpawned = ops.OriginSpawned
	originAdopted = ops.OriginAdopted
)

// tree is a leader and everything that was seen to descend from it. It lives until the leader was waited for and no member
// is left: none of our children can be of it (Registry.over), or two scans in a row that began afterwards found no member and
// no orphan that may be one. Registry.mu guards it.
type tree struct {
	id      uint64
	leader  ident
	handle  *Process // nil: adopted, and its output is not ours to read
	session string
	turn    string
	job     job // zero: not known, because it was adopted
	policy  Policy
	origin  ops.Origin
	shown   string // session, for display
	command string // for display
	started time.Time
	dir     string // of its control group; empty: it has none of its own
	// tag is that of an earlier life which started it, and how its members are known, who do not descend from us; zero:
	// this one did.
	tag  kernel.Tag
	ppid int    // of the leader; 0: ours
	pipe uint64 // the inode of the pipe that its output goes to; 0: not known

	pidfd    int       // of the leader, open until the tree is gone; -1: none
	leading  bool      // the leader was not waited for yet; adopted: it was there at the last scan
	leftAt   uint64    // the scans begun when the leader was waited for
	leftTick uint64    // when that was, in clock ticks since boot
	empty    bool      // the last scan found nothing of it
	killing  int       // kills under way
	killed   bool      // a kill was asked for
	failed   bool      // the last kill was not verified
	overdue  time.Time // when it was last ended for its age
	members  []ident
	rss      int64
	cpuPct   float64
	lastSeen int64 // bytes of output when lastLine was taken
	lastLine string
	limit    string // the limit of its control groups that it ran into, for people; empty: none
}

// ending is what is left to do for a tree that was removed, outside of the lock.
type ending struct {
	tree *tree
	row  ops.Process
	how  string // EndedByItself or EndedByKill
}

// remove forgets t. Registry.mu is held.
func (r *Registry) remove(t *tree, now time.Time) ending {
	row := r.row(t, now)
	delete(r.trees, t.id)
	r.held.remove(t.session)
	if r.byPID[t.leader.pid] == t {
		delete(r.byPID, t.leader.pid)
	}
	if t.handle != nil && t.policy != PolicyTurn {
		if len(r.ended) >= endedKept {
			r.ended = slices.Delete(r.ended, 0, len(r.ended)-endedKept+1)
		}
		r.ended = append(r.ended, t.handle)
	}
	return ending{t, row, howEnded(t)}
}

// howEnded is how the processes of t end now. Registry.mu is held.
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
	if t.dir != "" {
		r.limits(t)
		_ = kernel.RemoveGroup(t.dir) // Close tries again, and for another life's, the next start
	}
	if e.how == EndedByKill {
		r.emit(ops.EventProcessKilled, e.row, fmt.Sprintf("process tree of pid %d killed and verified", t.leader.pid))
	}
	r.journal.ended(r.entry(t), e.how)
}
