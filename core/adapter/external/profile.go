package external

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"gatewaytui/core/adapter"
)

const (
	// minMessage is the least that the bound of a text may be, in UTF-16 units.
	minMessage = 100
	// maxFile is the largest file in either direction, in bytes.
	maxFile = 20 << 20
	// Typing is shown for usualTyping where the program does not say how long.
	usualTyping, minTyping, maxTyping = 5 * time.Second, time.Second, time.Hour
)

// known are the abilities that a program may have, in the order in which people read them.
var known = []adapter.Ability{
	adapter.AbilityGroups, adapter.AbilityThreads, adapter.AbilityTyping, adapter.AbilityEdit, adapter.AbilityReactions, adapter.AbilityButtons,
	adapter.AbilityFilesIn, adapter.AbilityFilesOut, adapter.AbilityMenu, adapter.AbilityFormat, adapter.AbilityIdempotent,
}

// profile is what a program can do.
type profile struct {
	abilities []adapter.Ability
	bounds    adapter.Bounds
}

// can reports whether the program has an ability.
func (p *profile) can(a adapter.Ability) bool { return slices.Contains(p.abilities, a) }

// check implements the check of decode.
func (r *ready) check() error {
	b := r.Bounds
	switch {
	case r.Version != version:
		return fmt.Errorf("version is %d, the gateway speaks %d", r.Version, version)
	case b.Message < 0 || b.Messages < 0 || b.Edits < 0 || b.TypingMS < 0 || b.File < 0:
		return errors.New("a bound is below 0")
	case b.Message > 0 && b.Message < minMessage:
		return fmt.Errorf("the bound message is %d, it must be at least %d", b.Message, minMessage)
	}
	return nil
}

// profile is what the program says of itself, without what is not known.
func (r *ready) profile() *profile {
	p := &profile{bounds: adapter.Bounds{Message: r.Bounds.Message, Messages: r.Bounds.Messages, Edits: r.Bounds.Edits, File: maxFile}}
	for _, a := range known {
		if slices.Contains(r.Abilities, string(a)) {
			p.abilities = append(p.abilities, a)
		}
	}
	if p.can(adapter.AbilityTyping) {
		p.bounds.Typing = usualTyping
		if ms := min(r.Bounds.TypingMS, maxTyping.Milliseconds()); ms > 0 {
			p.bounds.Typing = max(time.Duration(ms)*time.Millisecond, minTyping)
		}
	}
	if r.Bounds.File > 0 {
		p.bounds.File = min(r.Bounds.File, maxFile)
	}
	return p
}
