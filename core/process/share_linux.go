package process

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"gatewaytui/core/process/kernel"
)

// sessionGroup begins the name of the group of a session, which contains those of its trees.
const sessionGroup = "session-"

const (
	// cpuPeriod is the time in which a share of CPU is counted, in microseconds; the kernel's default (cpu.max, cpu.cfs_period_us).
	cpuPeriod = 100_000
	// toolWeight is the weight of all tools against the gateway, which has 100 (cpu.weight, cgroup-v2): where both want a core, the gateway
	// gets the larger part. toolShares is the same for version 1, where it has 1024 (cpu.shares).
	toolWeight = 25
	toolShares = 256
)

// cpuController is the controller of CPU time, of both versions.
const cpuController = "cpu"

// sessionName is the name of the group of a session. The key of a session may be longer than a file name.
func sessionName(session string) string {
	sum := sha256.Sum256([]byte(session))
	return sessionGroup + hex.EncodeToString(sum[:12])
}

// groupOf is the directory of the group of a tree that is about to be started, and of its session's; empty: that has none.
func (r *Registry) groupOf(req *spawnRequest) (dir, shared string) {
	kept := req.spec.Policy == PolicyKept
	if req.spec.Session != "" && req.spec.Share != (Share{}) && len(r.division.controllers()) > 0 {
		shared = filepath.Join(filepath.Dir(r.groups.tree(req.id, kept)), sessionName(req.spec.Session))
		return filepath.Join(shared, filepath.Base(r.groups.tree(req.id, kept))), shared
	}
	return r.groups.tree(req.id, kept), ""
}

// boundSession bounds the group of a session and hands its controllers to the groups of its trees.
func (d *division) boundSession(dir string, s Share) error {
	if err := d.bound(dir, s.Memory, s.Processes); err != nil {
		return err
	}
	if d.cpu && s.CPU > 0 {
		if err := kernel.WriteGroup(dir, "cpu.max", fmt.Sprintf("%d %d", quota(s.CPU), cpuPeriod)); err != nil {
			return fmt.Errorf("bound control group %s (cpu.max): %w", dir, err)
		}
	}
	return subtree(dir, d.with("+"))
}

// quota is the time in a period that so many cores have; the kernel accepts no less than a millisecond.
func quota(cores float64) int64 { return max(int64(cores*cpuPeriod), 1000) }

// divideCPU enables the cpu controller as well, and weighs tools against the gateway. Where that fails, the other controllers stay.
func (g *groups) divideCPU(given []string, d *division) {
	have, err := words(g.base + "/cgroup.subtree_control")
	if err != nil || !slices.Contains(given, cpuController) {
		return
	}
	for _, dir := range []string{g.base, g.home, g.life} {
		if subtree(dir, "+"+cpuController) != nil {
			return
		}
	}
	if !slices.Contains(have, cpuController) && d.undo != "" {
		d.undo += " -" + cpuController
	}
	d.cpu = true
	_ = kernel.WriteGroup(g.home, "cpu.weight", strconv.Itoa(toolWeight)) // without it the tools have the gateway's weight
}

// yield makes all tools run only where no other program of the machine has work to do, or ends that (cpu.idle, Linux 5.15). A session
// at its limit keeps the cores busy, and each wait of the gateway for a core would cost a slice of theirs. Tools share what is left as
// before.
func (r *Registry) yield(on bool) {
	idle := map[bool]string{true: "1", false: "0"}[on]
	for dir, weight := range r.cpuHomes() {
		err := kernel.WriteGroup(dir, "cpu.idle", idle)
		if err == nil && !on { // the kernel has reset the weight
			file, value, _ := strings.Cut(weight, " ")
			err = kernel.WriteGroup(dir, file, value)
		}
		if err != nil {
			r.log.Info("tools do not yield to the gateway", "error", err)
		}
	}
}

// cpuHomes are the groups of all tools in which the cpu controller is in force, and the weight of each with its file.
func (r *Registry) cpuHomes() map[string]string {
	homes := map[string]string{}
	if r.division.cpu {
		homes[r.groups.home] = fmt.Sprintf("cpu.weight %d", toolWeight)
	}
	if r.old != nil && r.old.homes[cpuController] != "" {
		homes[r.old.homes[cpuController]] = fmt.Sprintf("cpu.shares %d", toolShares)
	}
	return homes
}

// leaveSession removes the group of a session if no tree is left in it. shared is the parent of a tree's group.
func leaveSession(shared string) {
	if strings.HasPrefix(filepath.Base(shared), sessionGroup) {
		_ = os.Remove(shared) // fails while another tree has a group there
	}
}

// removeEarlier removes the groups of earlier lives that are empty, of both versions.
func (r *Registry) removeEarlier() {
	if r.groups != nil {
		r.groups.removeEarlier()
	}
	<-r.divided // some milliseconds after the start; see divide
	r.old.removeEarlier()
}

// removeOld removes this life's groups of version 1.
func (r *Registry) removeOld() error { return r.old.remove() }

// sharing is how a tree is bounded together with the other trees of its session.
type sharing struct {
	share Share
	dir   string            // of the session's group of version 2; empty: it has none
	old   map[string]string // of those of version 1, by controller
	count counted           // what the groups of version 1 had counted when the tree was started
	why   string            // why a bound is not held; empty: each is
}

// reached is the limit of its session that a tree reached, by the groups of version 1, which count for the whole session.
func (s *sharing) reached() reached {
	if len(s.old) == 0 {
		return reached{}
	}
	switch now := countOld(s.old); {
	case now.killed > s.count.killed:
		hit := s.memory("the kernel ended a process of it")
		hit.elsewhere = true
		return hit
	case now.refused > s.count.refused:
		return s.processes()
	}
	return reached{}
}

func (s *sharing) memory(what string) reached {
	return reached{name: LimitSessionMemory, text: fmt.Sprintf("out of memory: the processes of this session reached their limit of %s (%s of the environment), and %s%s",
		humanize.IBytes(s.share.Memory), LimitSessionMemory, what, orHigher)}
}

func (s *sharing) processes() reached {
	return reached{name: LimitSessionProcesses, text: fmt.Sprintf("this session reached its limit of %d processes and threads (%s of the environment), and could start no more%s",
		s.share.Processes, LimitSessionProcesses, orHigher)}
}

// joinShare moves a child to the groups of its session in version 1 of control groups, and says how its session is bounded. held: the child has
// not run yet. It is called on the spawner's thread.
func (r *Registry) joinShare(req *spawnRequest, pid int, held bool) {
	s := &req.sharing
	s.share = req.spec.Share
	if s.share == (Share{}) || req.spec.Session == "" {
		return
	}
	<-r.divided // some milliseconds after the start; see divide
	if r.old != nil {
		s.old = r.old.sessions(req.spec.Session)
		s.count = countOld(s.old)
		pids := []int{pid}
		if !held {
			children, _ := childrenOf(fmt.Sprintf("/proc/%d/task/%d", pid, pid)) // it may have ended
			pids = append(pids, children...)
		}
		err := r.old.join(s.old, s.share, pids...)
		r.noteUnlimited(err)
		if err != nil {
			s.why = err.Error()
		}
	}
	s.why = r.unheld(s)
}

// unheld says which bounds of a session are not held, and why; empty: each is.
func (r *Registry) unheld(s *sharing) string {
	if s.why != "" {
		return s.why
	}
	var lacking []string
	_, in := r.SessionLimits()
	for name, wanted := range map[string]bool{memoryController.name: s.share.Memory > 0, pidsController.name: s.share.Processes > 0, cpuController: s.share.CPU > 0} {
		if wanted && !slices.Contains(in, name) {
			lacking = append(lacking, name)
		}
	}
	if len(lacking) == 0 {
		return ""
	}
	slices.Sort(lacking)
	return "no control group bounds the session in " + strings.Join(lacking, ", ") + ", and other limits (ulimit) are per process or user"
}

// SessionLimits says which controllers can bound a session, sorted, and whether that is known yet. It reads nothing.
func (r *Registry) SessionLimits() (known bool, controllers []string) {
	if !closed(r.divided) {
		return false, nil
	}
	controllers = append(r.old.controllers(), r.division.controllers()...)
	slices.Sort(controllers)
	return true, slices.Compact(controllers)
}
