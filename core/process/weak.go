package process

import (
	"errors"
	"time"
)

// Weakness is something that holds what the program starts less firmly than usual, while it lasts (HF26).
type Weakness struct {
	// Code is stable: WeakGuardian, WeakTags, WeakGroups or WeakLimits.
	Code string
	// Text says what is weaker, what follows from that, and why.
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

// Weaknesses are those of now; none is the usual. A guardian that is switched off and control groups that the machine does
// not give are the configured level and no weakness: see Containment. It may be called after Open, and waits for nothing.
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
			all = append(all, Weakness{WeakGuardian, "no guardian watches, so processes of tools would outlive a gateway that is killed until its next start: " + why.Error(), since})
		}
	}
	if r.tagless != nil {
		all = append(all, Weakness{WeakTags, "the kernel refuses the tags by which processes of tools are known, so one that empties its environment may outlive a gateway that is killed: " + r.tagless.Error(), r.opened})
	}
	if r.groupErr != nil {
		all = append(all, Weakness{WeakGroups, "control groups worked and do not now, so a tool that forks fast is harder to end: " + r.groupErr.Error(), r.groupLost})
	}
	if r.limitErr != nil {
		all = append(all, Weakness{WeakLimits, "the control group of a tool could not be limited, so what it uses may be missing to the gateway and to other tools: " + r.limitErr.Error(), r.limitLost})
	}
	return all
}
