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
	"os"
	"strings"
	"syscall"

	"gatewaytui/core/process/kernel"
)

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
	l := scan{Target: c, identities: identities, environ: make([]byte, 128<<10), covered: map[int]bool{}}
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
	for dir := range strings.SplitSeq(c.Group+"\n"+c.Old, "\n") {
		if dir != "" {
			// The next life of this home retries what fails. The home's group stays while it contains another life's.
			_ = kernel.RemoveGroup(dir)
			_ = syscall.Rmdir(dir[:max(strings.LastIndexByte(dir, '/'), 0)])
		}
	}
	if c.Base != "" {
		kernel.Rejoin(c.Base, c.Controllers)
	}
}
