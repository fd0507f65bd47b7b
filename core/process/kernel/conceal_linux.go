package kernel

import "syscall"

// Conceal keeps other processes of the same user from reading this one's memory, environment and descriptors below /proc,
// and from tracing it: the process is no longer dumpable (PR_SET_DUMPABLE, prctl(2); HF2). Root, with CAP_SYS_PTRACE,
// still can. The kernel writes no core dump of the process from then on.
//
// The process's view of itself changes as well, unless it runs as root. The files below /proc/self belong to root, so
// /proc/self/environ cannot be opened, and files such as oom_score_adj cannot be written. The same holds for a child
// between fork and exec. Exec makes the child dumpable again and gives it its files below /proc. The id maps of a user
// namespace can be written only after that exec.
func Conceal() error {
	const setDumpable = 4 // PR_SET_DUMPABLE
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setDumpable, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
