package guardian

import (
	"syscall"
	"unsafe"

	"gatewaytui/core/process/kernel"
)

// pidfdOpen is SYS_PIDFD_OPEN, the same on every architecture that Go runs on.
const pidfdOpen = 434

// watch waits for the end of the gateway or of the socket, and reports whether a goodbye came first.
func (c Charge) watch(told *told) (goodbye bool) {
	shed()
	// Beside the socket, whose other end a child of the gateway may hold that hangs between fork and exec.
	gateway := -1
	if fd, _, errno := syscall.Syscall(pidfdOpen, uintptr(c.PID), 0, 0); errno == 0 {
		gateway = int(fd)
	}
	if syscall.SetNonblock(Socket, true) != nil {
		return false
	}
	if there := c.alive(); there {
		_, _ = syscall.Write(Socket, []byte{Ready}) // who has gone meanwhile does not read it
	} else {
		goodbye, _ := told.drain()
		return goodbye
	}
	kernel.DropText()
	for {
		fds := [2]pollFD{{fd: Socket, events: pollIn}, {fd: int32(gateway), events: pollIn}}
		poll(fds[:], -1)
		goodbye, open := told.drain()
		if goodbye || !open || fds[1].revents != 0 {
			return goodbye
		}
	}
}

// shed lets go of what the gateway left to its child.
func shed() {
	// The runtime's handler of each would end us; what it set up is replaced behind its back, and it never looks again.
	// SIG_IGN is 1, and the kernel reads nothing else of the struct then (rt_sigaction(2)).
	ignore := [8]uintptr{1}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2} {
		_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&ignore)), 0, 8, 0, 0)
	}
	kernel.CloseAbove(Socket) // what the gateway itself was started with, and so is not marked to be closed
	_ = kernel.SetTag(0)      // nobody may take us for one of the life
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

// poll waits until one of fds has something to say, for ms milliseconds at most; -1 is for ever.
func poll(fds []pollFD, ms int) {
	var timeout *syscall.Timespec
	if ms >= 0 {
		t := syscall.NsecToTimespec(int64(ms) * 1e6)
		timeout = &t
	}
	// Interrupted, or without memory: the caller looks, and waits again.
	_, _, _ = syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(unsafe.SliceData(fds))), uintptr(len(fds)),
		uintptr(unsafe.Pointer(timeout)), 0, 0, 0)
}

// pause waits. Package time is set up too late for us.
func pause(ms int) { poll(nil, ms) }
