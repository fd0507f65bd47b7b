// Package guardian is the small process that ends what a life of the gateway started when the gateway itself is killed.
// It is this same program, started by core/process under another name: a binary that imports this package becomes a
// guardian in its init, when it finds itself started as one, and never reaches main.
//
// It runs in init because of what it costs: it comes before most of the program is set up, and stays at 6 MB instead of 18
// (BenchmarkGuardian measures the tests' binary). Packages are set up in the order of their import paths, as far as their
// own imports allow (go.dev/ref/spec, Program initialization), and this one is early because it needs next to nothing: a
// test holds what it imports.
//
// What it promises:
//
//   - When its socket ends, or the gateway does, without a goodbye, everything that the life started is killed: by its
//     control group, by tag and by marker variable, each process by its identity, until looks at the process table find
//     nothing more. The gateway, a later life and another gateway's processes are never touched, and neither is what the
//     life was to keep (kernel.Kept).
//   - It ends by itself in every case: after a goodbye, or the kill, which lasts 10 s at the most.
//   - It is in a session of its own, ignores TERM, INT and HUP, holds nothing of the gateway but its end of the socket,
//     has / as its working directory, no environment, and neither the gateway's marks nor the life's.
package guardian

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"

	"gatewaytui/core/process/kernel"
)

// title begins the guardian's first argument, and is how it is recognised.
const title = "gatewaytui: guardian of life "

// Socket is the descriptor at which the guardian expects its end of a stream socket.
const Socket = 3

// What is said on the socket, one byte each.
const (
	// Ready is the guardian's: from now on it watches.
	Ready = 'r'
	// Goodbye is the gateway's: nothing is left, go.
	Goodbye = 'b'
)

// Charge is what a guardian watches over.
type Charge struct {
	Life string
	// PID and Start are the gateway's identity.
	PID   int
	Start uint64
	// Group is the directory of the life's control group; empty: it has none.
	Group string
}

// Args is the argument list that makes a program the guardian of c.
func (c Charge) Args() []string {
	return []string{title + c.Life, strconv.Itoa(c.PID), strconv.FormatUint(c.Start, 10), c.Group}
}

// Env is the environment to start a guardian with: no garbage collection until it holds more than it ever should, and
// one processor.
func Env() []string {
	return []string{"GOGC=off", "GOMEMLIMIT=4MiB", "GOMAXPROCS=1", "GOTRACEBACK=none"}
}

// charge reads what Args wrote.
func charge(args []string) (c Charge, err error) {
	if len(args) != 4 {
		return c, errors.New("not the arguments of a guardian")
	}
	c.Life, c.Group = args[0][len(title):], args[3]
	if c.PID, err = strconv.Atoi(args[1]); err != nil {
		return c, err
	}
	c.Start, err = strconv.ParseUint(args[2], 10, 64)
	return c, err
}

func init() {
	if len(os.Args) == 0 || len(os.Args[0]) <= len(title) || os.Args[0][:len(title)] != title {
		return
	}
	c, err := charge(os.Args)
	if err != nil {
		syscall.Exit(2)
	}
	if !c.watch() {
		c.end()
	}
	syscall.Exit(0)
}

// Bounds of the kill, in milliseconds: its longest, and the pause between two looks. cleanLooks is how many looks in a
// row that find nothing are enough: a process that forks and ends while it is looked at can be missed.
const (
	endMost    = 10_000
	lookPause  = 5
	cleanLooks = 5
)

// end kills what the life started, until nothing more of it is found.
func (c Charge) end() {
	go func() {
		// A look at the environment of a process waits for its memory lock, which may be kept for ever.
		pause(endMost)
		syscall.Exit(1)
	}()
	stat, environ := make([]byte, 4<<10), make([]byte, 128<<10)
	for clean := 0; clean < cleanLooks; {
		clean++
		if c.Group != "" {
			_ = kernel.KillGroup(c.Group) // where it fails the table has them all the same
			if there, err := kernel.Populated(c.Group); there && err == nil {
				clean = 0
			}
		}
		pids, err := kernel.PIDs()
		if err != nil {
			clean = 0
		}
		for _, pid := range pids {
			p, err := kernel.StatOf(pid, stat)
			if err != nil || !p.Alive() || !c.covers(p, stat, environ) {
				continue
			}
			clean = 0
			kernel.Kill(p.PID, p.Start, stat)
		}
		pause(lookPause)
	}
	if c.Group != "" {
		// What fails the next life of this home tries again; the home's group stays while another life's is in it.
		_ = kernel.RemoveGroup(c.Group)
		_ = syscall.Rmdir(c.Group[:max(strings.LastIndexByte(c.Group, '/'), 0)])
	}
}

// covers reports whether p was started by the life. A tag of another life says that it was not, whatever it inherited
// by its environment.
func (c Charge) covers(p kernel.Stat, stat, environ []byte) bool {
	if p.PID <= 1 || p.PID == os.Getpid() || p.PID == c.PID && p.Start == c.Start {
		return false
	}
	if tag := kernel.TagOf(p.PID, stat); tag.Valid() {
		return tag.Of(c.Life)
	}
	return p.State != 'D' && kernel.HasMarker(p.PID, c.Life, environ)
}

// alive reports whether the gateway is there.
func (c Charge) alive() bool {
	p, err := kernel.StatOf(c.PID, make([]byte, 1<<10))
	return err == nil && p.Start == c.Start && p.Alive()
}

// drain reads what is on the socket and reports a goodbye, and whether there may come one.
func drain() (goodbye, open bool) {
	var b [8]byte
	for {
		n, err := syscall.Read(Socket, b[:])
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return false, true
		case err != nil || n == 0:
			return false, false
		default:
			for _, c := range b[:n] {
				if c == Goodbye {
					return true, false
				}
			}
		}
	}
}
