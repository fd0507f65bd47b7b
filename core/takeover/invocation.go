package takeover

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"gatewaytui/core/process"
)

// Invocation is how a process was started, for the next one that is started like it.
type Invocation struct {
	argv, env []string
	dir       string
	pid       int
}

// OwnInvocation is InvocationOf for this process, whose environment below /proc is closed to itself as well. environ is that of its
// start.
func OwnInvocation(environ []string, home string) (Invocation, error) {
	s := Invocation{argv: slices.Clone(os.Args), env: environ, pid: os.Getpid()}
	var err error
	if s.dir, err = os.Getwd(); err != nil {
		s.dir = "/"
	}
	return s.again(home)
}

// again is s for the next life. The program is the one that asks: after an update it is the new one. A demo goes on in the
// home of the life before.
func (s Invocation) again(home string) (Invocation, error) {
	program, err := os.Executable()
	if err != nil {
		return Invocation{}, fmt.Errorf("find the program: %w", err)
	}
	if strings.HasSuffix(s.dir, " (deleted)") {
		s.dir = "/"
	}
	s.argv[0] = program
	s.argv = slices.DeleteFunc(s.argv, func(arg string) bool { return arg == "--replace" || arg == "--replace=true" })
	if slices.ContainsFunc(s.argv, func(arg string) bool { return arg == "--demo" || arg == "--demo=true" }) {
		s.argv = append(s.argv, "--home="+home) // else it would make a new one
	}
	if !slices.Contains(s.argv, "--no-tui") { // it has no terminal
		s.argv = append(s.argv, "--no-tui")
	}
	return s, nil
}

// Waits makes it wait for the home, which the life before still holds.
func (s *Invocation) Waits() { s.argv = append(s.argv, "--replace") }

// Start starts the process on its own, with no terminal.
func (s Invocation) Start() error {
	_, err := process.Detach(s.argv, s.env, s.dir, s.pid)
	return err
}
