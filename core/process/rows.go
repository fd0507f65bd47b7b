package process

import (
	"cmp"
	"maps"
	"os"
	"runtime"
	"slices"
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

// sampleEvery is the shortest time between two samples of CPU. Shorter ones would measure the clock tick.
const sampleEvery = 500 * time.Millisecond

// row is what is shown of t at the time now.
func (r *Registry) row(t *tree, now time.Time) ops.Process {
	row := ops.Process{
		PID: t.leader.PID, PPID: r.self.PID, StartTicks: t.leader.Start, Session: term.Clean(t.session, sessionWidth), Command: t.command,
		State: ops.ProcessRunning, AgeMS: ops.Millis(now.Sub(t.started)), CPUPct: t.cpuPct, RSSBytes: t.rss,
		TreeSize: len(t.members), Policy: t.policy, Origin: t.origin, Limit: t.limit, LimitHit: t.hit, Unlimited: t.sharing.why, Owner: cmp.Or(t.belongs, OwnerTool), Environment: t.environment,
	}
	if t.ppid > 0 {
		row.PPID = t.ppid
	}
	switch {
	case t.killing > 0:
		row.State = ops.ProcessKilling
	case t.failed:
		row.State = ops.ProcessKillFailed
	case r.scanErr != nil:
		row.State = ops.ProcessUnknown
	case !t.leading:
		row.State = ops.ProcessExited
	}
	if t.handle != nil {
		if total, _ := t.handle.out.written(); total != t.lastSeen {
			t.lastSeen, t.lastLine = total, t.handle.LastLine()
		}
		row.LastOutput = t.lastLine
	}
	return row
}

// Rows is every tracked tree, oldest first. Sizes, CPU and memory are as of the last sweep. It reads nothing from /proc.
func (r *Registry) Rows() []ops.Process {
	return r.rows(func(*tree) bool { return true })
}

// SessionRows is Rows of one session.
func (r *Registry) SessionRows(session string) []ops.Process {
	return r.rows(func(t *tree) bool { return t.session == session })
}

// all are the trees, oldest first.
func (r *Registry) all() []*tree {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sorted()
}

// sorted is all. Registry.mu is held.
func (r *Registry) sorted() []*tree {
	return slices.SortedFunc(maps.Values(r.trees), func(a, b *tree) int { return cmp.Compare(a.id, b.id) })
}

func (r *Registry) rows(want func(*tree) bool) []ops.Process {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	chosen := slices.DeleteFunc(r.sorted(), func(t *tree) bool { return !want(t) })
	out := make([]ops.Process, len(chosen))
	oldest := r.oldest()
	for i, t := range chosen {
		out[i] = r.row(t, now)
		out[i].DuplicateOf = t.duplicateOf(oldest)
	}
	return out
}

// oldest is the oldest tree of each job whose leader still runs. Registry.mu is held.
func (r *Registry) oldest() map[job]*tree {
	out := make(map[job]*tree, len(r.trees))
	for _, t := range r.trees {
		if !t.leading || t.job == (job{}) {
			continue
		}
		if first := out[t.job]; first == nil || t.id < first.id {
			out[t.job] = t
		}
	}
	return out
}

// DuplicateOf is the pid of the oldest process with the same command, directory and session that was started before p and
// still runs; 0: none. It equals the field of p's row.
func (p *Process) DuplicateOf() int {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	return p.tree.duplicateOf(p.r.oldest())
}

func (t *tree) duplicateOf(oldest map[job]*tree) int {
	if first := oldest[t.job]; first != nil && first.id < t.id {
		return first.leader.PID
	}
	return 0
}

// Count is how many trees are tracked.
func (r *Registry) Count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.trees)
}

// CountSession is how many trees of one session are tracked.
func (r *Registry) CountSession(session string) int {
	return r.CountSessions()[session]
}

// CountSessions is CountSession of every session that has trees.
func (r *Registry) CountSessions() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bySession(r.trees)
}

func bySession(sets ...map[uint64]*tree) map[string]int {
	n := map[string]int{}
	for _, set := range sets {
		for _, t := range set {
			n[t.session]++
		}
	}
	return n
}

// LargestTree is the resident memory, in bytes, of the tree that has the most, and the number of processes of the tree
// that has the most, as of the last scan.
func (r *Registry) LargestTree() (memory, processes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.trees {
		memory, processes = max(memory, t.rss), max(processes, int64(len(t.members)))
	}
	return memory, processes
}

// Use is the resident memory of all tracked trees, in bytes, and how many processes they have, as of the last scan.
func (r *Registry) Use() (memory int64, processes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.trees {
		memory, processes = memory+t.rss, processes+len(t.members)
	}
	return memory, processes
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
		if p.PID() == pid {
			return p, true
		}
	}
	return nil, false
}

// sample updates CPU and memory of the trees. Registry.mu is held.
func (r *Registry) sample(v view, now time.Time) {
	for t, live := range v.owned {
		t.rss = 0
		for _, p := range live {
			t.rss += p.RSS * int64(os.Getpagesize())
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
			ticks[p.Ident] = p.CPU
			before, known := r.ticks[p.Ident]
			if !known && now.Sub(startedAt(p.Start)) > since {
				continue // it ran before we tracked it: that time is not current load
			}
			if p.CPU > before {
				used += p.CPU - before
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

func (r *Registry) displayCommand(s string) string {
	return term.Clean(r.opts.Redactor.Redact(s), commandWidth)
}

// LastLine is the last line of the output that is not empty, cleaned and masked.
func (p *Process) LastLine() string {
	return term.Clean(term.StripSGR(p.r.opts.Redactor.Redact(p.out.lastLine())), lineWidth)
}

// LastLines are the last lines of the output that are not empty, at most so many, each cleaned, masked and cut.
func (p *Process) LastLines(most int) []string {
	text, _ := p.out.text()
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(p.r.opts.Redactor.Redact(text), "\r", "\n")) {
		if line = strings.TrimSpace(term.Clean(term.StripSGR(strings.TrimRight(line, "\n")), lineWidth)); line != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(len(lines)-most, 0):]
}
