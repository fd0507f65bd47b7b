package process

import (
	"errors"
	"time"

	"gatewaytui/core/ops"
)

// The codes of weaknesses. They are stable.
const (
	WeakPrefix   = "containment." // of all codes
	WeakGuardian = WeakPrefix + "guardian"
	WeakTags     = WeakPrefix + "tags"
	WeakGroups   = WeakPrefix + "groups"
	WeakLimits   = WeakPrefix + "limits"
)

// guardStartMost is how long the first guardian may take to start before its absence is a weakness.
const guardStartMost = 5 * time.Second

// Weaknesses are the reasons why containment is weaker than usual, while they last (HF26): what, its consequence and its
// cause. Usually there are none. A guardian that is disabled, and control groups that the
// machine does not grant, are the configured level and not a weakness: see Containment. It may be called after Open, and
// never waits.
func (r *Registry) Weaknesses() (all []ops.Warning) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.open {
		return nil
	}
	add := func(code, text string, l lasting) {
		if l.err != nil {
			all = append(all, ops.Warning{Code: code, Message: text + ": " + l.err.Error(), Since: ops.At(l.since)})
		}
	}
	starts := errors.Is(r.unguarded.err, errGuardStarts) && time.Since(r.opened) <= guardStartMost
	if r.opts.Guardian && !starts && !errors.Is(r.unguarded.err, ErrClosing) {
		add(WeakGuardian, "no guardian is running, so processes of tools would outlive a killed gateway until its next start", r.unguarded)
	}
	add(WeakTags, "the kernel refuses the tags that identify processes of tools, so a process that empties its environment may outlive a killed gateway",
		lasting{r.tagless, r.opened})
	add(WeakGroups, "control groups stopped working, so a tool that forks fast is harder to end", r.ungrouped)
	add(WeakLimits, "the control group of a tool could not be limited, so the tool may starve the gateway and other tools", r.unlimited)
	return all
}
