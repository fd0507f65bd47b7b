package landlock

import (
	"runtime"
	"syscall"
	"unsafe"
)

// Instructions of the classic packet filter (linux/filter.h) and answers of seccomp(2).
const (
	bpfLoad    = 0x20 // load 32 bits of struct seccomp_data
	bpfEqual   = 0x15
	bpfAtLeast = 0x35
	bpfReturn  = 0x06

	atNumber = 0
	atArch   = 4
	atFirst  = 16 // the low half of the first argument, little endian

	answerAllow = 0x7fff0000
	answerErrno = 0x00050000

	sysIOUringSetup = 425
	firstX32        = 0x40000000

	prSetSeccomp      = 22
	seccompModeFilter = 2
)

// archs are the values of AUDIT_ARCH_… (linux/audit.h) by Go's name of the architecture. Both are little endian.
var archs = map[string]uint32{"amd64": 0xc000003e, "arm64": 0xc00000b7}

// Filters reports whether sockets are filtered on this architecture. Landlock itself says nothing on UDP and on unix sockets
// that have a path.
func Filters() bool { return archs[runtime.GOARCH] != 0 }

// instruction is struct sock_filter.
type instruction struct {
	code   uint16
	jt, jf uint8
	k      uint32
}

// filterCalls lets the thread make no unix socket and, without network, none but a pair. It may not change the limits of
// another process either, with which it could end the gateway although it may not signal it (RLIMIT_CPU, prlimit(2)). Calls of another
// architecture and io_uring, which could go around the filter, do not exist for it.
func filterCalls(network bool) error {
	refused := uint32(answerErrno | uint32(syscall.EACCES))
	missing := uint32(answerErrno | uint32(syscall.ENOSYS))
	program := []instruction{
		{bpfLoad, 0, 0, atArch},
		{bpfEqual, 1, 0, archs[runtime.GOARCH]},
		{bpfReturn, 0, 0, missing},
		{bpfLoad, 0, 0, atNumber},
		{bpfAtLeast, 0, 1, firstX32},
		{bpfReturn, 0, 0, missing},
		{bpfEqual, 0, 1, sysIOUringSetup},
		{bpfReturn, 0, 0, missing},
		{bpfEqual, 0, 4, syscall.SYS_PRLIMIT64},
		{bpfLoad, 0, 0, atFirst},
		{bpfEqual, 0, 1, 0}, // the process itself
		{bpfReturn, 0, 0, answerAllow},
		{bpfReturn, 0, 0, refused},
		{bpfEqual, 1, 0, syscall.SYS_SOCKET},
		{bpfReturn, 0, 0, answerAllow},
	}
	if network {
		program = append(program,
			instruction{bpfLoad, 0, 0, atFirst},
			instruction{bpfEqual, 1, 0, syscall.AF_UNIX},
			instruction{bpfReturn, 0, 0, answerAllow})
	}
	program = append(program, instruction{bpfReturn, 0, 0, refused})
	head := struct {
		length uint16
		filter *instruction
	}{uint16(len(program)), &program[0]}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetSeccomp, seccompModeFilter, uintptr(unsafe.Pointer(&head)), 0, 0, 0)
	runtime.KeepAlive(program)
	if errno != 0 {
		return errno
	}
	return nil
}
