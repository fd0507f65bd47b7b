package process

import (
	"context"
	"fmt"

	"gatewaytui/core/ops"
	"gatewaytui/core/process/kernel"
	"gatewaytui/core/term"
)

// AdoptEarlier takes over the trees of rows that an earlier life had to keep (PolicyKept), if the leader lives with the
// same identity. They are tracked, shown and ended like those of this life, with the origin "adopted", and the journal
// has them as this life's. The leader's tag identifies everything that it started, so a leader without a tag is not
// adopted. Reading of its output continues where it stopped, if it still writes to the pipe that it was given. It has no
// input, and how it ends is not known.
//
// It returns the adopted rows, once the journal has them. It is called before SweepEarlier, with the home's lock held,
// between Open and Close.
func (r *Registry) AdoptEarlier(ctx context.Context, rows []Entry) (adopted []Entry) {
	for _, e := range rows {
		if e.Policy != PolicyKept || e.Life == "" || e.Life == r.opts.Life || e.BootID != r.self.bootID {
			continue
		}
		if recorded := r.inherit(e); recorded != nil {
			r.journal.wait(ctx, recorded)
			adopted = append(adopted, e)
		}
	}
	if len(adopted) > 0 {
		nudge(r.nudges)
	}
	return adopted
}

// inherit makes the process of e a tree of this life. It returns a channel that is closed when the journal has the tree; nil
// if e's process is gone or cannot be followed.
func (r *Registry) inherit(e Entry) <-chan struct{} {
	leader := ident{PID: e.PID, Start: e.StartTicks}
	tag := kernel.MarksOf(e.PID).Tag()
	if !tag.Valid() || tag.Spawn() == 0 {
		return nil
	}
	t := &tree{
		leader: leader, session: e.Session, policy: e.Policy, origin: ops.OriginAdopted,
		command: term.Clean(e.Command, commandWidth), started: e.StartedAt, pidfd: -1, leading: true,
		members: []ident{leader}, tag: tag,
	}
	if r.groups != nil {
		t.dir = r.groups.dirOf(e.PID)
	}
	pipe := keptOutput(e.PID)
	p, err := statOf(e.PID) // what was read before belongs to the process that has the pid now
	if err != nil || p.Start != e.StartTicks || !p.Alive() || r.self.untouchable(p) {
		_ = pipe.Close() // nothing was read; nil is left alone
		return nil
	}
	t.ppid = p.PPID
	if pipe != nil {
		t.handle = r.newProcess(pipe, DefaultOutputLimit)
		t.handle.tree = t
	}
	r.mu.Lock()
	if r.refused {
		r.mu.Unlock()
		_ = pipe.Close()
		return nil
	}
	r.lastID++
	t.id = r.lastID
	r.trees[t.id], r.byPID[e.PID], r.owners[leader] = t, t, t
	r.spawned[t.session] = t.id
	recorded := r.journal.add(r.entry(t), "")
	row := r.row(t, e.StartedAt)
	r.mu.Unlock()
	if t.handle != nil {
		t.handle.noted = recorded
		r.readers.Go(t.handle.read)
	}
	r.emit(ops.EventProcessStarted, row, fmt.Sprintf("process %d of an earlier life adopted", e.PID))
	return recorded
}

// inherited finds, among procs, the members of the trees that earlier lives started. at has our descendants, which cannot
// be members. It is called while holding the turn to scan.
func (r *Registry) inherited(procs []proc, at map[int]ident) map[*tree][]proc {
	byTag := map[kernel.Tag]*tree{}
	r.mu.Lock()
	for _, t := range r.trees {
		if t.tag != 0 {
			byTag[t.tag] = t
		}
	}
	r.mu.Unlock()
	if len(byTag) == 0 {
		return nil
	}
	members := make(map[*tree][]proc, len(byTag))
	led := map[*tree]bool{}
	for _, p := range procs {
		if at[p.PID] == p.Ident || !p.Alive() || p.Kernel() || r.self.untouchable(p) {
			continue
		}
		if t := byTag[kernel.MarksOf(p.PID).Tag()]; t != nil {
			members[t] = append(members[t], p)
			led[t] = led[t] || p.Ident == t.leader
		}
	}
	for _, t := range byTag {
		if led[t] {
			continue
		}
		// A scan can miss the leader, and its end is reported only once.
		if p, err := statOf(t.leader.PID); err == nil && p.Ident == t.leader && p.Alive() {
			members[t] = append(members[t], p)
		}
	}
	return members
}
