// Package guardian is the small process that ends what a life of the gateway started, when the gateway itself is killed.
// It is this same program, started by core/process under another name. A binary that imports this package becomes a
// guardian in its init, when it finds that it was started as one, and never reaches main.
//
// It runs in init to save memory: most of the program is not set up yet, and the guardian stays at 6 MB instead of 18
// (BenchmarkGuardian measures the tests' binary). Packages are set up in the order of their import paths, as far as their
// own imports allow (go.dev/ref/spec, Program initialization). This package is early because it needs next to nothing; a
// test checks what it imports.
//
// What it promises:
//
//   - When its socket or the gateway ends without a release, it kills everything that the life started. It finds these
//     processes by control group, tag, marker variable, and the identities that the gateway reported, which no process
//     can shed. It kills each process by its identity, until scans of the process table find nothing more. It never
//     touches the gateway, a later life, another gateway's processes, or what the life has to keep (kernel.Kept).
//   - It ends in every case without help: after a release, or after the kill, which lasts at most 10 s.
//   - It has its own session and ignores TERM, INT and HUP. It holds nothing of the gateway but its end of the socket. Its
//     working directory is /. It has no environment, and carries neither the gateway's marks nor the life's.
package guardian

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"

	"gatewaytui/core/process/kernel"
)

// title begins the guardian's first argument, which identifies it.
const title = "gatewaytui: guardian of life "

// Socket is the descriptor at which the guardian expects its end of a stream socket.
const Socket = 3

// The messages on the socket: a byte, followed by an identity after Add and Drop (see AppendIdentity).
const (
	// Ready is sent by the guardian: it watches from now on.
	Ready = 'r'
	// Release is sent by the gateway: nothing is left, exit.
	Release = 'b'
	// Add and Drop are sent by the gateway: a process belongs to the life, or has ended.
	Add  = 'a'
	Drop = 'd'
)

// Target is the life that a guardian watches.
type Target struct {
	Life string
	// PID and Start are the gateway's identity.
	PID   int
	Start uint64
	// Group is the directory of the life's control group; empty: the life has none.
	Group string
	// Base is the directory of the group that the gateway left for one below it, and Controllers are what it enabled
	// there, as kernel.Rejoin reverts it; empty: it did not.
	Base, Controllers string
}

// Args is the argument list that makes a program the guardian of c.
func (c Target) Args() []string {
	return []string{title + c.Life, strconv.Itoa(c.PID), strconv.FormatUint(c.Start, 10), c.Group, c.Base, c.Controllers}
}

// Env is the environment to start a guardian with: no garbage collection until it holds more than it ever should, and one
// processor.
func Env() []string {
	return []string{"GOGC=off", "GOMEMLIMIT=4MiB", "GOMAXPROCS=1", "GOTRACEBACK=none"}
}

// parseTarget parses what Args wrote.
func parseTarget(args []string) (c Target, err error) {
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
	_ = kernel.Conceal() // it holds no secret; the gateway warns if its own call is refused
	c, err := parseTarget(os.Args)
	if err != nil {
		syscall.Exit(2)
	}
	identities := new(reported)
	if !c.watch(identities) {
		c.end(identities)
	}
	syscall.Exit(0)
}

// Bounds of the kill, in milliseconds: its longest duration, and the pause between two scans. cleanLooks is how many
// scans in a row must find nothing, because one scan can miss a process that forks and ends meanwhile.
const (
	endMost    = 10_000
	lookPause  = 5
	cleanLooks = 5
)

// end kills what the life started, until nothing more of it is found.
func (c Target) end(identities *reported) {
	go func() {
		// A read of a process's environment waits for its memory lock, which may be held for ever.
		pause(endMost)
		syscall.Exit(1)
	}()
	l := scan{Target: c, identities: identities, stat: make([]byte, 4<<10), environ: make([]byte, 128<<10), covered: map[int]bool{}}
	for clean := 0; clean < cleanLooks; {
		clean++
		if c.Group != "" {
			_ = kernel.KillGroup(c.Group) // if it fails, the process table has them anyway
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
		// The next life of this home retries what fails. The home's group stays while it contains another life's.
		_ = kernel.RemoveGroup(c.Group)
		_ = syscall.Rmdir(c.Group[:max(strings.LastIndexByte(c.Group, '/'), 0)])
	}
	if c.Base != "" {
		kernel.Rejoin(c.Base, c.Controllers)
	}
}

// alive reports whether the gateway exists. Where /proc is mounted with hidepid, only root sees the gateway there,
// because the gateway cannot be traced (kernel.Conceal). Then it exists as long as it is our parent.
func (c Target) alive() bool {
	p, err := kernel.StatOf(c.PID, make([]byte, 1<<10))
	if err != nil {
		return os.Getppid() == c.PID
	}
	return p.Start == c.Start && p.Alive()
}
