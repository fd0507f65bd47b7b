package process

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"

	"gatewaytui/core/limit"
	"gatewaytui/core/ops"
)

// reached is a control group limit that a tree reached.
type reached struct {
	name string // of the bound, as in package limit; empty: not one of the gateway's bounds
	text string // for people; empty: none was reached
	// elsewhere says that the kernel may have ended a process of another tree of the session.
	elsewhere bool
}

const orHigher = "; use less at once, or raise the limit"

// killed is the limit for which the kernel ended processes of the tree whose group is at dir. A group counts when its own
// limit was reached, or that of a group below it (memory.events, cgroup-v2).
func (g *groups) killed(dir string, s *sharing, d *division) reached {
	if !d.memory || countIn(dir+"/memory.events", "oom_kill") == 0 {
		return reached{}
	}
	switch b := d.bounds; {
	case countIn(dir+"/memory.events", "oom") > 0:
		return reached{name: limit.TreeMemory, text: fmt.Sprintf("out of memory: this process tree reached its limit of %s (%s, memory.max of its control group), and the kernel ended all of it%s",
			humanize.IBytes(b.TreeMemory), limit.TreeMemory, orHigher)}
	case s.dir != "" && countIn(s.dir+"/memory.events.local", "oom") > 0:
		return s.memory("the kernel ended this process tree")
	case countIn(g.home+"/memory.events.local", "oom") > 0:
		return reached{name: limit.ToolsMemory, text: fmt.Sprintf("out of memory: all tools together reached their limit of %s (%s), and the kernel ended this process tree%s",
			humanize.IBytes(b.Memory), limit.ToolsMemory, orHigher)}
	}
	return reached{name: "", text: outOfMemory}
}

// refused is the limit for which the kernel refused the tree at dir a process. Up to Linux 6.11 the group of the process
// that forked counts the refusal, for whichever limit. So the highest number of processes decides which limit it was.
func (g *groups) refused(dir string, s *sharing, d *division) reached {
	if !d.pids || countIn(dir+"/pids.events", "max") == 0 {
		return reached{}
	}
	full := func(dir string, most uint64) bool {
		peak := numberIn(dir + "/pids.peak") // Linux 6.1
		return most > 0 && (peak == 0 || peak >= most)
	}
	switch b := d.bounds; {
	case s.dir != "" && full(s.dir, s.share.Processes):
		return s.processes()
	case full(dir, b.TreeProcesses):
		return reached{name: limit.TreeProcesses, text: "this process tree reached its limit of " + strconv.FormatUint(b.TreeProcesses, 10) +
			" processes and threads (" + limit.TreeProcesses + ", pids.max of its control group), and could start no more" + orHigher}
	case full(g.home, b.Processes):
		return reached{name: limit.ToolsProcesses, text: "all tools together reached their limit of " + strconv.FormatUint(b.Processes, 10) +
			" processes and threads (" + limit.ToolsProcesses + "), and this process tree could start no more" + orHigher}
	}
	return reached{name: "", text: "a limit of processes above that of the tools was reached, and this process tree could start no more" + orHigher}
}

// limits is the gravest limit that t reached. A new one is entered in its row, counted, and emitted as an event.
func (r *Registry) limits(t *tree) reached {
	if !closed(r.divided) {
		return reached{}
	}
	var hit reached
	if t.dir != "" {
		if hit = r.groups.killed(t.dir, &t.sharing, &r.division); hit.text == "" {
			hit = r.groups.refused(t.dir, &t.sharing, &r.division)
		}
	}
	if hit.text == "" {
		hit = t.sharing.reached()
	}
	r.mu.Lock()
	if hit.text == "" || t.limit == hit.text {
		r.mu.Unlock()
		return hit
	}
	t.limit, t.hit = hit.text, hit.name
	row := r.row(t, time.Now())
	r.mu.Unlock()
	if hit.name != "" && r.opts.OnLimit != nil {
		r.opts.OnLimit(hit.name)
	}
	r.log.Warn("process tree reached a limit", "event", string(ops.EventProcessLimit), "pid", row.PID, "session", row.Session, "limit", hit.name)
	r.emit(ops.EventProcessLimit, row, fmt.Sprintf("process %d: %s", row.PID, hit.text))
	return hit
}

// lookAtLimits checks the limits of every tree.
func (r *Registry) lookAtLimits() {
	if _, in := r.SessionLimits(); len(in) == 0 { // also while that is not known
		return
	}
	trees := r.all()
	for _, t := range trees {
		r.limits(t)
	}
	r.mu.Lock()
	full := slices.ContainsFunc(trees, func(t *tree) bool {
		return r.trees[t.id] == t && (t.hit == LimitSessionMemory || t.hit == LimitSessionProcesses)
	})
	r.mu.Unlock()
	full = full && r.killing.Load() == 0
	if r.yielding.CompareAndSwap(!full, full) {
		r.yield(full)
	}
	if r.killing.Load() > 0 { // a kill began meanwhile
		r.stopYielding()
	}
}

// hurry ends the yield of tools while a kill waits, until done is called: a process needs some time of a core to end after KILL, and one
// that yields has none on a machine that is busy. The next look of the sweeper decides again.
func (r *Registry) hurry() (done func()) {
	r.killing.Add(1)
	r.stopYielding()
	return func() { r.killing.Add(-1) }
}

func (r *Registry) stopYielding() {
	if r.yielding.CompareAndSwap(true, false) {
		r.yield(false)
	}
}
