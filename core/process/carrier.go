package process

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// carried is what a kill knows of the trees whose leader carries the command.
type carried struct {
	// had are the trees in which a scan found the command.
	had map[*tree]bool
	// spared get no TERM, because that would end the command without one. empty are the members of trees without a command: it is not
	// there yet, nothing in them has to end in order, and the first process of a process namespace ends by KILL alone.
	spared, empty map[ident]bool
	// relayed has the signals that each tree's Relay got.
	relayed map[*tree]map[unix.Signal]bool
}

func newCarried() carried {
	return carried{map[*tree]bool{}, map[ident]bool{}, map[ident]bool{}, map[*tree]map[unix.Signal]bool{}}
}

// note takes in the live members of t, as a scan found them. self is our pid.
func (c *carried) note(t *tree, members []proc, self int) {
	if t.carrier.Relay != nil {
		c.spared[t.leader] = true
	}
	if !t.carrier.Below {
		return
	}
	for _, p := range members {
		// What carries it is the leader and its child, which is ours when the leader has ended. Orphans of the command become that child's.
		if p.Ident != t.leader && p.PPID != t.leader.PID && p.PPID != self {
			c.had[t] = true
		}
	}
	c.spared[t.leader] = c.had[t]
	for _, p := range members {
		c.empty[p.Ident] = !c.had[t]
	}
}

// relayMost is how long one call of a Relay may take.
const relayMost = 5 * time.Second

// relay brings sig to the commands that do not descend from what carries them, once for each signal.
func (k *kill) relay(sig unix.Signal) {
	k.r.mu.Lock()
	var all []func()
	for t := range k.trees {
		relay := t.carrier.Relay
		if relay == nil || !t.leading || k.carried.relayed[t][sig] {
			continue
		}
		if k.carried.relayed[t] == nil {
			k.carried.relayed[t] = map[unix.Signal]bool{}
		}
		k.carried.relayed[t][sig] = true
		all = append(all, func() {
			ctx, cancel := context.WithTimeout(k.r.ctx, relayMost)
			defer cancel()
			relay(ctx, sig)
		})
	}
	k.r.mu.Unlock()
	for _, f := range all {
		k.r.readers.Go(f)
	}
}
