// Package demo is made-up chat platforms that need no account and no network: some with people who talk, for a look around
// (gatewaytui --demo plays Scene). Others fail in the ways in which real ones were seen to (A1, A2, E1, E2), for tests of the
// whole program from outside.
//
// A platform does what its behaviour says and nothing else; a call that hangs ignores its context and hangs for ever.
package demo

import (
	"cmp"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"gatewaytui/core/adapter"
)

const (
	// interval is from one message of a platform's people to the next; the first comes a twentieth of it after the
	// connection.
	interval = 10 * time.Second
	// staleAfter is how long nothing may be heard before a connection counts as stale.
	staleAfter = 10 * time.Second
	// failures is how many attempts fail before a flaky platform connects.
	failures = 3
	// slowness is what a slow disconnect takes.
	slowness = 2 * time.Second
)

// Options are common to the platforms of a demo.
type Options struct {
	// Log gets a line "demo.sent" at debug level for each message that a platform took, without its text; nil gets none.
	Log *slog.Logger
	// Lines, if there are any, are what the platform's people say, in turn and over and over, instead of the lines that
	// every platform's people know.
	Lines []Line
	// Talk gets every line that is said and answered; nil keeps none.
	Talk *Talk
}

// Platform is one made-up platform.
type Platform struct {
	spec     Spec
	how      behaviour
	o        Options
	attempts atomic.Int64
	messages messages
	said     sync.Map      // the numbers of the lines that are said once, of those that were
	released chan struct{} // releases the calls that hang; only tests close it
}

var _ adapter.Platform = (*Platform)(nil)

// New makes a platform. It panics on a behaviour that Behaviours does not list; Parse makes no such Spec.
func New(spec Spec, o Options) *Platform {
	how, known := find(spec.Behaviour)
	if !known {
		panic("demo: no behaviour " + spec.Behaviour)
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Platform{spec: spec, how: how, o: o, released: make(chan struct{})}
}

// Name is the platform's name in session keys.
func (p *Platform) Name() string { return p.spec.Name }

// Abilities implements adapter.Able.
func (p *Platform) Abilities() []adapter.Ability {
	return []adapter.Ability{adapter.AbilityTyping, adapter.AbilityEdit}
}

// Bounds implements adapter.Bounded.
func (p *Platform) Bounds(string) adapter.Bounds {
	return adapter.Bounds{Messages: 60, Edits: 60, Typing: 5 * time.Second}
}

// StaleAfter is how long the Supervisor lets a connection be quiet.
func (p *Platform) StaleAfter() time.Duration { return staleAfter }

// hang returns when the platform is released and not before.
func (p *Platform) hang() error {
	<-p.released
	return errors.New("released")
}
