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
	add := func(code, text string, l lasting) {
		if l.err != nil {
			all = append(all, Weakness{code, text + ": " + l.err.Error(), l.since})
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
