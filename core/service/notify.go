package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"golang.org/x/sys/unix"
)

// Notifier speaks the notify protocol of systemd (sd_notify(3)), one datagram a message. Without $NOTIFY_SOCKET every
// method does nothing and returns nil; so does the zero value. Its methods may be called from any goroutine.
//
// None of them waits. A message that the manager does not take at once, because its queue is full, is kept: the newest on
// each subject. It is sent with the next message, or by Run. The error is for a log line.
type Notifier struct {
	addr     *unix.SockaddrUnix // nil: no manager listens
	watchdog time.Duration
	late     chan struct{} // holds one: a message is unsent

	mu sync.Mutex
	fd int // of the socket, below 0 before the first message and after Run
	// unsent are assignments that the manager has not accepted, oldest first.
	unsent []assignment
	closed bool
}

type assignment struct{ name, value string }

// Variables of the protocol. A program that starts a gateway removes them from its environment once a Notifier is made,
// so that no child uses them.
const (
	socketVariable      = "NOTIFY_SOCKET"
	watchdogVariable    = "WATCHDOG_USEC"
	watchdogPIDVariable = "WATCHDOG_PID"
)

// NotifyVariables are the environment variables that a child must not inherit from a service.
var NotifyVariables = []string{socketVariable, watchdogVariable, watchdogPIDVariable}

// NewNotifier returns the notifier for the environment; pid is this process's. It does no I/O. With an error, which names
// the fault in the environment, the notifier works without the faulty part.
func NewNotifier(getenv func(string) string, pid int) (*Notifier, error) {
	n := &Notifier{late: make(chan struct{}, 1), fd: -1}
	name := getenv(socketVariable)
	if name == "" {
		return n, nil
	}
	// A leading @ is an abstract socket's NUL, for the unix package as well.
	if name[0] != '/' && name[0] != '@' || len(name) < 2 || len(name) > len(unix.RawSockaddrUnix{}.Path)-1 || strings.IndexByte(name, 0) >= 0 {
		return n, fmt.Errorf("%s is %.120q, which is neither an absolute path nor an abstract socket", socketVariable, name)
	}
	n.addr = &unix.SockaddrUnix{Name: name}
	var err error
	n.watchdog, err = watchdogInterval(getenv, pid)
	return n, err
}

// watchdogInterval is the time after which systemd considers us dead; 0: never (sd_watchdog_enabled(3)).
func watchdogInterval(getenv func(string) string, pid int) (time.Duration, error) {
	usec := getenv(watchdogVariable)
	if usec == "" {
		return 0, nil
	}
	if whose := getenv(watchdogPIDVariable); whose != "" && whose != strconv.Itoa(pid) {
		return 0, nil // it belongs to our parent
	}
	n, err := strconv.ParseInt(usec, 10, 64)
	if err != nil || n <= 0 || n > int64(maxWatchdog/time.Microsecond) {
		return 0, fmt.Errorf("%s is %.40q, which is not a number of microseconds", watchdogVariable, usec)
	}
	return time.Duration(n) * time.Microsecond, nil
}

// maxWatchdog is far beyond realistic values, and fits in a time.Duration.
const maxWatchdog = 365 * 24 * time.Hour

// Enabled reports whether a manager listens.
func (n *Notifier) Enabled() bool { return n.addr != nil }

// Ready reports that the gateway serves, with its activity in one line for people.
func (n *Notifier) Ready(status string) error {
	return n.send(assignment{"READY", "1"}, assignment{"STATUS", line(status)})
}

// Stopping reports that the stop has begun.
func (n *Notifier) Stopping(status string) error {
	return n.send(assignment{"STOPPING", "1"}, assignment{"STATUS", line(status)})
}

// Status reports the gateway's activity in one line for people, which systemctl status shows. The text must hold no
// message bodies and no secrets.
func (n *Notifier) Status(text string) error { return n.send(assignment{"STATUS", line(text)}) }

// Extend asks for d from now on for the stop or start under way, beyond its timeout. It is for an operator's extension
// alone: automatic extension would remove every bound.
func (n *Notifier) Extend(d time.Duration) error {
	return n.send(assignment{"EXTEND_TIMEOUT_USEC", strconv.FormatInt(max(d, 0).Microseconds(), 10)})
}

// lateAgain is how long Run waits before it sends again what the manager did not accept.
const lateAgain = 100 * time.Millisecond

// Run reports to the watchdog twice in its interval that the gateway lives, while alive returns true, and sends unsent
// messages. It blocks until ctx ends, and then closes the socket; messages that are still unsent are lost. ctx ends after
// the stop and not during it: one report arms systemd's watchdog, also in a stop, and systemd takes the silence after it
// for death (seen with 252).
//
// alive checks only whether the gateway's own goroutines make progress, never the disk or the network: a slow fsync must
// not look like death (G6). Its context ends with the half interval. If alive does not return, the gateway counts as not
// alive, and Run's end is delayed.
func (n *Notifier) Run(ctx context.Context, alive func(context.Context) bool) {
	defer n.close()
	if !n.Enabled() {
		<-ctx.Done()
		return
	}
	var beat <-chan time.Time
	if n.watchdog > 0 {
		// At the start as well: the duration of the start is part of the first interval.
		n.beat(ctx, alive)
		ticker := time.NewTicker(n.watchdog / 2)
		defer ticker.Stop()
		beat = ticker.C
	}
	retry := time.NewTimer(lateAgain)
	retry.Stop()
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			_ = n.send() // the last try for unsent messages; a failure has no remedy
			return
		case <-beat:
			n.beat(ctx, alive)
		case <-n.late:
			retry.Reset(lateAgain)
		case <-retry.C:
			_ = n.send() // a failure comes back through late
		}
	}
}

func (n *Notifier) beat(ctx context.Context, alive func(context.Context) bool) {
	ctx, cancel := context.WithTimeout(ctx, n.watchdog/2)
	defer cancel()
	if alive(ctx) {
		_ = n.send(assignment{"WATCHDOG", "1"}) // there are two in each interval
	}
}

// send sends the unsent messages and more in one datagram. It does not wait: the lock is held over a send that cannot
// block.
func (n *Notifier) send(more ...assignment) error {
	if n.addr == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, a := range more {
		n.keep(a)
	}
	if len(n.unsent) == 0 {
		return nil
	}
	var text strings.Builder
	for _, a := range n.unsent {
		text.WriteString(a.name + "=" + a.value + "\n")
	}
	err := n.write([]byte(text.String()))
	if err == nil {
		n.unsent = n.unsent[:0]
		return nil
	}
	// A late report of life would be false.
	n.unsent = slices.DeleteFunc(n.unsent, func(a assignment) bool { return a.name == "WATCHDOG" })
	if len(n.unsent) > 0 && !n.closed {
		select {
		case n.late <- struct{}{}:
		default:
		}
	}
	return fmt.Errorf("notify the service manager: %w", err)
}

// keep appends a to the unsent messages, and replaces an older one on the same subject.
func (n *Notifier) keep(a assignment) {
	n.unsent = append(slices.DeleteFunc(n.unsent, func(old assignment) bool { return old.name == a.name }), a)
}

var errClosed = errors.New("the notifier is closed")

func (n *Notifier) write(b []byte) error {
	if n.closed {
		return errClosed
	}
	if n.fd < 0 {
		syscall.ForkLock.RLock() // no child is started before the socket is marked to be closed by exec
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
		if err == nil {
			unix.CloseOnExec(fd)
		}
		syscall.ForkLock.RUnlock()
		if err != nil {
			return err
		}
		n.fd = fd
	}
	for {
		// With the address each time: a manager that executed itself again may have bound it again
		err := unix.Sendto(n.fd, b, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, n.addr)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func (n *Notifier) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	if n.fd >= 0 {
		_ = unix.Close(n.fd) // nothing is buffered in it
		n.fd = -1
	}
}

// maxStatus bounds a status, in bytes: one line of systemctl status.
const maxStatus = 400

// line makes one line of s that cannot be taken for another assignment. It is valid UTF-8, because systemd refuses other
// text.
func line(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, s)
	if len(s) > maxStatus {
		s = strings.ToValidUTF8(s[:maxStatus], "")
	}
	return strings.TrimSpace(s)
}
