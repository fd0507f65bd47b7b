package process

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
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
		list, err := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		if err != nil {
			return nil, err
		}
		for field := range bytes.FieldsSeq(list) {
			pid, err := strconv.Atoi(string(field))
			if err != nil {
				return nil, err
			}
			out = append(out, pid)
		}
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
