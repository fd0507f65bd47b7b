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

// WriteGroup writes text into a file of the group at dir, which must exist. The kernel accepts all of it or refuses it.
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
	// LeafGroup is the group of the gateway itself, next to the groups of homes. A group gives controllers to its child
	// groups only if it has no processes (cgroups(7), "no internal processes").
	LeafGroup = "gatewaytui.main"
	// HomeGroup begins the name of the group of a home.
	HomeGroup = "gatewaytui-"
)

// Rejoin undoes at base what a gateway did to limit the groups of its trees. It disables the controllers, moves the
// caller from the leaf group to base and removes the leaf group. It does nothing while another home has a group there, or
// another process is in the leaf group.
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
		_ = syscall.Rmdir(leaf) // fails if another process was put there meanwhile, which then owns it
	}
}

// Populated reports whether a live process is in the group at dir or below it; zombies do not count. A group that does
// not exist is empty.
func Populated(dir string) (bool, error) {
	var buf [256]byte
	b, err := ReadFile(dir+"/cgroup.events", buf[:])
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
			b, err := ReadFile(group+"/cgroup.procs", buf)
			if gone(err) || errors.Is(err, syscall.EOPNOTSUPP) { // a threaded group: its processes are listed above it
				return nil
			}
			if err != nil {
				return err
			}
			if len(b) == len(buf) { // there may be more
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

// RemoveGroup removes the group at dir and those below it. A group with processes stays, with an error.
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

// walk calls f for the groups below dir and then for dir itself. It tries all of them; the last error counts.
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

// gone means that a group does not exist: it was removed before or during the read.
func gone(err error) bool {
	return errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENODEV)
}
