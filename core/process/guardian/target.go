package guardian

import (
	"errors"
	"os"
	"strconv"

	"gatewaytui/core/process/kernel"
)

// title begins the guardian's first argument, which identifies it.
const title = "gatewaytui: guardian of life "

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
	// Old are the directories of the life's control groups of version 1, a line each; empty: the life has none.
	Old string
}

// Args is the argument list that makes a program the guardian of c.
func (c Target) Args() []string {
	return []string{title + c.Life, strconv.Itoa(c.PID), strconv.FormatUint(c.Start, 10), c.Group, c.Base, c.Controllers, c.Old}
}

// Env is the environment to start a guardian with: no garbage collection until it holds more than it ever should, and one
// processor.
func Env() []string {
	return []string{"GOGC=off", "GOMEMLIMIT=4MiB", "GOMAXPROCS=1", "GOTRACEBACK=none"}
}

// parseTarget parses what Args wrote.
func parseTarget(args []string) (c Target, err error) {
	if len(args) != 7 {
		return c, errors.New("not the arguments of a guardian")
	}
	c.Life, c.Group, c.Base, c.Controllers, c.Old = args[0][len(title):], args[3], args[4], args[5], args[6]
	if c.PID, err = strconv.Atoi(args[1]); err != nil {
		return c, err
	}
	c.Start, err = strconv.ParseUint(args[2], 10, 64)
	return c, err
}

// alive reports whether the gateway exists. Where /proc is mounted with hidepid, only root sees the gateway there,
// because the gateway cannot be traced (kernel.Conceal). Then it exists as long as it is our parent.
func (c Target) alive() bool {
	p, err := kernel.StatOf(c.PID)
	if err != nil {
		return os.Getppid() == c.PID
	}
	return p.Start == c.Start && p.Alive()
}
