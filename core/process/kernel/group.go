package kernel

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"syscall"
)

// KillGroup ends everything in the control group at dir and below it, at once (cgroup.kill, Linux 5.14).
func KillGroup(dir string) error { return WriteGroup(dir, "cgroup.kill", "1") }

// WriteGroup writes text into a file of the group at dir, which has to be there. The kernel takes it whole or refuses it.
func WriteGroup(dir, file, text string) error {
	fd, err := open(dir+"/"+file, syscall.O_WRONLY)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	_, err = syscall.Write(fd, []byte(text))
	return err
}

// Names in the directory of the group that the gateway was started in.
const (
	// LeafGroup is the group that the gateway itself is in, beside the groups of homes: controllers are given only to groups
	// below one without processes (cgroups(7), "no internal processes").
	LeafGroup = "gatewaytui.main"
	// HomeGroup begins the name of the group of a home.
	HomeGroup = "gatewaytui-"
)

// Rejoin undoes at base what a gateway did to limit the groups of its trees: it takes the controllers back, moves the caller
// from the leaf group to base and removes that. It does nothing while another home has a group there, or another process is
// in the leaf group.
func Rejoin(base, controllers string) {
	names, err := list(base)
	if err != nil {
		return
	}
	for _, name := range names {
		if strings.HasPrefix(name, HomeGroup) {
			return
		}
	}
	leaf := base + "/" + LeafGroup
	members, err := Members(leaf)
	if err != nil || len(members) != 1 || members[0] != syscall.Getpid() {
		return
	}
	if WriteGroup(base, "cgroup.subtree_control", controllers) != nil {
		return
	}
	if WriteGroup(base, "cgroup.procs", "0") == nil {
		_ = syscall.Rmdir(leaf) // somebody was put there meanwhile: it is theirs
	}
}

// Populated reports whether a live process is in the group at dir or below it; a zombie is none. A group that is not
// there is empty.
func Populated(dir string) (bool, error) {
	var buf [256]byte
	b, err := readFile(dir+"/cgroup.events", buf[:])
	if gone(err) {
		return false, nil
	}
	return err == nil && bytes.Contains(b, []byte("populated 1")), err
}

// Members lists the processes in the group at dir and below it.
func Members(dir string) ([]int, error) {
	var pids []int
	err := walk(dir, func(group string) error {
		buf := make([]byte, 4<<10)
		for {
			b, err := readFile(group+"/cgroup.procs", buf)
			if gone(err) || errors.Is(err, syscall.EOPNOTSUPP) { // a threaded group: its processes are listed above it
				return nil
			}
			if err != nil {
				return err
			}
			if len(b) == len(buf) { // it may go on
				buf = make([]byte, 2*len(buf))
				continue
			}
			for _, line := range bytes.Fields(b) {
				if pid, err := strconv.Atoi(string(line)); err == nil && pid > 0 {
					pids = append(pids, pid)
				}
			}
			return nil
		}
	})
	return pids, err
}

// RemoveGroup removes the group at dir and those below it. One that has processes stays, with an error.
func RemoveGroup(dir string) error {
	if err := syscall.Rmdir(dir); err == nil || gone(err) {
		return nil
	}
	return walk(dir, func(group string) error {
		if err := syscall.Rmdir(group); err != nil && !gone(err) {
			return err
		}
		return nil
	})
}

// walk calls f for the groups below dir and then for dir itself. All of them are tried; the last error counts.
func walk(dir string, f func(dir string) error) error {
	names, err := list(dir)
	if gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		var st syscall.Stat_t
		if syscall.Lstat(dir+"/"+name, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFDIR {
			if werr := walk(dir+"/"+name, f); werr != nil {
				err = werr
			}
		}
	}
	if ferr := f(dir); ferr != nil {
		err = ferr
	}
	return err
}

// gone says that a group is not there: it was removed, or is while it is read.
func gone(err error) bool {
	return errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENODEV)
}
