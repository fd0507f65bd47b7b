package process

import (
	"errors"
	"fmt"
	"math"

	"golang.org/x/sys/unix"

	"gatewaytui/core/process/kernel"
)

// Protect keeps the program's secrets and descriptors from the processes that it starts, although they run as the same
// user. A program calls it first, before it reads a secret or starts a process; until then every process of its user can
// read its environment. Another call does no harm.
//
//   - No process of the same user reads its memory or environment, or traces it: see kernel.Conceal (HF2).
//   - No descriptor that the program was started with reaches a child: each but the three standard streams is marked to be
//     closed by exec (close_range(2), HF32). The program itself can go on using them.
//
// A process that may write files or send signals as the same user can still harm the program: only another uid prevents
// that.
func Protect() error {
	var errs []error
	if err := kernel.Conceal(); err != nil {
		errs = append(errs, fmt.Errorf("keep other processes from reading this one (PR_SET_DUMPABLE): %w", err))
	}
	if err := closeOnExec(3); err != nil {
		errs = append(errs, fmt.Errorf("keep inherited descriptors from children: %w", err))
	}
	return errors.Join(errs...)
}

// closeOnExec marks every open descriptor from first on to be closed by exec. A kernel before 5.11 lacks the call, and a
// system call filter may refuse it. Then each open descriptor is marked separately.
func closeOnExec(first int) error {
	if unix.CloseRange(uint(first), math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return nil
	}
	return closeEachOnExec("/proc/self/fd", first)
}
