package process

import (
	"errors"
	"time"
)

// Weakness is a reason why containment is weaker than usual, while it lasts (HF26).
type Weakness struct {
	// Code is stable: WeakGuardian, WeakTags, WeakGroups or WeakLimits.
	Code string
	// Text names the weakness, its consequence and its cause.
	Text  string
	Since time.Time
}

// The codes of weaknesses.
const (
	WeakPrefix   = "containment." // of all codes
	WeakGuardian = WeakPrefix + "guardian"
	WeakTags     = WeakPrefix + "tags"
	WeakGroups   = WeakPrefix + "groups"
	WeakLimits   = WeakPrefix + "limits"
)

// guardStartMost is how long the first guardian may take to start before its absence is a weakness.
const guardStartMost = 5 * time.Second

// Weaknesses are the current ones; usually there are none. A guardian that is disabled, and control groups that the
// machine does not grant, are the configured level and not a weakness: see Containment. It may be called after Open, and
// never waits.
func (r *Registry) Weaknesses() (all []Weakness) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.open {
		return nil
	}
	if r.opts.Guardian && r.guard.pid == 0 && !errors.Is(r.guard.err, ErrClosing) {
		why, late := r.guard.err, true
		if why == nil {
			why, late = errGuardStarts, time.Since(r.opened) > guardStartMost
		}
		since := r.guardless
		if since.IsZero() {
			since = r.opened
		}
		if late {
			all = append(all, Weakness{WeakGuardian, "no guardian is running, so processes of tools would outlive a killed gateway until its next start: " + why.Error(), since})
		}
	}
	if r.tagless != nil {
		all = append(all, Weakness{WeakTags, "the kernel refuses the tags that identify processes of tools, so a process that empties its environment may outlive a killed gateway: " + r.tagless.Error(), r.opened})
	}
	if r.groupErr != nil {
		all = append(all, Weakness{WeakGroups, "control groups stopped working, so a tool that forks fast is harder to end: " + r.groupErr.Error(), r.groupLost})
	}
	if r.limitErr != nil {
		all = append(all, Weakness{WeakLimits, "the control group of a tool could not be limited, so the tool may starve the gateway and other tools: " + r.limitErr.Error(), r.limitLost})
	}
	return all
}
