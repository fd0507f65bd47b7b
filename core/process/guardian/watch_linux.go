package guardian

import (
	"syscall"
	"unsafe"

	"gatewaytui/core/process/kernel"
)

// pidfdOpen is SYS_PIDFD_OPEN, the same on every architecture that Go runs on.
const pidfdOpen = 434

// watch waits for the end of the gateway or of the socket, and reports whether a release came first.
func (c Target) watch(identities *reported) (released bool) {
	dropInherited()
	// Watch the gateway as well as the socket: a child of the gateway that hangs between fork and exec may hold the
	// socket's other end.
	gateway := -1
	if fd, _, errno := syscall.Syscall(pidfdOpen, uintptr(c.PID), 0, 0); errno == 0 {
		gateway = int(fd)
	}
	if syscall.SetNonblock(Socket, true) != nil {
		return false
	}
	if there := c.alive(); there {
		_, _ = syscall.Write(Socket, []byte{Ready}) // fails if the gateway has ended meanwhile
	} else {
		released, _ := identities.drain()
		return released
	}
	kernel.DropText()
	for {
		fds := [2]pollFD{{fd: Socket, events: pollIn}, {fd: int32(gateway), events: pollIn}}
		poll(fds[:], -1)
		released, open := identities.drain()
		if released || !open || fds[1].revents != 0 {
			return released
		}
	}
}

// dropInherited drops what the gateway left to its child.
func dropInherited() {
	// The runtime's handler of each signal would end us. The kernel replaces it without the runtime's knowledge, and the
	// runtime never checks again. SIG_IGN is 1, and the kernel reads nothing else of the struct then (rt_sigaction(2)).
	ignore := [8]uintptr{1}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2} {
		_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&ignore)), 0, 8, 0, 0)
	}
	kernel.CloseAbove(Socket) // what the gateway itself was started with, which is not marked to be closed
	_ = kernel.SetTag(0)      // the guardian must not count as a process of the life
	const setName = 15        // PR_SET_NAME, prctl(2)
	name := [16]byte{}
	copy(name[:], "guardian")
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setName, uintptr(unsafe.Pointer(&name)), 0)
}

// pollFD is struct pollfd (poll(2)).
type pollFD struct {
	fd              int32
	events, revents int16
}

const pollIn = 1

// poll waits until one of fds is ready, for at most ms milliseconds; -1: for ever.
func poll(fds []pollFD, ms int) {
	var timeout *syscall.Timespec
	if ms >= 0 {
		t := syscall.NsecToTimespec(int64(ms) * 1e6)
		timeout = &t
	}
	// Interrupted, or without memory: the caller checks, and waits again.
	_, _, _ = syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(unsafe.SliceData(fds))), uintptr(len(fds)),
		uintptr(unsafe.Pointer(timeout)), 0, 0, 0)
}

// pause waits. Package time is set up too late for this package.
func pause(ms int) { poll(nil, ms) }
