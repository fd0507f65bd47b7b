package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"gatewaytui/core/ops"
)

// Policy is what ends a tree, apart from its own exit and the gateway's stop.
type Policy = ops.Policy

// The policies. A tree of PolicySession survives its turn and the eviction of its agent (C8). A tree of PolicyKept also
// survives a SIGKILL of the gateway: the next life adopts it (C10). A stop ends both.
const (
	PolicyTurn    = ops.PolicyTurn
	PolicySession = ops.PolicySession
	PolicyKept    = ops.PolicyKept
	PolicyGateway = ops.PolicyGateway
)

var policies = []Policy{PolicyTurn, PolicySession, PolicyKept, PolicyGateway}

// DefaultOutputLimit is how many bytes of output are kept when Spec names no limit.
const DefaultOutputLimit = 64 << 10

// Spec is a process to start.
type Spec struct {
	// Session and Turn own it; Turn may be empty.
	Session, Turn string
	// Command is what is shown for it, masked and cleaned; empty: Argv.
	Command string
	// Argv is the program and its arguments. A program without a slash is searched for in PATH. Required.
	Argv []string
	// Dir is its working directory; empty: ours.
	Dir string
	// Env is added to our variables that pass, as NAME=value. Secrets, GATEWAYTUI_… and the markers cannot be
	// set.
	Env []string
	// PTY gives it a terminal of 80x24 as its controlling terminal. Stdin connects its standard input to Write. Without
	// either, its standard input is /dev/null.
	PTY, Stdin bool
	// Pipes gives the caller the standard input and the standard output (Process.Pipes), for a protocol. Its standard error is its output.
	Pipes bool
	// Policy is what ends it. Required.
	Policy Policy
	// OutputLimit bounds the output that is kept, in bytes; 0: DefaultOutputLimit.
	OutputLimit int
	// Files are inherited as descriptors 3, 4, …. They are the caller's to close after Spawn.
	Files []*os.File
	// Carrier says that Argv only carries the command.
	Carrier Carrier
	// Share bounds all processes of the session together, the zero value as Options.Share does. A process without a session has no share.
	Share Share
	// Owner is what the process belongs to, for its row; empty: OwnerTool.
	Owner string
	// Environment is the name of what the command runs in, for its row; empty: it runs on the machine itself.
	Environment string
}

// Carrier is how signals reach a command that a program carries, such as bwrap or the client of a container daemon. The zero value: Argv is
// the command.
type Carrier struct {
	// Below says that TERM goes to what Argv has started and not to Argv, while something of it lives. Argv's own child is the first process of
	// a process namespace, to which TERM means nothing: a tree of these two alone has no command, and gets TERM as a whole. KILL always goes
	// to all.
	Below bool
	// Relay brings TERM and KILL to a command that does not descend from Argv; nil: there is none. A kill calls it at most once for each of the two signals,
	// on a goroutine that the registry waits for, and does not wait for its return. ctx ends after 5 s, or when the registry closes. Argv gets no
	// TERM, but KILL.
	Relay func(ctx context.Context, sig syscall.Signal)
}

func (s Spec) check() error {
	switch {
	case len(s.Argv) == 0 || s.Argv[0] == "":
		return errors.New("no program given")
	case !slices.Contains(policies, s.Policy):
		return fmt.Errorf("invalid policy %q", s.Policy)
	case s.Policy == PolicyKept && s.PTY:
		return errors.New("a process with a terminal cannot have the policy kept: it is hung up when the gateway ends")
	case s.Pipes && (s.PTY || s.Policy == PolicyKept):
		return errors.New("a process with pipes of its caller's ends with the gateway and has no terminal")
	case s.OutputLimit < 0:
		return fmt.Errorf("invalid output limit of %d bytes", s.OutputLimit)
	}
	for _, s := range append([]string{s.Session, s.Dir}, s.Argv...) {
		if strings.IndexByte(s, 0) >= 0 {
			return errors.New("an argument, the directory or the session has a zero byte")
		}
	}
	return nil
}

// Variables are those of our environment that have these names, as NAME=value, for Spec.Env. One that is not set is left out.
func Variables(names []string) (all []string) {
	for _, name := range names {
		if value, is := os.LookupEnv(name); is {
			all = append(all, name+"="+value)
		}
	}
	return all
}
