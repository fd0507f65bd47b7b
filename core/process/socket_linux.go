package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"gatewaytui/core/process/kernel"
)

// outsideMost is how many outside processes that held a socket are remembered. A client that connects repeatedly is found
// among them without a search.
const outsideMost = 16

// searchesMost is how many searches for the holder of a socket run concurrently.
const searchesMost = 2

// SocketOwner reports whether a tracked process holds the socket with this inode, and who owns that process. uid is the
// socket's. group is the id of the control group that the socket was made in, 0 if it is not known. The group of one of
// our trees decides at once, even if the socket was passed to a process from outside. Otherwise it searches for a process
// that holds the socket, newest first, and Caller classifies that process. While nothing is tracked, it reads nothing.
//
// A socket without a visible holder does not count as one from outside. If a tracked process has made its descriptors
// unreadable (PR_SET_DUMPABLE, prctl(2)), the socket counts as that process's. Otherwise its holder may be passing it on,
// and the error says that the owner is unknown. For a uid whose processes we may not read (any other uid, unless we are
// root) it is enough that no tracked process holds the socket.
//
// A search costs some microseconds for each process, and ends with ctx. At most searchesMost run concurrently, because
// more would only compete for the processor.
func (r *Registry) SocketOwner(ctx context.Context, uid int, inode, group uint64) (owner Owner, tracked bool, err error) {
	if !r.tracks() {
		return Owner{}, false, nil
	}
	if t := r.treeOfGroupID(group); t != nil {
		return t.owner(), true, nil
	}
	select {
	case r.searches <- struct{}{}:
		defer func() { <-r.searches }()
	case <-ctx.Done():
		return Owner{}, false, fmt.Errorf("find the holder of socket %d: wait for earlier searches: %w", inode, context.Cause(ctx))
	}
	pid, err := r.holder(ctx, inode)
	if err == nil && pid == 0 {
		owner, tracked, err := r.trackedHolder(ctx, inode)
		us := os.Geteuid()
		switch {
		case tracked || us != 0 && uid != us:
			return owner, tracked, err
		case errors.Is(err, errUnread):
			return Owner{}, true, nil
		case err == nil:
			err = errors.New("no visible process holds it")
		}
		return Owner{}, false, fmt.Errorf("find the holder of socket %d: %w", inode, err)
	}
	if err == nil {
		owner, tracked, err = r.Caller(pid)
	}
	if err != nil {
		return Owner{}, false, fmt.Errorf("find the holder of socket %d: %w", inode, err)
	}
	if !tracked {
		r.rememberOutside(pid)
	}
	return owner, tracked, nil
}

// errUnread means that the descriptors of a process are not readable.
var errUnread = errors.New("the descriptors cannot be read")

// tracks reports whether anything is tracked or being started.
func (r *Registry) tracks() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.trees)+len(r.pending)+len(r.silent) > 0
}

// treeOfGroupID is the tree whose control group has this id, which is the inode of its directory; nil: none has.
func (r *Registry) treeOfGroupID(id uint64) *tree {
	if id == 0 || r.groups == nil {
		return nil
	}
	for _, t := range r.all() {
		var st unix.Stat_t
		if t.dir != "" && unix.Stat(t.dir, &st) == nil && st.Ino == id {
			return t
		}
	}
	return nil
}

// holder is a process that holds the socket; 0: none is visible. Earlier holders come first, then the newest processes,
// because a process that connects has often just been started.
func (r *Registry) holder(ctx context.Context, inode uint64) (int, error) {
	name := socketName(inode)
	r.mu.Lock()
	before := slices.Clone(r.outside)
	r.mu.Unlock()
	for _, i := range before {
		if p, err := statOf(i.PID); err == nil && p.Ident == i {
			if held, _ := holds(i.PID, name); held {
				return i.PID, nil
			}
		}
	}
	pids, err := kernel.PIDs()
	if err != nil {
		return 0, err
	}
	newestFirst(pids)
	for _, pid := range pids {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if held, _ := holds(pid, name); held && pid != r.self.PID {
			return pid, nil
		}
	}
	return 0, nil
}

// trackedHolder looks for the socket among the tracked processes alone.
func (r *Registry) trackedHolder(ctx context.Context, inode uint64) (owner Owner, tracked bool, err error) {
	until := time.Now().Add(sweepEvery)
	if at, ok := ctx.Deadline(); ok {
		until = at
	}
	v := r.observe(ctx, until, false)
	if v.err != nil {
		return Owner{}, false, v.err
	}
	name := socketName(inode)
	unread := 0
	look := func(p proc, t *tree) bool {
		held, err := holds(p.PID, name)
		switch {
		case held:
			owner = t.owner()
		case err != nil:
			unread++
		}
		return held
	}
	for _, p := range v.unattributed {
		if look(p, nil) {
			return owner, true, nil
		}
	}
	for t, members := range v.owned {
		for _, p := range members {
			if look(p, t) {
				return owner, true, nil
			}
		}
	}
	if unread > 0 {
		return Owner{}, false, fmt.Errorf("find the holder of socket %d: %w of %d tracked processes", inode, errUnread, unread)
	}
	return Owner{}, false, nil
}

// rememberOutside records a process that holder checks first.
func (r *Registry) rememberOutside(pid int) {
	p, err := statOf(pid)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.outside, p.Ident) {
		return
	}
	if len(r.outside) == outsideMost {
		r.outside = slices.Delete(r.outside, 0, 1)
	}
	r.outside = append(r.outside, p.Ident)
}

// newestFirst sorts pids from newest to oldest. Pids are assigned in a circle; the newest is the last field of
// /proc/loadavg (proc_loadavg(5)).
func newestFirst(pids []int) {
	newest := 1 << 22 // the largest possible (proc_sys_kernel(5)): if it cannot be read, assume that pids have not wrapped around
	b, _ := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(b)); len(fields) == 5 {
		if n, err := strconv.Atoi(fields[4]); err == nil {
			newest = n
		}
	}
	age := func(pid int) int { return (newest - pid) & (1<<30 - 1) } // a difference below zero is beyond every other
	slices.SortFunc(pids, func(a, b int) int { return age(a) - age(b) })
}

// socketName is what a descriptor of a socket links to (proc_pid_fd(5)).
func socketName(inode uint64) string { return "socket:[" + strconv.FormatUint(inode, 10) + "]" }

// holds reports whether one of pid's descriptors links to name. A process that has ended holds nothing. The error means
// that the descriptors are not readable.
func holds(pid int, name string) (bool, error) {
	dir, err := os.Open("/proc/" + strconv.Itoa(pid) + "/fd")
	if err == nil {
		defer dir.Close()
		var fds []string
		if fds, err = dir.Readdirnames(-1); err == nil {
			var to [64]byte
			for _, fd := range fds {
				if n, err := unix.Readlinkat(int(dir.Fd()), fd, to[:]); err == nil && string(to[:n]) == name {
					return true, nil
				}
			}
			return false, nil
		}
	}
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
		return false, nil
	}
	return false, err
}
