package process

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// Lengths of what is shown, in cells.
const (
	commandWidth = 200
	sessionWidth = 120
	lineWidth    = 160
)

// Origins of a tree.
const (
	originSpawned = "spawned"
	originAdopted = "adopted"
)

// sampleEvery is the shortest time between two samples of CPU: shorter ones measure the clock tick.
const sampleEvery = 500 * time.Millisecond

// tree is a leader and everything that was seen to descend from it. It lives until the leader was waited for and a scan
// that began afterwards found no member. Registry.mu guards it.
type tree struct {
	id      uint64
	leader  ident
	handle  *Process // nil: adopted
	session string
	turn    string
	policy  Policy
	origin  string
	shown   string // session, for display
	command string // for display
	started time.Time

	pidfd    int    // of the leader, open until the tree is gone; -1: none
	leading  bool   // the leader was not waited for yet; adopted: it was there at the last scan
	leftAt   uint64 // the scans begun when the leader was waited for
	killing  int    // kills under way
	killed   bool   // a kill was asked for
	members  []ident
	rss      int64
	cpuPct   float64
	lastSeen int64 // bytes of output when lastLine was taken
	lastLine string
}

// row is what is shown of t. now passes the time in.
func (r *Registry) row(t *tree, now time.Time) ops.Process {
	row := ops.Process{
		PID: t.leader.pid, PPID: r.self.pid, StartTicks: t.leader.start, Session: t.shown, Command: t.command,
		State: "running", AgeMS: ops.Millis(now.Sub(t.started)), CPUPct: t.cpuPct, RSSBytes: t.rss,
		TreeSize: len(t.members), Policy: string(t.policy), Origin: t.origin,
	}
	switch {
	case t.killing > 0:
		row.State = "killing"
	case r.scanErr != nil:
		row.State = "unknown"
	case !t.leading:
		row.State = "exited"
	}
	if t.handle != nil {
		if total := t.handle.out.written(); total != t.lastSeen {
			t.lastSeen, t.lastLine = total, t.handle.LastLine()
		}
		row.LastOutput = t.lastLine
	}
	return row
}

// Rows is every tracked tree, oldest first. Sizes, CPU and memory are as of the last sweep; it reads nothing.
func (r *Registry) Rows() []ops.Process {
	return r.rows(func(*tree) bool { return true })
}

// SessionRows is Rows of one session.
func (r *Registry) SessionRows(session string) []ops.Process {
	return r.rows(func(t *tree) bool { return t.session == session })
}

func (r *Registry) rows(want func(*tree) bool) []ops.Process {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	chosen := make([]*tree, 0, len(r.trees))
	for _, t := range r.trees {
		if want(t) {
			chosen = append(chosen, t)
		}
	}
	slices.SortFunc(chosen, func(a, b *tree) int { return cmp.Compare(a.id, b.id) })
	out := make([]ops.Process, len(chosen))
	for i, t := range chosen {
		out[i] = r.row(t, now)
	}
	return out
}

// Count is how many trees are tracked.
func (r *Registry) Count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.trees)
}

// CountSession is how many trees of one session are tracked.
func (r *Registry) CountSession(session string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, t := range r.trees {
		if t.session == session {
			n++
		}
	}
	return n
}

// Get returns the process that we started with this pid: the running one, else one of the last background processes that
// ended, with its output.
func (r *Registry) Get(pid int) (*Process, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.byPID[pid]; t != nil && t.handle != nil {
		return t.handle, true
	}
	for _, p := range slices.Backward(r.ended) {
		if p.id.PID == pid {
			return p, true
		}
	}
	return nil, false
}

// view is the outcome of a scan.
type view struct {
	// owned are the live members of each tree; loose the live descendants that belong to none, and processes elsewhere
	// that carry our life's marker.
	owned map[*tree][]proc
	loose []proc
	err   error
}

// observe scans /proc and brings the trees up to date: who belongs to which, which have ended, what is new. With
// elsewhere it also looks for our marker among processes that do not descend from us, at the price of reading the
// environment of each.
func (r *Registry) observe(elsewhere bool) view {
	v, ended := r.scan(elsewhere)
	for _, e := range ended {
		r.finish(e)
	}
	return v
}

func (r *Registry) scan(elsewhere bool) (view, []ending) {
	r.scanMu.Lock()
	defer r.scanMu.Unlock()
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
	v, ended := r.absorb(seq, ours, at, strangers)
	if elsewhere {
		v.loose = append(v.loose, r.marked(procs, ours)...)
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
		if p.state != 'D' { // may hold the lock that a look at it needs
			out[p.ident] = r.peeker.ask(p.ident)
		}
	}
	return out
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

// absorb brings the trees up to date with a scan that began as number seq.
func (r *Registry) absorb(seq uint64, ours []proc, at map[int]ident, strangers map[ident]peeked) (view, []ending) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.scanErr = nil
	v := view{owned: make(map[*tree][]proc, len(r.trees))}
	owners := make(map[ident]*tree, len(ours))
	tops := make(map[int]*tree, len(ours)) // by pid; parents come before children
	adopted := map[int]struct{}{}
	for _, p := range ours {
		var t *tree
		if p.ppid != r.self.pid {
			t = tops[p.ppid]
			if t == nil {
				t = r.owners[p.ident]
			}
		} else {
			t = r.ownerSeen(p, at)
			if t == nil && p.alive() {
				t = r.adopt(p, strangers[p.ident])
			}
			if t == nil || t.leader != p.ident || t.origin == originAdopted {
				adopted[p.pid] = struct{}{}
			}
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
	r.owners, r.adopted = owners, adopted
	r.sample(v, now)

	var ended []ending
	for _, t := range r.trees {
		live := v.owned[t]
		t.members = t.members[:0]
		leaderSeen := false
		for _, p := range live {
			t.members = append(t.members, p.ident)
			leaderSeen = leaderSeen || p.ident == t.leader
		}
		if t.origin == originAdopted {
			t.leading = leaderSeen
		}
		if len(live) == 0 && !t.leading && seq > t.leftAt {
			ended = append(ended, r.remove(t, now))
		}
	}
	return v, ended
}

// adopt makes, or finds, the tree of an orphan of ours that was never seen before. It returns nil while a fork is under
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
	r.journal.started(r.entry(t))
	return t
}

// ending is what is left to do for a tree that was removed, outside of the lock.
type ending struct {
	tree *tree
	row  ops.Process
}

// remove forgets t. Registry.mu is held.
func (r *Registry) remove(t *tree, now time.Time) ending {
	row := r.row(t, now)
	delete(r.trees, t.id)
	if r.byPID[t.leader.pid] == t {
		delete(r.byPID, t.leader.pid)
	}
	if t.handle != nil && t.policy != PolicyTurn {
		if len(r.ended) >= endedKept {
			r.ended = slices.Delete(r.ended, 0, len(r.ended)-endedKept+1)
		}
		r.ended = append(r.ended, t.handle)
	}
	return ending{t, row}
}

// finish releases what a removed tree held.
func (r *Registry) finish(e ending) {
	t := e.tree
	closeFD(t.pidfd)
	if t.handle != nil {
		t.handle.treeGone()
	}
	how := EndedByItself
	if t.killed {
		how = EndedByKill
		r.emit(ops.EventProcessKilled, e.row, fmt.Sprintf("process tree of pid %d killed and verified", t.leader.pid))
	}
	r.journal.ended(r.entry(t), how)
}

// sample updates CPU and memory of the trees. Registry.mu is held.
func (r *Registry) sample(v view, now time.Time) {
	for t, live := range v.owned {
		t.rss = 0
		for _, p := range live {
			t.rss += p.rss * int64(os.Getpagesize())
		}
	}
	since := now.Sub(r.sampled)
	if since < sampleEvery {
		return
	}
	ticks := make(map[ident]uint64, len(r.owners))
	for t, live := range v.owned {
		used := uint64(0)
		for _, p := range live {
			ticks[p.ident] = p.cpu
			before, known := r.ticks[p.ident]
			if !known && now.Sub(startedAt(p.start)) > since {
				continue // it had a life before us: that one is no load of now
			}
			if p.cpu > before {
				used += p.cpu - before
			}
		}
		over := since
		if age := now.Sub(t.started); r.sampled.IsZero() || age < over {
			over = max(age, time.Second/clockTicks)
		}
		pct := float64(used) * 100 * float64(time.Second/clockTicks) / float64(over)
		t.cpuPct = min(pct, float64(100*runtime.NumCPU()))
	}
	r.ticks, r.sampled = ticks, now
}

// marked are live processes outside of ours whose environment carries our life.
func (r *Registry) marked(procs, ours []proc) []proc {
	known := make(map[ident]bool, len(ours))
	for _, p := range ours {
		known[p.ident] = true
	}
	var out []proc
	for _, p := range procs {
		if known[p.ident] || !p.alive() || p.state == 'D' || r.self.untouchable(p) {
			continue
		}
		if r.peeker.ask(p.ident).life == r.opts.Life {
			out = append(out, p)
		}
	}
	return out
}

func displaySession(s string) string { return term.Clean(s, sessionWidth) }

func (r *Registry) displayCommand(s string) string {
	return term.Clean(r.opts.Redactor.Redact(s), commandWidth)
}
