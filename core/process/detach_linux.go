package process

import (
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"gatewaytui/core/process/kernel"
)

// Detach starts a program that no process waits for, such as the next life of a gateway. It gets its own session,
// /dev/null for its three streams and none of our other descriptors. It is not tracked, and outlives us. It bears no mark
// of a life, and is put into the control group of the process neighbour. The caller may run inside a tool of a gateway,
// and the end of that gateway ends everything with its marks (B7).
func Detach(argv, env []string, dir string, neighbour int) (pid int, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", argv[0], err)
	}
	defer null.Close()
	if err := kernel.SetTag(0); err != nil {
		return 0, fmt.Errorf("start %s without a mark: %w", argv[0], err)
	}
	sys := &syscall.SysProcAttr{Setsid: true}
	if fd, err := groupOfNeighbour(neighbour); err == nil {
		defer unix.Close(fd)
		sys.UseCgroupFD, sys.CgroupFD = true, fd
	}
	attr := &os.ProcAttr{Dir: dir, Env: unmarked(env), Files: []*os.File{null, null, null}, Sys: sys}
	p, err := os.StartProcess(argv[0], argv, attr)
	if err != nil && sys.UseCgroupFD { // start it also if the group refuses it
		sys.UseCgroupFD = false
		p, err = os.StartProcess(argv[0], argv, attr)
	}
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", argv[0], err)
	}
	pid = p.Pid
	return pid, p.Release()
}

// groupOfNeighbour opens the control group that pid is in.
func groupOfNeighbour(pid int) (fd int, err error) {
	dir, _, err := groupDir(strconv.Itoa(pid))
	if err != nil {
		return -1, err
	}
	return unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}
