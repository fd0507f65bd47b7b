package process

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
)

var errThreads = errors.New("a thread ended while its children were listed")

// childrenOfSelf are the pids of our children, zombies included. A list is exact as long as none of them is waited for
// while it is read (proc_pid_task_tid_children(5)). The children of a thread that ends go to another thread.
func childrenOfSelf() ([]int, error) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil, err
	}
	var out []int
	for _, task := range tasks {
		pids, err := childrenOf("/proc/self/task/" + task.Name())
		if err != nil {
			return nil, err
		}
		out = append(out, pids...)
	}
	again, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil, err
	}
	for _, task := range tasks {
		if !slices.ContainsFunc(again, func(e os.DirEntry) bool { return e.Name() == task.Name() }) {
			return nil, errThreads
		}
	}
	return out, nil
}

// childrenOf are the pids of the children of a thread, whose folder below /proc is given.
func childrenOf(task string) (pids []int, err error) {
	list, err := os.ReadFile(task + "/children")
	for field := range strings.FieldsSeq(string(list)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		pids = append(pids, pid)
	}
	return pids, err
}
