package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"

	"gatewaytui/core/process/kernel"
)

// clockTicks is a unit for CPU time, which macOS does not give.
const clockTicks = 100

func readSelf() (s self, err error) {
	if s.proc, err = statOf(os.Getpid()); err != nil {
		return s, fmt.Errorf("read our own process: %w", err)
	}
	if s.bootID, err = kernel.BootID(); err != nil {
		return s, fmt.Errorf("read boot id: %w", err)
	}
	return s, nil
}

// childrenOfSelf fails: our children do not include our orphans here, so only a scan tells whether a tree has ended.
func childrenOfSelf() ([]int, error) { return nil, errors.ErrUnsupported }

// childless is false: that we have no child does not mean that nothing of this life is left.
func childless() bool { return false }

// nextZombie returns the pid of a child that has ended, without collecting it, or 0.
func nextZombie() int {
	const all, flags = 0, 0x01 | 0x04 | 0x20 // P_ALL; WNOHANG, WEXITED, WNOWAIT of sys/wait.h
	var info [26]uint32                      // siginfo_t: the pid is its fourth number
	_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, all, 0, uintptr(unsafe.Pointer(&info)), flags, 0, 0)
	if errno != 0 {
		return 0
	}
	return int(info[3])
}

// oomKills is 0: macOS does not count the processes that it ends for lack of memory.
func oomKills() uint64 { return 0 }

// ticksNow is the time in the unit of a process's start.
func ticksNow() uint64 { return uint64(time.Now().UnixMicro()) }

// startedAt converts the start of a process to a time.
func startedAt(start uint64) time.Time { return time.UnixMicro(int64(start)) }

// pipesOf and keptOutput find nothing: macOS shows the descriptors of a process to no other one.
func pipesOf(int) []uint64    { return nil }
func keptOutput(int) *os.File { return nil }
