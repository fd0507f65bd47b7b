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
//     control group, by tag, by marker variable, and by the identities that the gateway told, which no process can shed;
//     each process by its identity, until looks at the process table find nothing more. The gateway, a later life and
//     another gateway's processes are never touched, and neither is what the life was to keep (kernel.Kept).
//   - It ends by itself in every case: after a goodbye, or the kill, which lasts 10 s at most.
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

// What is said on the socket: a byte, and behind Add and Drop an identity (see AppendIdentity).
const (
	// Ready is the guardian's: from now on it watches.
	Ready = 'r'
	// Goodbye is the gateway's: nothing is left, go.
	Goodbye = 'b'
	// Add and Drop are the gateway's: a process is of the life, or has ended.
	Add  = 'a'
	Drop = 'd'
)

// Charge is what a guardian watches over.
type Charge struct {
	Life string
	// PID and Start are the gateway's identity.
	PID   int
	Start uint64
	// Group is the directory of the life's control group; empty: it has none.
	Group string
	// Base is the directory of the group that the gateway left for one below it, and Controllers what it enabled there, as
	// kernel.Rejoin takes it back; empty: it did not.
	Base, Controllers string
}

// Args is the argument list that makes a program the guardian of c.
func (c Charge) Args() []string {
	return []string{title + c.Life, strconv.Itoa(c.PID), strconv.FormatUint(c.Start, 10), c.Group, c.Base, c.Controllers}
}

// Env is the environment to start a guardian with: no garbage collection until it holds more than it ever should, and
// one processor.
func Env() []string {
	return []string{"GOGC=off", "GOMEMLIMIT=4MiB", "GOMAXPROCS=1", "GOTRACEBACK=none"}
}

// charge reads what Args wrote.
func charge(args []string) (c Charge, err error) {
	if len(args) != 6 {
		return c, errors.New("not the arguments of a guardian")
	}
	c.Life, c.Group, c.Base, c.Controllers = args[0][len(title):], args[3], args[4], args[5]
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
	_ = kernel.Conceal() // it holds no secret; the kernel that refuses it to the gateway as well is a warning there
	c, err := charge(os.Args)
	if err != nil {
		syscall.Exit(2)
	}
	told := new(told)
	if !c.watch(told) {
		c.end(told)
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
func (c Charge) end(told *told) {
	go func() {
		// A look at the environment of a process waits for its memory lock, which may be kept for ever.
		pause(endMost)
		syscall.Exit(1)
	}()
	l := look{Charge: c, told: told, stat: make([]byte, 4<<10), environ: make([]byte, 128<<10), covered: map[int]bool{}}
	for clean := 0; clean < cleanLooks; {
		clean++
		if c.Group != "" {
			_ = kernel.KillGroup(c.Group) // where it fails the table has them all the same
			if there, err := kernel.Populated(c.Group); there && err == nil {
				clean = 0
			}
		}
		if l.kill() {
			clean = 0
		}
		pause(lookPause)
	}
	if c.Group != "" {
		// What fails the next life of this home tries again; the home's group stays while another life's is in it.
		_ = kernel.RemoveGroup(c.Group)
		_ = syscall.Rmdir(c.Group[:max(strings.LastIndexByte(c.Group, '/'), 0)])
	}
	if c.Base != "" {
		kernel.Rejoin(c.Base, c.Controllers)
	}
}

// alive reports whether the gateway is there. Where /proc is mounted with hidepid, it hides the gateway from everyone but
// root, because the gateway cannot be traced (kernel.Conceal): then it is there as long as it is our parent.
func (c Charge) alive() bool {
	p, err := kernel.StatOf(c.PID, make([]byte, 1<<10))
	if err != nil {
		return os.Getppid() == c.PID
	}
	return p.Start == c.Start && p.Alive()
}
