package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/process/kernel"
)

// silentMost is how long an orphan may stay unidentified before the registry adopts it without an owner. An exec takes
// some milliseconds, and more on a busy machine. bareMost is the limit for an orphan that lacks only an environment,
// which is the last moment of an exec that sets one up.
const (
	silentMost = time.Second
	bareMost   = 20 * time.Millisecond
)

// observe scans /proc and brings the trees up to date: the members of each tree, the trees that ended, the new ones. With
// elsewhere it also looks for our marker among processes that do not descend from us. That reads the environment of each.
//
// It waits for the scan before it until the given time, or for lateWait once ctx has ended: see takeScan. All callers
// that wait share the next scan, which begins after each of them asked. The view must not be changed.
func (r *Registry) observe(ctx context.Context, until time.Time, elsewhere bool) view {
	own := r.join(elsewhere)
	if err := r.takeScan(ctx, until, own.done); err != nil {
		return view{err: fmt.Errorf("scan processes: %w", err)}
	}
	if closed(own.done) { // another goroutine scanned for us
		return own.v
	}
	r.mu.Lock()
	if r.next == own {
		r.next = nil // later callers need a later scan
	}
	elsewhere = own.elsewhere
	r.mu.Unlock()
	v, ended := r.scan(elsewhere)
	own.v = v
	close(own.done)
	r.giveScan()
	for _, e := range ended {
		r.finish(e)
	}
	return v
}

// join returns the next scan, which the caller makes or waits for.
func (r *Registry) join(elsewhere bool) *round {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next == nil {
		r.next = &round{done: make(chan struct{})}
	}
	r.next.asked++
	r.next.elsewhere = r.next.elsewhere || elsewhere
	return r.next
}

// errScanning means that a scan was not begun.
var errScanning = errors.New("the previous scan of all processes has not ended")

// takeScan waits for the turn to scan until the given time. When ctx ends or the registry closes, it waits at most
// lateWait more. A free turn is taken in any case. The caller returns the turn with giveScan. It returns nil without the
// turn when shared is closed.
func (r *Registry) takeScan(ctx context.Context, until time.Time, shared <-chan struct{}) error {
	select {
	case r.scanTurn <- struct{}{}:
		return r.keepTurn(shared)
	default:
	}
	last := time.After(time.Until(until))
	for cut, closing := ctx.Done(), r.ctx.Done(); ; cut, closing = nil, nil {
		select {
		case r.scanTurn <- struct{}{}:
			return r.keepTurn(shared)
		case <-shared:
			return nil
		case <-last:
			return errScanning
		case <-cut:
		case <-closing:
		}
		last = time.After(min(lateWait, time.Until(until)))
	}
}

// keepTurn returns the turn to scan if the shared scan is done already.
func (r *Registry) keepTurn(shared <-chan struct{}) error {
	if closed(shared) {
		r.giveScan()
	}
	return nil
}

func (r *Registry) giveScan() { <-r.scanTurn }

// scan is called while holding the turn to scan.
func (r *Registry) scan(elsewhere bool) (view, []ending) {
	r.mu.Lock()
	r.scans++
	seq := r.scans
	foreign := r.foreign
	r.mu.Unlock()

	procs, err := kernel.Table(nil)
	if err != nil {
		r.mu.Lock()
		r.scanErr = err
		r.mu.Unlock()
		return view{err: fmt.Errorf("scan processes: %w", err)}, nil
	}
	r.adoptOrphans(procs)
	ours := descendants(procs, r.self.PID, func(p proc) bool {
		_, inherited := foreign[p.Ident]
		return inherited || r.self.untouchable(p)
	})
	at := make(map[int]ident, len(ours))
	for _, p := range ours {
		at[p.PID] = p.Ident
	}
	unattributed := r.attribute(ours, at)
	v, ended := r.absorb(seq, ours, at, unattributed, r.inherited(procs, at), r.shedding(ours), r.departed(procs))
	if elsewhere {
		v.unattributed = append(v.unattributed, r.marked(procs, ours, foreign)...)
	}
	return v, ended
}

// descendants are the processes below root, parents before children. Processes that skip names are left out, with their
// descendants.
func descendants(procs []proc, root int, skip func(proc) bool) []proc {
	below := make(map[int][]int, len(procs))
	for i, p := range procs {
		below[p.PPID] = append(below[p.PPID], i)
	}
	var out []proc
	queue := []int{root}
	visited := map[int]bool{root: true} // the table is not a snapshot: a reused pid could close a circle
	for len(queue) > 0 {
		parent := queue[0]
		queue = queue[1:]
		for _, i := range below[parent] {
			p := procs[i]
			if visited[p.PID] || (skip != nil && skip(p)) {
				continue
			}
			visited[p.PID] = true
			out = append(out, p)
			queue = append(queue, p.PID)
		}
	}
	return out
}

// attribute identifies the orphans among ours that no tree explains.
func (r *Registry) attribute(ours []proc, at map[int]ident) map[ident]procInfo {
	r.mu.Lock()
	var unknown []proc
	for _, p := range ours {
		if p.PPID == r.self.PID && p.Alive() && r.ownerSeen(p, at) == nil {
			unknown = append(unknown, p)
		}
	}
	r.mu.Unlock()
	out := make(map[ident]procInfo, len(unknown))
	for _, p := range unknown {
		if id := r.bornOf(p); id != 0 {
			out[p.Ident] = procInfo{marks: marks{life: r.opts.Life, spawn: strconv.FormatUint(id, 10)}, said: true}
			continue
		}
		if p.State == 'D' { // it may hold the lock that reading its environment needs
			continue
		}
		who := r.peeker.ask(p.Ident)
		if who.shed = r.tag && kernel.MarksOf(p.PID).Shed(); who.shed {
			who.pipes = pipesOf(p.PID)
		}
		out[p.Ident] = who
	}
	return out
}

// bornOf is the spawn that p comes from, if that spawn has a tree, else 0. It uses only what p cannot shed, and never
// waits for p.
func (r *Registry) bornOf(p proc) uint64 {
	id := uint64(0)
	if r.groups != nil {
		id = r.groups.spawnOf(p.PID)
	}
	if id == 0 {
		id = kernel.MarksOf(p.PID).TagFrom(r.opts.Life).Spawn()
	}
	if now, err := statOf(p.PID); id == 0 || err != nil || now.Start != p.Start {
		return 0 // the data belongs to another process
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.trees[id] == nil && r.pending[id] == nil {
		return 0
	}
	return id
}

// ownerSeen is the tree that our child p belongs to, by what p cannot change: it is the leader, was seen in the tree, or
// is in the session (setsid(2)) that the leader opened. at maps each pid to its current process. Registry.mu is held.
func (r *Registry) ownerSeen(p proc, at map[int]ident) *tree {
	if t := r.byPID[p.PID]; t != nil && t.leader == p.Ident {
		return t
	}
	if t := r.owners[p.Ident]; t != nil {
		return t
	}
	t := r.byPID[p.SID]
	if t == nil || t.origin != ops.OriginSpawned || p.PID == p.SID {
		return nil
	}
	// A session's number is not reused while the session has members. It is certain if the process with this pid, if
	// there is one, is the leader.
	if q, there := at[p.SID]; there && q != t.leader {
		return nil
	}
	return t
}

// absorb brings the trees up to date with the scan that began as number seq. inherited are the members of trees of
// earlier lives, shed the processes that took their tag off, and gone those of earlier scans that have ended.
func (r *Registry) absorb(seq uint64, ours []proc, at map[int]ident, unattributed map[ident]procInfo, inherited map[*tree][]proc, shed []proc, gone []ident) (view, []ending) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.scanErr = nil
	v := view{owned: make(map[*tree][]proc, len(r.trees))}
	owners := make(map[ident]*tree, len(ours))
	tops := make(map[int]*tree, len(ours)) // by pid; parents come before children
	adopted := map[int]struct{}{}
	silent := map[ident]time.Time{}
	for _, p := range ours {
		t := tops[p.PPID]
		switch {
		case p.PPID == r.self.PID:
			t = r.childOf(p, at, unattributed[p.Ident], silent, now)
			// An unknown child may be one that Spawn is about to enter. The reaper must not collect its status.
			if t == nil && len(r.pending) == 0 || t != nil && (t.leader != p.Ident || t.origin == ops.OriginAdopted) {
				adopted[p.PID] = struct{}{}
			}
		case t == nil:
			t = r.owners[p.Ident]
		}
		tops[p.PID] = t
		if !p.Alive() {
			continue
		}
		if t == nil {
			v.unattributed = append(v.unattributed, p)
			continue
		}
		owners[p.Ident] = t
		v.owned[t] = append(v.owned[t], p)
	}
	for t, members := range inherited {
		v.owned[t] = members
		for _, p := range members {
			owners[p.Ident] = t
		}
	}
	r.owners, r.adopted, r.silent = owners, adopted, silent
	r.noteShed(shed, gone)
	r.notePresent(ours)
	v.silent, v.unverified = len(silent), len(silent) > 0
	r.sample(v, now)

	var ended []ending
	for _, t := range r.sorted() {
		r.setMembers(t, v.owned[t], now)
		switch {
		case len(t.members) > 0 || t.leading || seq <= t.leftAt || len(silent) > 0:
			t.empty = false
		case t.empty:
			ended = append(ended, r.remove(t, now))
		default: // the next scan finds what this one may have missed, and its tree with it
			t.empty, v.unverified = true, true
		}
	}
	return v, ended
}

// childOf is the tree of our child p. nil: none is known, or p has not identified itself yet and is entered in silent.
// who is what p shows of its origin. Registry.mu is held.
func (r *Registry) childOf(p proc, at map[int]ident, who procInfo, silent map[ident]time.Time, now time.Time) *tree {
	t := r.ownerSeen(p, at)
	if t != nil || !p.Alive() {
		return t
	}
	most := silentMost
	if who.bare {
		most = bareMost
	}
	since, before := r.silent[p.Ident]
	if who.said || before && now.Sub(since) >= most {
		return r.adopt(p, who)
	}
	if !before {
		since = now
	}
	silent[p.Ident] = since
	return nil
}

// setMembers makes the live processes of a scan the members of t. Registry.mu is held.
func (r *Registry) setMembers(t *tree, live []proc, now time.Time) {
	t.members = t.members[:0]
	leaderSeen := false
	for _, p := range live {
		t.members = append(t.members, p.Ident)
		leaderSeen = leaderSeen || p.Ident == t.leader
	}
	if t.origin != ops.OriginAdopted {
		return
	}
	if t.leading && !leaderSeen && t.handle != nil {
		t.handle.lost(now)
	}
	t.leading = leaderSeen && (t.leading || t.tag == 0)
}

// adopt makes or finds the tree of an orphan that was never seen before. It uses the tree that the orphan names. If the
// orphan names none and took its tag off, guessOwner finds the tree. It returns nil while a fork is under way, because
// the process may be our own child that Spawn is about to enter. Registry.mu is held.
func (r *Registry) adopt(p proc, who procInfo) *tree {
	if who.life == r.opts.Life {
		if id, err := strconv.ParseUint(who.spawn, 10, 64); err == nil {
			if t := r.trees[id]; t != nil {
				return t
			}
			if r.pending[id] != nil {
				return nil
			}
		}
	} else {
		who.marks = marks{} // none, or of another life: not trusted
		if len(r.pending) > 0 {
			return nil
		}
		if who.shed {
			t, session := r.guessOwner(p, who.pipes)
			if t != nil {
				return t
			}
			who.session = session
		}
	}
	r.lastID++
	t := &tree{
		id: r.lastID, leader: p.Ident, session: who.session, policy: PolicyGateway, origin: ops.OriginAdopted,
		command: r.displayCommand(strings.TrimSpace(string(bytes.ReplaceAll(who.cmdline, []byte{0}, []byte{' '})))),
		started: startedAt(p.Start), pidfd: -1, leading: true,
	}
	if t.session != "" {
		t.policy = PolicySession
	}
	r.trees[t.id], r.byPID[p.PID] = t, t
	r.journal.add(r.entry(t), "")
	return t
}

// marked are live processes that do not descend from us and carry our life in the tag, or without a tag in the environment.
func (r *Registry) marked(procs, ours []proc, foreign map[ident]bool) []proc {
	known := make(map[ident]bool, len(ours))
	for _, p := range ours {
		known[p.Ident] = true
	}
	var out []proc
	for _, p := range procs {
		if _, inherited := foreign[p.Ident]; inherited || known[p.Ident] || !p.Alive() || r.self.untouchable(p) {
			continue
		}
		if r.bornIn(p, r.opts.Life) {
			out = append(out, p)
		}
	}
	return out
}

// bornIn reports whether one of the lives started p, by its marks. If it has no tag, its environment decides. It is called
// only while holding the turn to scan.
func (r *Registry) bornIn(p proc, lives ...string) bool {
	if m := kernel.MarksOf(p.PID); m.Tag() != 0 {
		return tagFrom(m, lives)
	}
	if p.State == 'D' { // it may hold the lock that reading its environment needs
		return false
	}
	life := r.peeker.ask(p.Ident).life
	return life != "" && slices.Contains(lives, life)
}

// tagFrom reports whether one of the tags is from one of the lives.
func tagFrom(m kernel.Marks, lives []string) bool {
	return slices.ContainsFunc(lives, func(life string) bool { return m.TagFrom(life) != 0 })
}
