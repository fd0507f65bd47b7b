package process

import (
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// openTarget pins p. It returns false if p is gone.
func openTarget(p proc) (*target, bool, error) {
	fd, err := unix.PidfdOpen(p.PID, 0)
	switch {
	case err == nil:
	case errors.Is(err, unix.ESRCH):
		return nil, false, nil
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return &target{proc: p, fd: -1}, true, err
	default: // a kernel before 5.3, or a filter without pidfds
		return &target{proc: p, fd: -1}, true, nil
	}
	now, err := statOf(p.PID)
	if err != nil || now.Start != p.Start {
		closeFD(fd)
		return nil, false, nil
	}
	return &target{proc: p, fd: fd}, true, nil
}

// sendSignal signals t, or the group that it leads. It is not an error if the process is gone.
func sendSignal(t *target, sig unix.Signal, group bool) error {
	if t.fd < 0 {
		if group {
			return errNoGroup
		}
		// This check is as close to the signal as possible without a pidfd. Between these two lines the pid would have to
		// be freed and reused.
		if now, err := statOf(t.PID); err != nil || now.Start != t.Start {
			return nil
		}
		return wrapSignal(t, unix.Kill(t.PID, sig))
	}
	if !group {
		return wrapSignal(t, unix.PidfdSendSignal(t.fd, sig, nil, 0))
	}
	err := unix.PidfdSendSignal(t.fd, sig, nil, unix.PIDFD_SIGNAL_PROCESS_GROUP) // Linux 6.9
	if errors.Is(err, unix.EINVAL) {
		return errNoGroup
	}
	return wrapSignal(t, err)
}

func wrapSignal(t *target, err error) error {
	if err == nil || errors.Is(err, unix.ESRCH) {
		return nil
	}
	var st unix.Stat_t
	if errors.Is(err, unix.EPERM) && unix.Stat("/proc/"+strconv.Itoa(t.PID), &st) == nil {
		return fmt.Errorf("it runs as uid %d: %w", st.Uid, err)
	}
	return err
}

// living are those of the targets that have not ended. A zombie has ended.
func living(targets []*target) (left []*target) {
	fds := make([]unix.PollFd, len(targets))
	for i, t := range targets {
		fds[i] = unix.PollFd{Fd: int32(t.fd), Events: unix.POLLIN} // below zero: skipped
	}
	_, err := unix.Poll(fds, 0)
	for i, t := range targets {
		ended := fds[i].Revents != 0 // readable: it ended (pidfd_open(2))
		if t.fd < 0 || err != nil {
			now, err := statOf(t.PID)
			ended = err != nil || now.Start != t.Start || !now.Alive()
		}
		if !ended {
			left = append(left, t)
		}
	}
	return left
}
