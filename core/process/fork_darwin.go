package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"gatewaytui/core/process/kernel"
)

// start runs the program of req in its own session, and sets the pid of child.
func (r *Registry) start(req *spawnRequest, attr *syscall.ProcAttr, _ int, child *forkedChild) (err error) {
	attr.Sys = &syscall.SysProcAttr{Setsid: true, Setctty: req.spec.PTY}
	child.PID, err = syscall.ForkExec(req.path, req.spec.Argv, attr)
	return err
}

func explainFork(err error) error { return err }

// childProcessLimit is 0: only a process itself can lower its limit here.
func childProcessLimit() uint64 { return 0 }

// socketPair makes a pair of stream sockets that no other child inherits.
func socketPair() (pair [2]int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if pair, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0); err != nil {
		return pair, err
	}
	unix.CloseOnExec(pair[0])
	unix.CloseOnExec(pair[1])
	return pair, nil
}

// openBoth fails: without tags no later life could tell whose the process is.
func openBoth(*os.File) (*os.File, error) {
	return nil, errors.New("macOS has nothing by which the next life finds a process that was kept; set process.survivors to end")
}

// ownProgram is the path of the program that runs.
func ownProgram() (string, error) { return os.Executable() }

// inputWaits is FIONREAD of sys/filio.h.
const inputWaits = 0x4004667f

// openTarget does not pin p: macOS has no pidfds.
func openTarget(p proc) (*target, bool, error) { return &target{proc: p, fd: -1}, true, nil }

// sendSignal signals t, or the group that it leads. It is not an error if the process is gone. Between the two lines the
// pid would have to be freed and given out again.
func sendSignal(t *target, sig unix.Signal, group bool) error {
	if now, err := statOf(t.PID); err != nil || now.Start != t.Start {
		return nil
	}
	to := t.PID
	if group {
		to = -to
	}
	if err := unix.Kill(to, sig); !errors.Is(err, unix.ESRCH) {
		return err
	}
	return nil
}

// living are those of the targets that have not ended. A zombie has ended.
func living(targets []*target) (left []*target) {
	for _, t := range targets {
		if now, err := statOf(t.PID); err == nil && now.Ident == t.Ident && now.Alive() {
			left = append(left, t)
		}
	}
	return left
}

// Detach starts a program that no process waits for, such as the next life of a gateway. It gets its own session,
// /dev/null for its three streams and none of our other descriptors. It is not tracked, and outlives us.
func Detach(argv, env []string, dir string, _ int) (pid int, err error) {
	cmd := exec.Command(argv[0])
	cmd.Args, cmd.Env, cmd.Dir, cmd.SysProcAttr = argv, unmarked(env), dir, &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start %s: %w", argv[0], err)
	}
	pid = cmd.Process.Pid
	return pid, cmd.Process.Release()
}

// Protect keeps inherited descriptors from children. Other processes of the user can read our environment, and the error
// says so.
func Protect() error {
	return errors.Join(kernel.Conceal(), closeEachOnExec("/dev/fd", 3))
}
