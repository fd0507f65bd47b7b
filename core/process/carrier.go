package process

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// relayMost is how long one call of a Relay may take.
const relayMost = 5 * time.Second

// spared reports whether the leader of a tree gets no TERM, given the live members of the tree.
func (c Carrier) spared(leader ident, members []proc) bool {
	if c.Relay != nil {
		return true
	}
	if !c.Below {
		return false
	}
	for _, p := range members {
		if p.Ident != leader && p.PPID != leader.PID {
			return true
		}
	}
	return false
}

// relay brings sig to the commands that do not descend from what carries them, once for each signal.
func (k *kill) relay(sig unix.Signal) {
	k.r.mu.Lock()
	var all []func()
	for t := range k.trees {
		relay := t.carrier.Relay
		if relay == nil || !t.leading || k.relayed[t][sig] {
			continue
		}
		if k.relayed[t] == nil {
			k.relayed[t] = map[unix.Signal]bool{}
		}
		k.relayed[t][sig] = true
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
