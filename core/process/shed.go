package process

import (
	"slices"

	"gatewaytui/core/ops"
	"gatewaytui/core/process/kernel"
)

// A process can take its tag off, empty its environment and leave its session (HF6). A scan finds it anyway, while it
// descends from us. After a SIGKILL of this program it no longer does. So the guardian gets the identity of every process
// that a scan finds, and a process without a tag gets its own row in the journal, for the next life.

// departed are the shedders that the process table has no more. One scan may miss that a process descends from us, while its
// parent ends: such a process lives, and its row must not end.
func (r *Registry) departed(procs []proc) (gone []ident) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.shed) == 0 {
		return nil
	}
	alive := make(map[ident]bool, len(procs))
	for _, p := range procs {
		alive[p.Ident] = p.Alive()
	}
	for i := range r.shed {
		if !alive[i] {
			gone = append(gone, i)
		}
	}
	return gone
}

// shedding are the processes among ours that took their tag off. A process is checked when it is first found, and when it
// becomes an orphan. A process that was started before its limit of processes was set gets the limit here. It is called
// while holding the turn to scan.
func (r *Registry) shedding(ours []proc) (shed []proc) {
	if !r.tag {
		return nil
	}
	r.mu.Lock()
	var unknown []proc
	for _, p := range ours {
		_, known := r.owners[p.Ident]
		_, adopted := r.adopted[p.PID]
		t := r.byPID[p.PID]
		leads := t != nil && t.leader == p.Ident && t.origin == ops.OriginSpawned
		if p.Alive() && !leads && (!known || p.PPID == r.self.PID && !adopted) {
			unknown = append(unknown, p)
		}
	}
	r.mu.Unlock()
	for _, p := range unknown {
		m := kernel.MarksOf(p.PID)
		if r.processLimit > 0 && m.Processes > r.processLimit && m != (kernel.Marks{}) {
			_ = kernel.BoundProcesses(p.PID, r.processLimit) // fails for another user's process, or one that is gone
		}
		if m.Shed() {
			shed = append(shed, p)
		}
	}
	return shed
}

// noteShed enters new shedders in the journal, and the end of those that are gone. Registry.mu is held.
func (r *Registry) noteShed(shed []proc, gone []ident) {
	for _, i := range gone {
		s := r.shed[i]
		delete(r.shed, i)
		r.journal.add(s.entry, howEnded(s.tree))
	}
	for _, p := range shed {
		t := r.owners[p.Ident]
		if _, known := r.shed[p.Ident]; known || t == nil || t.leader == p.Ident {
			continue // the leader of a tree has the tree's row
		}
		e := r.entry(t)
		e.PID, e.StartTicks, e.StartedAt = p.PID, p.Start, startedAt(p.Start)
		r.shed[p.Ident] = shedder{t, e}
		r.journal.add(e, "")
	}
}

// notePresent notes what a guardian must end if we cannot: the members of every tree without PolicyKept. A process
// without a tree may belong to a kept one, and until that is known only its marks identify it. Registry.mu is held.
func (r *Registry) notePresent(ours []proc) {
	if !r.opts.Guardian {
		return
	}
	present := make([]ident, 0, len(ours))
	for _, p := range ours {
		if t := r.owners[p.Ident]; p.Alive() && t != nil && t.policy != PolicyKept {
			present = append(present, p.Ident)
		}
	}
	if !slices.Equal(r.present, present) {
		r.present = present
		nudge(r.presentNews)
	}
}

// guessOwner is the tree that an orphan without tag and marks must come from; if that is not clear, it is their common
// session. The first choice is a tree whose output the orphan holds. Then comes the tree whose leader ended while the
// orphan lived, because an orphan is new to us only when something above it ends. Otherwise it is the only tree that the
// orphan can have come from. Registry.mu is held.
func (r *Registry) guessOwner(p proc, pipes []uint64) (from *tree, session string) {
	var held, left, all []*tree
	for _, t := range r.trees {
		if t.origin != ops.OriginSpawned || t.leader.Start > p.Start {
			continue
		}
		all = append(all, t)
		if t.pipe != 0 && slices.Contains(pipes, t.pipe) {
			held = append(held, t)
		}
		if !t.leading && t.leftTick >= p.Start {
			left = append(left, t)
		}
	}
	for _, some := range [][]*tree{held, left, all} {
		switch len(some) {
		case 0:
			continue
		case 1:
			return some[0], ""
		}
		for _, t := range some {
			if t.session != some[0].session || t.policy == PolicyGateway {
				return nil, ""
			}
		}
		return nil, some[0].session
	}
	return nil, ""
}
