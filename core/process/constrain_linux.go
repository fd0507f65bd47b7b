package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"gatewaytui/core/process/kernel"
)

// The gateway needs a thread now and then. Where clone(2) returns EAGAIN, the Go runtime ends the program (HF3). The
// limit counts every process and thread of the user, those of tools included, but is compared with the limit of the
// process that forks. So a tool gets a lower one. It does not bind root, or a process with CAP_SYS_RESOURCE or
// CAP_SYS_ADMIN (getrlimit(2)). pids.max of control groups does bind those, where the machine grants it
// (divide_linux.go).
const (
	// processReserve is how many processes and threads tools leave to the gateway. Of a limit below four times that, they
	// leave a quarter.
	processReserve = 64
	// Where the gateway has no limit, tools leave one part in tableShare of the machine's process table.
	tableShare = 8
)

// toolScore is the oom_score_adj of what tools start (proc_pid_oom_score_adj(5)), out of 1,000. With it the kernel ends a
// small tool before the gateway, which is the largest process of many a memory group (HF4). Raising the score needs no
// privilege. The guardian keeps our score.
const toolScore = 500

// below is limit less the reserve.
func below(limit uint64) uint64 { return limit - min(processReserve, limit/4) }

// childProcessLimit is RLIMIT_NPROC of a child; 0: none.
func childProcessLimit() uint64 {
	if own, limited := kernel.ProcessLimit(); limited {
		return below(own)
	}
	table := machineProcesses()
	return table - table/tableShare
}

// machineProcesses is how many processes and threads this machine can have; 0: unknown (proc_sys_kernel(5)).
func machineProcesses() uint64 {
	most := uint64(0)
	for _, name := range []string{"pid_max", "threads-max"} {
		if n := numberIn("/proc/sys/kernel/" + name); n > 0 && (most == 0 || n < most) {
			most = n
		}
	}
	return most
}

// constrain bounds what a child may take from the program. Go has no hook between fork and exec. Our own limits must not
// be lowered, not even for a moment, because another thread of the program may start then. So the child stops at its exec, by
// being traced (PTRACE_TRACEME, ptrace(2)), and continues when it is bounded. A child that is not held runs already: what
// it started in the microseconds since gets the same bounds, and the next scan finds the rest (shedding). A child that is
// gone, or belongs to another user by a set-user-ID program, is left alone.
func (r *Registry) constrain(pid int, held bool) {
	r.constrainOne(pid)
	if held {
		return // it has started nothing
	}
	children, _ := childrenOf(fmt.Sprintf("/proc/%d/task/%d", pid, pid)) // it may have ended
	for _, child := range children {
		r.constrainOne(child)
	}
}

// stopped waits until the traced child pid stops at its exec, and reports false if it ended instead. The reaper collects
// its status.
func stopped(pid int) bool {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		const trapped = 4 // CLD_TRAPPED (sigaction(2))
		return err == nil && info.Code == trapped
	}
}

// privileged reports whether a program changes its rights when it is started, which does not happen while it is traced
// (execve(2)).
func privileged(path string) bool {
	var st unix.Stat_t
	if unix.Stat(path, &st) == nil && st.Mode&(unix.S_ISUID|unix.S_ISGID) != 0 {
		return true
	}
	_, err := unix.Getxattr(path, "security.capability", nil)
	return err == nil
}

func (r *Registry) constrainOne(pid int) {
	if r.processLimit > 0 {
		_ = kernel.BoundProcesses(pid, r.processLimit)
	}
	raiseScore(pid)
}

// raiseScore makes pid more likely than the program to be ended when memory runs out.
func raiseScore(pid int) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer closeFD(fd)
	var buf [16]byte
	n, err := unix.Read(fd, buf[:])
	if err != nil || n <= 0 {
		return
	}
	if now, err := strconv.Atoi(string(bytes.TrimSpace(buf[:n]))); err == nil && now < toolScore {
		_, _ = unix.Pwrite(fd, []byte(strconv.Itoa(toolScore)), 0)
	}
}

// explainFork names the limit that prevented a start: EAGAIN of clone(2).
func explainFork(err error) error {
	if !errors.Is(err, unix.EAGAIN) {
		return err
	}
	what := "(pids.max of the control group, TasksMax= of the service, or kernel.threads-max)"
	if limit, limited := kernel.ProcessLimit(); limited && os.Geteuid() != 0 {
		what = fmt.Sprintf("(%d for this user; ulimit -u, LimitNPROC=)", limit)
	}
	return fmt.Errorf("the limit on processes is reached %s; end processes that are not needed: %w", what, err)
}
