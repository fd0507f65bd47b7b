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

// outsideMost is how many processes from outside that held a socket are remembered. A client that connects again and again is
// found among them without a search.
const outsideMost = 16

// searchesMost is how many searches for the holder of a socket run at a time.
const searchesMost = 2

// SocketOwner reports whether a tracked process holds the socket with this inode, and whose that process is. uid is the
// socket's. group is the id of the control group that the socket was made in, 0 if it is not known: one of a tree of ours decides
// at once, even if the socket was passed on to a process from outside. Otherwise a process that holds the socket is searched
// for, newest process first, and Caller says what it is. While nothing is tracked nothing is read.
//
// A socket that no process can be seen to hold is not from outside. If a tracked process has made its descriptors unreadable
// (PR_SET_DUMPABLE, prctl(2)), the socket counts as that one's. Else its holder may be passing it on, and the error says that it
// cannot be told. For a uid whose processes we may not look into, which is any other one unless we are root, it is enough that
// every tracked process can be seen not to hold the socket.
//
// A search costs some microseconds for each process that it looks at, and ends with ctx. At most searchesMost run at a time:
// more would only take the processor from each other.
func (r *Registry) SocketOwner(ctx context.Context, uid int, inode, group uint64) (owner Owner, tracked bool, err error) {
	if !r.tracks() {
		return Owner{}, false, nil
	}
	if owner, known := r.ownerOfGroupID(group); known {
		return owner, true, nil
	}
	select {
	case r.searches <- struct{}{}:
		defer func() { <-r.searches }()
	case <-ctx.Done():
		return Owner{}, false, fmt.Errorf("tell who holds socket %d: wait for the searches before: %w", inode, context.Cause(ctx))
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
			err = errors.New("no process is seen to hold it")
		}
		return Owner{}, false, fmt.Errorf("tell who holds socket %d: %w", inode, err)
	}
	if err == nil {
		owner, tracked, err = r.Caller(pid)
	}
	if err != nil {
		return Owner{}, false, fmt.Errorf("tell who holds socket %d: %w", inode, err)
	}
	if !tracked {
		r.rememberOutside(pid)
	}
	return owner, tracked, nil
}

// errUnread is of processes that do not let us look.
var errUnread = errors.New("the descriptors cannot be read")

// tracks reports whether anything is tracked, or is being started.
func (r *Registry) tracks() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.trees)+len(r.forking)+len(r.silent) > 0
}

// ownerOfGroupID is the owner of the tree whose control group has this id, which is the inode of its directory.
func (r *Registry) ownerOfGroupID(id uint64) (Owner, bool) {
	if id == 0 || r.groups == nil {
		return Owner{}, false
	}
	r.mu.Lock()
	dirs := make(map[string]*tree, len(r.trees))
	for _, t := range r.trees {
		if t.dir != "" {
			dirs[t.dir] = t
		}
	}
	r.mu.Unlock()
	for dir, t := range dirs {
		var st unix.Stat_t
		if unix.Stat(dir, &st) == nil && st.Ino == id {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.owner(t), true
		}
	}
	return Owner{}, false
}

// holder is a process that holds the socket, 0 if none is seen to. Those that held one before come first, then the newest: who
// connects has often just been started.
func (r *Registry) holder(ctx context.Context, inode uint64) (int, error) {
	name := socketName(inode)
	r.mu.Lock()
	before := slices.Clone(r.outside)
	r.mu.Unlock()
	for _, i := range before {
		if p, err := statOf(i.pid); err != nil || p.ident != i {
			continue
		}
		if held, err := holds(i.pid, name); held && err == nil {
			return i.pid, nil
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
		if pid == r.self.pid {
			continue
		}
		if held, err := holds(pid, name); held && err == nil {
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
		held, err := holds(p.pid, name)
		switch {
		case held && t != nil:
			r.mu.Lock()
			owner = r.owner(t)
			r.mu.Unlock()
		case err != nil:
			unread++
		}
		return held
	}
	for _, p := range v.loose {
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
		return Owner{}, false, fmt.Errorf("tell who holds socket %d: %w of %d tracked processes", inode, errUnread, unread)
	}
	return Owner{}, false, nil
}

// rememberOutside notes a process that holder looks at first.
func (r *Registry) rememberOutside(pid int) {
	p, err := statOf(pid)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.outside, p.ident) {
		return
	}
	if len(r.outside) == outsideMost {
		r.outside = slices.Delete(r.outside, 0, 1)
	}
	r.outside = append(r.outside, p.ident)
}

// newestFirst sorts pids by when they were given out, which is in a circle: the newest number is the last field of
// /proc/loadavg (proc_loadavg(5)).
func newestFirst(pids []int) {
	newest := 1 << 22 // the largest there is: what cannot be read is taken for a circle that has not closed
	b := readUpTo("/proc/loadavg", make([]byte, 128))
	if fields := strings.Fields(string(b)); len(fields) == 5 {
		if n, err := strconv.Atoi(fields[4]); err == nil {
			newest = n
		}
	}
	slices.SortFunc(pids, func(a, b int) int {
		if (a <= newest) != (b <= newest) {
			if a <= newest {
				return -1
			}
			return 1
		}
		return b - a
	})
}

// socketName is what a descriptor of a socket links to (proc_pid_fd(5)).
func socketName(inode uint64) string { return "socket:[" + strconv.FormatUint(inode, 10) + "]" }

// holds reports whether one of pid's descriptors links to name. A process that has ended holds nothing. The error is of one
// that does not let us look.
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
