package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openBoth opens the pipe that is written to at w for reading as well. Such a pipe never breaks. What is written while no
// gateway runs waits for the next life (fifo(7), pipe(7)).
func openBoth(w *os.File) (*os.File, error) {
	return os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", w.Fd()), os.O_RDWR, 0)
}

// socketPair makes a pair of stream sockets that no other child inherits.
func socketPair() (pair [2]int, err error) {
	return unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
}

// ownProgram is the program that runs, even if the file at its path was replaced.
func ownProgram() (string, error) { return "/proc/self/exe", nil }

// inputWaits is the request for the number of bytes that can be read from a pipe or terminal (ioctl_tty(2)).
const inputWaits = unix.TIOCINQ

// start runs the program of req in its own session, and sets the pid and the pidfd of child. The child is constrained
// before its first instruction, if the kernel lets us hold it until then.
func (r *Registry) start(req *spawnRequest, attr *syscall.ProcAttr, cgroup int, child *forkedChild) (err error) {
	death := syscall.SIGKILL
	if req.spec.Policy == PolicyKept {
		death = 0
	}
	attr.Sys = &syscall.SysProcAttr{
		Setsid: true, Setctty: req.spec.PTY, Pdeathsig: death, PidFD: &child.pidfd,
		UseCgroupFD: cgroup >= 0, CgroupFD: max(cgroup, 0),
		Ptrace: !r.untraceable && !privileged(req.path),
	}
	child.PID, err = syscall.ForkExec(req.path, req.spec.Argv, attr)
	if attr.Sys.Ptrace && (errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES)) {
		// System calls are filtered, a policy forbids it (SELinux, Yama), or we are traced. The child that failed has run
		// nothing.
		attr.Sys.Ptrace = false
		if child.PID, err = syscall.ForkExec(req.path, req.spec.Argv, attr); err == nil {
			r.untraceable = true
		}
	}
	if err != nil {
		child.pidfd = -1
		return err
	}
	held := attr.Sys.Ptrace && stopped(child.PID)
	r.constrain(child.PID, held)
	r.joinShare(req, child.PID, held)
	if held {
		_ = unix.PtraceDetach(child.PID) // fails only if it was killed
	}
	return nil
}
