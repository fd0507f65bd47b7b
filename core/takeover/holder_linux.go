package takeover

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"gatewaytui/core/instance"
)

// holds reports whether the process of the record has the lock file of this home open, or the home itself, which it locks
// as well: a pid file that was copied from another home, or made up, names one that has not. It is true where nothing of
// that process can be seen from here: then no signal is sent either.
func (t *takeover) holds() bool {
	if _, known := instance.Alive(t.holder); !known {
		return true
	}
	fds := fmt.Sprintf("/proc/%d/fd", t.holder.PID)
	entries, err := os.ReadDir(fds)
	if errors.Is(err, fs.ErrPermission) { // it hides them, as every gateway does (process.Protect)
		f, err := os.Open("/proc/locks")
		if err != nil {
			return false
		}
		defer f.Close()
		return instance.LocksOneOf(f, t.holder.PID, t.Home.Lock(), t.Home.Dir())
	}
	if err != nil {
		return false
	}
	lock, _ := os.Stat(t.Home.Lock()) // nil is the same as nothing
	home, _ := os.Stat(t.Home.Dir())
	for _, e := range entries {
		if f, err := os.Stat(filepath.Join(fds, e.Name())); err == nil && (os.SameFile(f, lock) || os.SameFile(f, home)) {
			return true
		}
	}
	return false
}

// signal sends sig to the holder itself, or to no process: its identity is read again when the process is held by a pidfd, so
// that a pid that was given again meanwhile is spared (pidfd_open(2)). SIGCONT goes behind what a stopped process would
// leave unseen (systemd.kill(5) does the same).
func (t *takeover) signal(sig syscall.Signal) error {
	fd, err := unix.PidfdOpen(t.holder.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil // it is gone: the lock will tell
	}
	if err != nil {
		return fmt.Errorf("hold pid %d: %w", t.holder.PID, err)
	}
	defer unix.Close(fd)
	if alive, known := instance.Alive(t.holder); !known || !alive {
		return nil
	}
	for _, one := range []syscall.Signal{sig, syscall.SIGCONT} {
		if err := unix.PidfdSendSignal(fd, one, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("signal pid %d: %w", t.holder.PID, err)
		}
	}
	return nil
}

// InvocationOf reads how the gateway pid was started (proc(5)). The error is fs.ErrPermission where only root can.
func InvocationOf(pid int, home string) (Invocation, error) {
	var err error
	proc := fmt.Sprintf("/proc/%d/", pid)
	read := func(name string) (list []string) {
		text, readErr := os.ReadFile(proc + name)
		if readErr != nil {
			err = fmt.Errorf("read how pid %d was started: %w", pid, readErr)
		}
		for part := range bytes.SplitSeq(bytes.TrimSuffix(text, []byte{0}), []byte{0}) {
			list = append(list, string(part))
		}
		return list
	}
	s := Invocation{argv: read("cmdline"), env: read("environ"), pid: pid}
	if err != nil {
		return Invocation{}, err
	}
	if s.dir, err = os.Readlink(proc + "cwd"); err != nil {
		s.dir = "/"
	}
	return s.again(home)
}
