package process

import (
	"fmt"
	"slices"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/process/kernel"
)

// tree is a leader and everything that was seen to descend from it. It is removed once its leader was waited for and
// nothing of it is left. Either none of our children can belong to it (Registry.childrenGone), or two later scans in a row
// found no member and no orphan that may be one. Registry.mu guards it.
type tree struct {
	id      uint64
	leader  ident
	handle  *Process // nil: adopted, and its output is not ours to read
	session string
	turn    string
	job     job // zero: not known, because it was adopted
	policy  Policy
	origin  ops.Origin
	command string // for display
	started time.Time
	dir     string // of its control group; empty: it has no group for itself
	// tag identifies the members of a tree that an earlier life started, which do not descend from us; zero: this life
	// started it.
	tag  kernel.Tag
	ppid int    // of the leader; 0: ours
	pipe uint64 // the inode of the pipe that its output goes to; 0: not known

	pidfd    int       // of the leader, open until the tree is gone; -1: none
	leading  bool      // the leader was not waited for yet; adopted: the last scan found it
	leftAt   uint64    // the number of scans begun when the leader was waited for
	leftTick uint64    // when that was, in clock ticks since boot
	empty    bool      // the last scan found no process of it
	killing  int       // kills under way
	killed   bool      // a kill was requested
	failed   bool      // the last kill was not verified
	overdue  time.Time // when it was last ended because of its age
	members  []ident
	rss      int64
	cpuPct   float64
	lastSeen int64 // bytes of output when lastLine was taken
	lastLine string
	limit    string // the control group limit that it reached, for people; empty: none
}

// ending is the remaining work for a removed tree, done outside of the lock.
type ending struct {
	tree *tree
	row  ops.Process
	how  string // EndedByItself or EndedByKill
}

// remove removes t from the registry. Registry.mu is held.
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
	return ending{t, row, howEnded(t)}
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
	if t.dir != "" {
		r.limits(t)
		_ = kernel.RemoveGroup(t.dir) // Close tries again; the next start removes another life's
	}
	if e.how == EndedByKill {
		r.emit(ops.EventProcessKilled, e.row, fmt.Sprintf("process tree of pid %d killed and verified", t.leader.PID))
	}
	r.journal.add(r.entry(t), e.how)
}
