package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"gatewaytui/core/process/kernel"
)

// oldGroups are the groups of sessions in version 1 of control groups, for controllers that version 2 does not have here. Each
// controller has a tree of its own. A process is moved there before its first instruction.
type oldGroups struct {
	homes map[string]string // by controller: the directory of the home
	life  string            // the name of the life's group in each
}

// makeOldGroups finds the controllers other than those of version 2 in force, and makes the home's group in each. nil: there are none. The
// error says why one cannot be used.
func makeOldGroups(home, life string, held []string) (*oldGroups, error) {
	mountinfo, cgroup, err := groupFiles("self")
	if err != nil {
		return nil, err
	}
	o := &oldGroups{homes: map[string]string{}, life: "life-" + sessionName(life)[len(sessionGroup):]}
	var wrong error
	for _, name := range []string{memoryController.name, pidsController.name, cpuController} {
		if slices.Contains(held, name) {
			continue
		}
		files := limitFiles(controller{name: name, file: "/", old: "cgroup.procs"}, mountinfo, oldLines(cgroup))
		if len(files) == 0 {
			continue
		}
		dir := filepath.Join(filepath.Dir(files[0]), kernel.HomeGroup+sessionName(home)[len(sessionGroup):])
		if err := os.MkdirAll(dir, 0o755); err != nil {
			wrong = err
			continue
		}
		o.homes[name] = dir
	}
	if len(o.homes) == 0 {
		return nil, wrong
	}
	if dir := o.homes[cpuController]; dir != "" {
		_ = kernel.WriteGroup(dir, "cpu.shares", strconv.Itoa(toolShares)) // without it the tools have the gateway's weight
	}
	o.removeEarlier()
	return o, wrong
}

// oldLines are the lines of /proc/self/cgroup about version 1.
func oldLines(cgroup string) string {
	var b strings.Builder
	for line := range strings.Lines(cgroup) {
		if !strings.HasPrefix(line, "0::") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// controllers are the names of those in use, sorted.
func (o *oldGroups) controllers() (names []string) {
	if o == nil {
		return nil
	}
	for name := range o.homes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// sessions are the directories of a session's groups, by controller.
func (o *oldGroups) sessions(session string) map[string]string {
	dirs := map[string]string{}
	for name, home := range o.homes {
		dirs[name] = filepath.Join(home, o.life, sessionName(session))
	}
	return dirs
}

// join bounds the groups of a session, makes them if need be, and moves processes there. A process that has ended is no error.
func (o *oldGroups) join(dirs map[string]string, s Share, pids ...int) (wrong error) {
	for name, dir := range dirs {
		var err error
		for range dividing { // the end of the session's last tree may remove it meanwhile
			if err = joinOld(name, dir, s, pids); !errors.Is(err, os.ErrNotExist) {
				break
			}
		}
		if err != nil {
			wrong = fmt.Errorf("bound the session by the %s controller: %w", name, err)
		}
	}
	return wrong
}

func joinOld(name, dir string, s Share, pids []int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var err error
	switch {
	case name == memoryController.name && s.Memory > 0:
		err = writeBound(dir, memoryController.old, s.Memory)
	case name == pidsController.name && s.Processes > 0:
		err = writeBound(dir, pidsController.old, s.Processes)
	case name == cpuController && s.CPU > 0:
		err = writeBound(dir, "cpu.cfs_quota_us", uint64(quota(s.CPU)))
	}
	if err != nil {
		return err
	}
	for _, pid := range pids {
		if err := kernel.WriteGroup(dir, "cgroup.procs", strconv.Itoa(pid)); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("move pid %d to control group %s: %w", pid, dir, err)
		}
	}
	return nil
}

// lives are the directories of the life in each controller, a line each.
func (o *oldGroups) lives() string {
	if o == nil {
		return ""
	}
	var dirs []string
	for _, name := range o.controllers() {
		dirs = append(dirs, filepath.Join(o.homes[name], o.life))
	}
	return strings.Join(dirs, "\n")
}

// leave removes the groups of a session if no process is in them.
func (o *oldGroups) leave(dirs map[string]string) {
	for _, dir := range dirs {
		_ = os.Remove(dir) // fails while a process is in it
	}
}

// removeEarlier removes the groups of earlier lives that are empty.
func (o *oldGroups) removeEarlier() {
	if o == nil {
		return
	}
	for _, home := range o.homes {
		entries, _ := os.ReadDir(home) // what cannot be read is looked at again at the next start
		for _, e := range entries {
			if e.IsDir() && e.Name() != o.life {
				_ = kernel.RemoveGroup(filepath.Join(home, e.Name())) // fails while a process is in it
			}
		}
	}
}

// remove removes the groups of this life, and the home's if it contains no other life's.
func (o *oldGroups) remove() error {
	if o == nil {
		return nil
	}
	o.removeEarlier()
	var errs []error
	for _, home := range o.homes {
		if err := kernel.RemoveGroup(filepath.Join(home, o.life)); err != nil {
			errs = append(errs, fmt.Errorf("remove control group %s: %w", filepath.Join(home, o.life), err))
			continue
		}
		_ = os.Remove(home) // fails while another life's is in it
	}
	return errors.Join(errs...)
}

// counted are the figures of a session's groups of version 1: how many processes the kernel ended, and how many forks it refused.
type counted struct{ killed, refused uint64 }

func countOld(dirs map[string]string) (c counted) {
	// A process may also end for the limit of a group above. Then the session's own limit was never met.
	if dir := dirs[memoryController.name]; dir != "" && numberIn(dir+"/memory.failcnt") > 0 {
		c.killed = countIn(dir+"/memory.oom_control", "oom_kill")
	}
	if dir := dirs[pidsController.name]; dir != "" {
		c.refused = countIn(dir+"/pids.events", "max")
	}
	return c
}
