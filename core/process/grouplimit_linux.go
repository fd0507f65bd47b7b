package process

import (
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds are what the control groups of tools may take (HF3, HF4). A 0 of Options.Bounds is derived, see complete; a 0 of
// Limits means no bound.
type Bounds struct {
	// Memory and TreeMemory are bytes of all trees together and of each tree (memory.max, cgroups(7)). The kernel ends
	// the whole tree that needs more (memory.oom.group).
	Memory, TreeMemory uint64
	// Processes and TreeProcesses are processes and threads of all trees together and of each tree (pids.max). A fork
	// beyond them fails.
	Processes, TreeProcesses uint64
}

// division is how the groups of trees are limited. It is written before Registry.divided is closed, and never changed.
type division struct {
	memory, pids, cpu bool // the controllers in force
	bounds            Bounds
	why               error // why a controller is not in force
	// undo reverts what was enabled in base, for a process that is put there after the program has ended. Empty: there is
	// nothing to revert, because base is the root of all groups.
	undo string
}

// controllers are the names of the controllers in force.
func (d *division) controllers() (names []string) {
	if d.memory {
		names = append(names, memoryController.name)
	}
	if d.pids {
		names = append(names, pidsController.name)
	}
	if d.cpu {
		names = append(names, cpuController)
	}
	return names
}

// with is the text for cgroup.subtree_control that enables (+) or disables (-) the controllers in force.
func (d *division) with(sign string) string {
	return sign + strings.Join(d.controllers(), " "+sign)
}

// unlimited is above every real limit. Version 1 of control groups writes a number near 1<<63 for "no limit".
const unlimited = 1 << 60

// MemoryLimit is the lowest memory limit, in bytes, of the control groups that this program is in, of either version
// (memory.max, memory.limit_in_bytes; cgroups(7)); 0: none, or none that can be read. Any goroutine may call it; no
// registry has to be open.
func MemoryLimit() uint64 { return groupLimit(memoryController) }

// controller is a controller of control groups and the files with its limit in both versions.
type controller struct{ name, file, old string }

var (
	memoryController = controller{"memory", "memory.max", "memory.limit_in_bytes"}
	pidsController   = controller{"pids", "pids.max", "pids.max"}
)

// groupLimit is the lowest limit of c in the control groups that this program is in; 0: none.
func groupLimit(c controller) uint64 {
	mountinfo, cgroup, err := groupFiles("self")
	if err != nil {
		return 0
	}
	least := uint64(unlimited)
	for _, file := range limitFiles(c, mountinfo, cgroup) {
		if n := numberIn(file); n > 0 {
			least = min(least, n)
		}
	}
	if least == unlimited {
		return 0
	}
	return least
}

// groupFiles reads the mounts that we see, and the control groups of process pid.
func groupFiles(pid string) (mountinfo, cgroup string, err error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", "", err
	}
	groups, err := os.ReadFile("/proc/" + pid + "/cgroup")
	return string(mounts), string(groups), err
}

// limitFiles are the files with the limits of our groups and of those above them, from the contents of
// /proc/self/mountinfo and /proc/self/cgroup.
func limitFiles(c controller, mountinfo, cgroup string) (files []string) {
	for line := range strings.Lines(cgroup) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) < 3 || path.Clean(parts[2]) != parts[2] {
			continue
		}
		kind, file := "cgroup2", c.file
		if parts[0] != "0" {
			if kind, file = "cgroup", c.old; !slices.Contains(strings.Split(parts[1], ","), c.name) {
				continue
			}
		}
		for m := range mountsIn(mountinfo) {
			below, ok := m.below(parts[2])
			if !ok || m.kind != kind || kind == "cgroup" && !slices.Contains(m.options, c.name) {
				continue
			}
			for dir := filepath.Join(m.point, below); strings.HasPrefix(dir, m.point); dir = filepath.Dir(dir) {
				files = append(files, filepath.Join(dir, file))
				if dir == m.point {
					break
				}
			}
			break
		}
	}
	return files
}

// mount is one mounted file system: its kind, the root of what is mounted, where, and the file system's options.
type mount struct {
	kind, root, point string
	options           []string
}

// mountsIn reads the content of /proc/self/mountinfo (proc_pid_mountinfo(5)).
func mountsIn(mountinfo string) iter.Seq[mount] {
	blanks := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`) // as the kernel escapes them
	return func(yield func(mount) bool) {
		for line := range strings.Lines(mountinfo) {
			left, right, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
			where, what := strings.Split(left, " "), strings.Split(right, " ")
			if !ok || len(where) < 6 {
				continue
			}
			m := mount{what[0], blanks.Replace(where[3]), blanks.Replace(where[4]), strings.Split(what[len(what)-1], ",")}
			if strings.HasPrefix(m.point, "/") && !yield(m) {
				return
			}
		}
	}
}

// below is the part of path, which begins at the file system's own root, that is below the root of the mount.
func (m mount) below(path string) (below string, ok bool) {
	below, ok = strings.CutPrefix(path, strings.TrimSuffix(m.root, "/"))
	return below, ok && (below == "" || below[0] == '/')
}
