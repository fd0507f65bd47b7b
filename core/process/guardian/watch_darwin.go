package guardian

import (
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gatewaytui/core/process/kernel"
)

// lookEvery is how often the guardian looks whether the gateway lives, in milliseconds. The end of the socket shows that
// first, unless a child of the gateway that hangs between fork and exec holds the socket's other end.
const lookEvery = 500

// watch waits for the end of the gateway or of the socket, and reports whether a release came first.
func (c Target) watch(identities *reported) (released bool) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	kernel.CloseAbove(Socket)
	if syscall.SetNonblock(Socket, true) != nil {
		return false
	}
	_, _ = syscall.Write(Socket, []byte{Ready}) // fails if the gateway has ended
	for {
		there := c.alive()
		released, open := identities.drain()
		if released || !open || !there {
			return released
		}
		_, _ = unix.Poll([]unix.PollFd{{Fd: Socket, Events: unix.POLLIN}}, lookEvery) // interrupted: looks once more
	}
}

// pause waits.
func pause(ms int) { time.Sleep(time.Duration(ms) * time.Millisecond) }
