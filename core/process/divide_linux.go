package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"gatewaytui/core/ops"
	"gatewaytui/core/process/kernel"
)

// The room that tools leave to the gateway in a memory limit that covers both: an eighth, at least the first constant and
// at most the second, and a quarter of a small limit.
const (
	memoryReserveLeast = 64 << 20
	memoryReserveMost  = 512 << 20
	// treeShare is the part of the bound of all trees that one tree leaves to the others by default.
	treeShare = 8
)

// complete derives the values that are 0 from memory and processes, the limits that the gateway itself is under (0: none),
// and table, how many processes the machine can have (0: not known).
func (b Bounds) complete(memory, processes, table uint64) Bounds {
	if b.Memory == 0 && memory > 0 {
		b.Memory = memory - min(max(memory/8, memoryReserveLeast), memoryReserveMost, memory/4)
	}
	if b.TreeMemory == 0 {
		b.TreeMemory = b.Memory - b.Memory/treeShare
	}
	if b.Processes == 0 {
		b.Processes = table - table/tableShare
		if processes > 0 {
			b.Processes = below(processes)
		}
	}
	if most := b.Processes - b.Processes/treeShare; b.Processes > 0 && (b.TreeProcesses == 0 || b.TreeProcesses > most) {
		b.TreeProcesses = most
	}
	return b
}

// Limits returns the bounds of the control groups of trees, the controllers in force, and why one is not in force; empty:
// each is. It reads nothing. Call it after Open. It reports nothing in force until the groups are set up, some
// milliseconds later.
func (r *Registry) Limits() (b Bounds, controllers []string, why string) {
	if !closed(r.divided) {
		return Bounds{}, nil, "the control groups are being set up"
	}
	if r.division.why != nil {
		why = r.division.why.Error()
	}
	return r.division.bounds, r.division.controllers(), why
}

// divide sets up the limits of the groups. It runs concurrently with the start, because a process that changes its group
// waits for the kernel for some milliseconds. Spawns and the guardian wait for it.
func (r *Registry) divide() {
	defer close(r.divided)
	switch {
	case r.opts.Bounds == nil:
		r.division.why = errors.New("no limits are configured")
	case r.groups == nil:
		r.division.why = errors.New("there are no control groups: " + r.groupless)
	default:
		r.division = r.groups.divide(*r.opts.Bounds, r.self.PID)
	}
	if r.opts.Bounds != nil && r.opts.Containment != ContainmentSubreaper {
		old, err := makeOldGroups(r.opts.HomeID, r.opts.Life, r.division.controllers())
		r.old = old
		if err != nil {
			r.log.Info("session limits not in force", "event", ops.LogProcessUnlimited, "controllers", old.controllers(), "reason", err)
		}
	}
	if why := r.division.why; why != nil && r.opts.Bounds != nil {
		r.log.Info("control group limits not in force", "event", ops.LogProcessUnlimited, "controllers", r.division.controllers(), "reason", why)
	}
}

// dividing bounds how often a new child of the program is moved as well.
const dividing = 3

// divide enables the controllers for the groups of trees and bounds the home's group, which contains all trees. For that,
// a program in the group that contains the home's moves to a leaf group next to the home's. What fails is undone.
func (g *groups) divide(want Bounds, self int) (d division) {
	given, err := words(g.base + "/cgroup.controllers")
	if err != nil {
		d.why = fmt.Errorf("read the controllers of the gateway's control group: %w", err)
		return d
	}
	d.memory, d.pids = slices.Contains(given, memoryController.name), slices.Contains(given, pidsController.name)
	switch {
	case !d.memory && !d.pids:
		d.why = errors.New("the gateway's control group has neither the memory nor the pids controller")
		return d
	case !d.memory:
		d.why = errors.New("the gateway's control group lacks the memory controller")
	case !d.pids:
		d.why = errors.New("the gateway's control group lacks the pids controller")
	}
	if err := g.enable(d, self); err != nil {
		return division{why: err}
	}
	if _, err := os.Stat(filepath.Join(g.base, kernel.LeafGroup)); err == nil {
		d.undo = d.with("-")
	}
	for _, dir := range []string{g.home, g.life} {
		if err := subtree(dir, d.with("+")); err != nil {
			return division{why: err, undo: d.undo}
		}
	}
	d.bounds = want.complete(MemoryLimit(), groupLimit(pidsController), machineProcesses())
	if !d.memory {
		d.bounds.Memory, d.bounds.TreeMemory = 0, 0
	}
	if !d.pids {
		d.bounds.Processes, d.bounds.TreeProcesses = 0, 0
	}
	g.divideCPU(given, &d)
	if err := d.bound(g.home, d.bounds.Memory, d.bounds.Processes); err != nil {
		d.why = err
	}
	return d
}

func subtree(dir, change string) error {
	if err := kernel.WriteGroup(dir, "cgroup.subtree_control", change); err != nil {
		return fmt.Errorf("enable controllers (%s) in %s: %w", change, dir, err)
	}
	return nil
}

// enable enables the controllers of d in base.
func (g *groups) enable(d division, self int) error {
	have, err := words(g.base + "/cgroup.subtree_control")
	if err != nil {
		return fmt.Errorf("read the controllers of the gateway's control group: %w", err)
	}
	if !slices.ContainsFunc(d.controllers(), func(name string) bool { return !slices.Contains(have, name) }) {
		return nil
	}
	// The root of all groups may have processes. Only the root has no type.
	_, noType := os.Stat(g.base + "/cgroup.type")
	leave := g.own == g.base && !errors.Is(noType, os.ErrNotExist)
	for range dividing {
		if leave {
			if err = g.leave(self); err != nil {
				break
			}
		}
		if err = subtree(g.base, d.with("+")); !errors.Is(err, unix.EBUSY) {
			break
		}
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, unix.EBUSY) {
		err = fmt.Errorf("control group %s has processes, so its child groups get no controllers: %w", g.base, err)
	}
	if leave {
		g.restore()
	}
	return err
}

// leave moves the program and its children from base to the leaf group, unless other processes are in base as well.
func (g *groups) leave(self int) error {
	leaf := filepath.Join(g.base, kernel.LeafGroup)
	pids, err := words(g.base + "/cgroup.procs")
	if err != nil {
		return fmt.Errorf("list the gateway's control group: %w", err)
	}
	for _, text := range pids {
		pid, err := strconv.Atoi(text)
		if err != nil || pid == self {
			continue
		}
		if p, err := statOf(pid); pid == 0 || err == nil && p.Alive() && p.PPID != self {
			return fmt.Errorf("another process (pid %d) is in the gateway's control group, so its child groups get no controllers", pid)
		}
	}
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("make a control group for the gateway: %w", err)
	}
	for _, pid := range append([]string{strconv.Itoa(self)}, pids...) {
		if err := kernel.WriteGroup(leaf, "cgroup.procs", pid); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("move process %s to control group %s: %w", pid, leaf, err)
		}
	}
	return nil
}

// restore undoes leave.
func (g *groups) restore() {
	leaf := filepath.Join(g.base, kernel.LeafGroup)
	members, err := kernel.Members(leaf)
	if err != nil {
		return
	}
	for _, pid := range members {
		_ = kernel.WriteGroup(g.base, "cgroup.procs", strconv.Itoa(pid)) // on failure it stays in the leaf, which does no harm
	}
	_ = os.Remove(leaf) // fails if a process is in it
}

// bound bounds the group at dir.
func (d *division) bound(dir string, memory, processes uint64) error {
	if d.memory && memory > 0 {
		if err := writeBound(dir, memoryController.file, memory); err != nil {
			return err
		}
	}
	if d.pids && processes > 0 {
		return writeBound(dir, pidsController.file, processes)
	}
	return nil
}

func writeBound(dir, file string, value uint64) error {
	if err := kernel.WriteGroup(dir, file, strconv.FormatUint(value, 10)); err != nil {
		return fmt.Errorf("bound control group %s (%s): %w", dir, file, err)
	}
	return nil
}

// boundTree bounds the group of one tree, and makes the kernel end all or none of it when memory runs out.
func (d *division) boundTree(dir string) error {
	if d.memory {
		if err := writeBound(dir, "memory.oom.group", 1); err != nil {
			return err
		}
	}
	return d.bound(dir, d.bounds.TreeMemory, d.bounds.TreeProcesses)
}

// limitTree bounds the group of a tree that is about to be started. A failure is a weakness, and the tree is started
// anyway.
func (r *Registry) limitTree(dir, shared string, req *spawnRequest) {
	d := &r.division
	if !d.memory && !d.pids {
		return
	}
	var err error
	if req.spec.Policy == PolicyKept { // made with its first tree, and not yet divided
		err = subtree(r.groups.kept, d.with("+"))
	}
	if err == nil && shared != "" {
		err = d.boundSession(shared, req.spec.Share)
		req.sharing.dir = shared
	}
	if err != nil {
		req.sharing.why = err.Error()
	}
	if err == nil {
		err = d.boundTree(dir)
	}
	r.noteUnlimited(err)
}

// rejoin undoes what divide did to the group that the program was started in, and leaves it as it was.
func (r *Registry) rejoin() {
	r.mu.Lock()
	stay := r.stay
	r.mu.Unlock()
	if undo := r.division.undo; undo != "" && !stay {
		kernel.Rejoin(r.groups.base, undo)
	}
}

// GroupUse is the memory, in bytes, and the processes and threads of all trees together, as their control group counts
// them; 0: not known.
func (r *Registry) GroupUse() (memory, processes int64) {
	if !closed(r.divided) {
		return 0, 0
	}
	if r.division.memory {
		memory = int64(numberIn(r.groups.home + "/memory.current"))
	}
	if r.division.pids {
		processes = int64(numberIn(r.groups.home + "/pids.current"))
	}
	return memory, processes
}

// leaveGroups removes the groups of a tree that is gone, and those of its session if it was the last one there.
func (r *Registry) leaveGroups(t *tree) {
	if t.dir != "" {
		_ = kernel.RemoveGroup(t.dir) // Close tries again; the next start removes another life's
		leaveSession(filepath.Dir(t.dir))
	}
	r.old.leave(t.sharing.old)
}

// weakest is the level without control groups.
const weakest = ContainmentSubreaper

// openGroups sets groups, or groupless.
func (r *Registry) openGroups() error {
	if r.opts.Containment == ContainmentSubreaper {
		r.groupless = "disabled by the config"
		return nil
	}
	g, err := makeGroups(r.opts.HomeID, r.opts.Life)
	switch {
	case err == nil:
		r.groups = g
		g.removeEarlier()
	case r.opts.Containment == ContainmentCgroup:
		return fmt.Errorf("make a control group: %w", err)
	default:
		r.groupless = err.Error()
	}
	return nil
}

// forkContained starts the process of req in its own control group, where we have groups, and with its tag. If only the
// group fails, the process is started without one, and the level is the lower one until groups work again.
func (r *Registry) forkContained(req *spawnRequest) (forkedChild, error) {
	kept := req.spec.Policy == PolicyKept
	r.oom.look(time.Now())
	if r.tag {
		life := r.opts.Life
		if kept {
			life = kernel.Kept(life)
		}
		// The limit is the program's, and only this thread forks: a child inherits its own tag.
		if err := kernel.SetTag(kernel.NewTag(life, req.id)); err == nil {
			defer func() { _ = kernel.SetTag(kernel.NewTag(r.opts.Life, 0)) }()
		}
	}
	if r.groups == nil {
		return r.fork(req, -1)
	}
	<-r.divided // some milliseconds after the start; see divide
	dir, shared := r.groupOf(req)
	group, why := makeGroup(dir)
	if why == nil {
		r.limitTree(dir, shared, req)
		child, err := r.fork(req, group)
		closeFD(group)
		if err == nil {
			r.noteUngrouped(nil)
			child.dir = dir
			return child, nil
		}
		_ = os.Remove(dir) // it is empty
		leaveSession(shared)
		if errors.Is(err, unix.ENOENT) {
			return child, err // the program does not exist
		}
		why = err
	}
	if r.opts.Containment == ContainmentCgroup {
		return forkedChild{pidfd: -1}, why
	}
	child, err := r.fork(req, -1)
	if err == nil {
		r.noteUngrouped(fmt.Errorf("start a process in a control group: %w", why))
	}
	return child, err
}
