package service

import (
	"os"
	"strconv"
	"strings"
)

// parentAndGroup are the name of the process ppid and the text of /proc/self/cgroup; empty: not shown.
func parentAndGroup(ppid int) (parent, cgroup string) {
	comm, _ := os.ReadFile("/proc/" + strconv.Itoa(ppid) + "/comm")
	group, _ := os.ReadFile("/proc/self/cgroup")
	return strings.TrimSpace(string(comm)), string(group)
}
