package process

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

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
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return 0
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return 0
	}
	least := uint64(unlimited)
	for _, file := range limitFiles(c, string(mounts), string(own)) {
		if n := numberIn(file); n > 0 {
			least = min(least, n)
		}
	}
	if least == unlimited {
		return 0
	}
	return least
}

// limitFiles are the files with the limits of our groups and of those above them, from the contents of
// /proc/self/mountinfo and /proc/self/cgroup.
func limitFiles(c controller, mountinfo, cgroup string) (files []string) {
	for line := range strings.Lines(cgroup) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) < 3 || path.Clean(parts[2]) != parts[2] {
			continue
		}
		kind, file := "cgroup2 ", c.file
		if parts[0] != "0" {
			if kind, file = "cgroup ", c.old; !slices.Contains(strings.Split(parts[1], ","), c.name) {
				continue
			}
		}
		root, mount := controllerMount(c, mountinfo, kind)
		below, ok := strings.CutPrefix(parts[2], strings.TrimSuffix(root, "/"))
		if mount == "" || !ok || below != "" && below[0] != '/' {
			continue
		}
		for dir := filepath.Join(mount, below); strings.HasPrefix(dir, mount); dir = filepath.Dir(dir) {
			files = append(files, filepath.Join(dir, file))
			if dir == mount {
				break
			}
		}
	}
	return files
}

// controllerMount is the root and the path of the mount of one kind that has the controller.
func controllerMount(c controller, mountinfo, kind string) (root, mount string) {
	for line := range strings.Lines(mountinfo) {
		left, right, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
		fields := strings.Split(left, " ")
		if !ok || len(fields) < 6 || !strings.HasPrefix(right, kind) {
			continue
		}
		options := strings.Split(right[strings.LastIndexByte(right, ' ')+1:], ",")
		if kind == "cgroup2 " || slices.Contains(options, c.name) {
			return unescapeMount(fields[3]), unescapeMount(fields[4])
		}
	}
	return "", ""
}
