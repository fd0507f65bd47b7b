package process

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/process/kernel"
)

// silentMost is how long an orphan may not say whose it is, before it is nobody's: an exec takes some milliseconds, and
// more on a machine that is busy. bareMost is how long, if it lacks nothing but an environment: of an exec that sets one
// up, that is the last moment.
const (
	silentMost = time.Second
	bareMost   = 20 * time.Millisecond
)

// view is the outcome of a scan.
type view struct {
	// owned are the live members of each tree; loose the live descendants that belong to none, and processes elsewhere
	// that carry our life's marker.
	owned map[*tree][]proc
	loose []proc
	// silent is how many of the loose ones are orphans that did not say yet whose they are.
	silent int
	// unsure says that another scan is needed: for silent ones, or to know that a tree has ended.
	unsure bool
	err    error
}

// observe scans /proc and brings the trees up to date: who belongs to which, which have ended, what is new. With
// elsewhere it also looks for our marker among processes that do not descend from us, at the price of reading the
// environment of each.
//
// It waits for the scan before no longer than until, and than lateWait when ctx has ended: see takeScan. All who wait
// meanwhile share the next scan, which begins after each of them asked. The view is not to be changed.
func (r *Registry) observe(ctx context.Context, until time.Time, elsewhere bool) view {
	own := r.join(elsewhere)
	if err := r.takeScan(ctx, until, own.done); err != nil {
		return view{err: fmt.Errorf("scan processes: %w", err)}
	}
	select {
	case <-own.done: // another goroutine scanned for us
		return own.v
	default:
	}
	r.mu.Lock()
	if r.next == own {
		r.next = nil // who comes now needs a later one
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

// round is a scan that several share. Registry.mu guards elsewhere and asked; v is written before done is
// closed.
type round struct {
	elsewhere bool
	asked     int // how many share it
	v         view
	done      chan struct{}
}

// join returns the next scan, to be made or waited for.
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

// errScanning says that a look at the processes was not begun.
var errScanning = errors.New("the look at all processes before this one has not ended")

// takeScan waits for the turn to scan, until a time at the latest; when ctx ends, or the registry closes, lateWait more at
// the most. One that is free is taken in any case. Who has it gives it back with giveScan. It returns nil without the turn
// when shared is closed.
func (r *Registry) takeScan(ctx context.Context, until time.Time, shared <-chan struct{}) error {
	select {
	case r.scanTurn <- struct{}{}:
		return r.keepTurn(shared)
	default:
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case r.scanTurn <- struct{}{}:
		return r.keepTurn(shared)
	case <-shared:
		return nil
	case <-timer.C:
		return errScanning
	case <-ctx.Done():
	case <-r.stopping:
	}
	late := time.NewTimer(min(lateWait, time.Until(until)))
	defer late.Stop()
	select {
	case r.scanTurn <- struct{}{}:
		return r.keepTurn(shared)
	case <-shared:
		return nil
	case <-late.C:
		return errScanning
	}
}

// keepTurn gives the turn to scan back if what it was wanted for is done.
func (r *Registry) keepTurn(shared <-chan struct{}) error {
	select {
	case <-shared:
		r.giveScan()
	default:
	}
	return nil
}

func (r *Registry) giveScan() { <-r.scanTurn }

// scan is called with the turn to scan.
func (r *Registry) scan(elsewhere bool) (view, []ending) {
	r.mu.Lock()
	r.scans++
	seq := r.scans
	foreign := r.foreign
	r.mu.Unlock()

	procs, err := r.scanner.scan()
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.scanErr = err
		return view{err: fmt.Errorf("scan processes: %w", err)}, nil
	}
	ours := descendants(procs, r.self.pid, func(p proc) bool {
		_, inherited := foreign[p.ident]
		return inherited || r.self.untouchable(p)
	})
	at := make(map[int]ident, len(ours))
	for _, p := range ours {
		at[p.pid] = p.ident
	}
	strangers := r.attribute(ours, at)
	v, ended := r.absorb(seq, ours, at, strangers, r.inherited(procs, at), r.shedding(ours))
	if elsewhere {
		v.loose = append(v.loose, r.marked(procs, ours, foreign)...)
	}
	return v, ended
}

// descendants are the processes below root, parents before children, without those that skip names and what is below
// them.
func descendants(procs []proc, root int, skip func(proc) bool) []proc {
	below := make(map[int][]int, len(procs))
	for i, p := range procs {
		below[p.ppid] = append(below[p.ppid], i)
	}
	var out []proc
	queue := []int{root}
	visited := map[int]bool{root: true} // the table is no snapshot: a pid given out again could close a circle
	for len(queue) > 0 {
		parent := queue[0]
		queue = queue[1:]
		for _, i := range below[parent] {
			p := procs[i]
			if visited[p.pid] || (skip != nil && skip(p)) {
				continue
			}
			visited[p.pid] = true
			out = append(out, p)
			queue = append(queue, p.pid)
		}
	}
	return out
}

// attribute asks the orphans among ours, that no tree explains, who they are.
func (r *Registry) attribute(ours []proc, at map[int]ident) map[ident]peeked {
	r.mu.Lock()
	var unknown []proc
	for _, p := range ours {
		if p.ppid == r.self.pid && p.alive() && r.ownerSeen(p, at) == nil {
			unknown = append(unknown, p)
		}
	}
	r.mu.Unlock()
	out := make(map[ident]peeked, len(unknown))
	for _, p := range unknown {
		if id := r.bornOf(p); id != 0 {
			out[p.ident] = peeked{marks: marks{life: r.opts.Life, spawn: strconv.FormatUint(id, 10)}, said: true}
			continue
		}
		if p.state == 'D' { // it may hold the lock that a look at it needs
			continue
		}
		who := r.peeker.ask(p.ident)
		if who.shed = r.tag && r.scanner.marksOf(p.pid).Shed(); who.shed {
			who.pipes = pipesOf(p.pid)
		}
		out[p.ident] = who
	}
	return out
}

// bornOf is the spawn that p comes from, by what it cannot shed, if that one has a tree; else 0. Neither look waits
// for p.
func (r *Registry) bornOf(p proc) uint64 {
	id := uint64(0)
	if r.groups != nil {
		id = r.groups.spawnOf(p.pid)
	}
	if id == 0 {
		id = r.scanner.marksOf(p.pid).TagFrom(r.opts.Life).Spawn()
	}
	if now, err := statOf(p.pid); id == 0 || err != nil || now.start != p.start {
		return 0 // what was read is another's
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.trees[id] == nil && !r.forking[id] {
		return 0
	}
	return id
}

// ownerSeen is the tree that our child p belongs to, by what cannot be scrubbed: being its leader, having been seen in
// it, or being in the session (setsid(2)) that its leader opened. at is who has which pid now. Registry.mu is held.
func (r *Registry) ownerSeen(p proc, at map[int]ident) *tree {
	if t := r.byPID[p.pid]; t != nil && t.leader == p.ident {
		return t
	}
	if t := r.owners[p.ident]; t != nil {
		return t
	}
	t := r.byPID[p.sid]
	if t == nil || t.origin != originSpawned || p.pid == p.sid {
		return nil
	}
	// The number of a session is not given out again while it has members; that the one with this pid, if there is
	// one, is the leader, makes it certain.
	if q, there := at[p.sid]; there && q != t.leader {
		return nil
	}
	return t
}

// absorb brings the trees up to date with a scan that began as number seq. inherited are the members of trees of earlier
// lives.
func (r *Registry) absorb(seq uint64, ours []proc, at map[int]ident, strangers map[ident]peeked, inherited map[*tree][]proc, shed []proc) (view, []ending) {
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
		t := tops[p.ppid]
		switch {
		case p.ppid == r.self.pid:
			t = r.childOf(p, at, strangers[p.ident], silent, now)
			// One that nobody knows may be a child that Spawn is about to enter, whose status is not for us to collect.
			if t == nil && len(r.forking) == 0 || t != nil && (t.leader != p.ident || t.origin == originAdopted) {
				adopted[p.pid] = struct{}{}
			}
		case t == nil:
			t = r.owners[p.ident]
		}
		tops[p.pid] = t
		if !p.alive() {
			continue
		}
		if t == nil {
			v.loose = append(v.loose, p)
			continue
		}
		owners[p.ident] = t
		v.owned[t] = append(v.owned[t], p)
	}
	for t, members := range inherited {
		v.owned[t] = members
		for _, p := range members {
			owners[p.ident] = t
		}
	}
	r.owners, r.adopted, r.silent = owners, adopted, silent
	r.noteShed(shed)
	r.notePresent(ours)
	v.silent, v.unsure = len(silent), len(silent) > 0
	r.sample(v, now)

	var over []*tree
	for _, t := range r.trees {
		r.setMembers(t, v.owned[t], now)
		switch {
		case len(t.members) > 0 || t.leading || seq <= t.leftAt || len(silent) > 0:
			t.empty = false
		case t.empty:
			over = append(over, t)
		default: // what this scan may have missed, the next one finds, and its tree with it
			t.empty, v.unsure = true, true
		}
	}
	slices.SortFunc(over, func(a, b *tree) int { return cmp.Compare(a.id, b.id) })
	ended := make([]ending, len(over))
	for i, t := range over {
		ended[i] = r.remove(t, now)
	}
	return v, ended
}

// childOf is the tree of our child p; nil: none is known, or p did not say yet whose it is and is entered in silent. who is
// what p says. Registry.mu is held.
func (r *Registry) childOf(p proc, at map[int]ident, who peeked, silent map[ident]time.Time, now time.Time) *tree {
	t := r.ownerSeen(p, at)
	if t != nil || !p.alive() {
		return t
	}
	most := silentMost
	if who.bare {
		most = bareMost
	}
	since, before := r.silent[p.ident]
	if who.said || before && now.Sub(since) >= most {
		return r.adopt(p, who)
	}
	if !before {
		since = now
	}
	silent[p.ident] = since
	return nil
}

// setMembers makes the live processes of a scan the members of t. Registry.mu is held.
func (r *Registry) setMembers(t *tree, live []proc, now time.Time) {
	t.members = t.members[:0]
	leaderSeen := false
	for _, p := range live {
		t.members = append(t.members, p.ident)
		leaderSeen = leaderSeen || p.ident == t.leader
	}
	if t.origin != originAdopted {
		return
	}
	if t.leading && !leaderSeen && t.handle != nil {
		t.handle.lost(now)
	}
	t.leading = leaderSeen && (t.leading || t.tag == 0)
}

// adopt makes, or finds, the tree of an orphan of ours that was never seen before: the one that it says, or, if it says
// none and took its tag off, the one that it must be from (see suspect). It returns nil while a fork is under
// way: then it may be our own child that Spawn is about to enter. Registry.mu is held.
func (r *Registry) adopt(p proc, who peeked) *tree {
	if who.life == r.opts.Life {
		if id, err := strconv.ParseUint(who.spawn, 10, 64); err == nil {
			if t := r.trees[id]; t != nil {
				return t
			}
			if r.forking[id] {
				return nil
			}
		}
	} else {
		who.marks = marks{} // none, or of another life: not ours to believe
		if len(r.forking) > 0 {
			return nil
		}
		if who.shed {
			t, session := r.suspect(p, who.pipes)
			if t != nil {
				return t
			}
			who.session = session
		}
	}
	r.lastID++
	t := &tree{
		id: r.lastID, leader: p.ident, session: who.session, shown: displaySession(who.session), policy: PolicyGateway, origin: originAdopted,
		command: r.displayCommand(strings.TrimSpace(string(bytes.ReplaceAll(who.cmdline, []byte{0}, []byte{' '})))),
		started: startedAt(p.start), pidfd: -1, leading: true,
	}
	if t.session != "" {
		t.policy = PolicySession
	}
	r.trees[t.id], r.byPID[p.pid] = t, t
	r.held.add(t.session)
	r.journal.started(r.entry(t))
	return t
}

// marked are live processes outside of ours whose tag, or without one whose environment, carries our life.
func (r *Registry) marked(procs, ours []proc, foreign map[ident]bool) []proc {
	known := make(map[ident]bool, len(ours))
	for _, p := range ours {
		known[p.ident] = true
	}
	var out []proc
	for _, p := range procs {
		if _, inherited := foreign[p.ident]; inherited || known[p.ident] || !p.alive() || r.self.untouchable(p) {
			continue
		}
		if life := r.lifeOf(p); life.is(r.opts.Life) {
			out = append(out, p)
		}
	}
	return out
}

// birth is what a process says of the life that it was started in.
type birth struct {
	marks kernel.Marks // decide, if there is a tag: it was inherited from whoever set one last
	env   string
}

func (b birth) is(life string) bool {
	if b.marks.Tag() != 0 {
		return b.marks.TagFrom(life) != 0
	}
	return b.env == life && life != ""
}

// lifeOf asks p. It is called with the turn to scan alone.
func (r *Registry) lifeOf(p proc) birth {
	b := birth{marks: r.scanner.marksOf(p.pid)}
	if b.marks.Tag() == 0 && p.state != 'D' { // it may hold the lock that a look at its environment needs
		b.env = r.peeker.ask(p.ident).life
	}
	return b
}
