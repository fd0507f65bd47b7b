// Package external is the platform of a program that speaks JSON lines (PROTOCOL.md): a chat platform in any language.
//
// It promises, in addition to what package adapter requires of every platform:
//
//   - One run of the program is one connection. A program that freezes, floods, lies or dies costs its own adapter alone: each of its faults ends
//     the connection, with a reason for people, and the Supervisor connects again.
//   - Nothing of a program outlives its connection. A teardown writes stop, closes its standard input, and ends what is left of its process tree by
//     TERM and KILL, which the registry verifies. A failed or abandoned attempt does the same.
//   - Nothing waits for a program without a bound: it has 5 s to read 64 KiB, 15 s to answer a ping, and its caller's time to answer a request.
//   - The gateway holds at most 64 messages of a program, one line of at most 32 MiB, and 32 requests.
//   - A message is acknowledged when it is durable. One that is not is given again by the program, and refused or taken once.
//   - The program decides nothing about people: who may speak, and what they hear who may not, is the gateway's business.
//   - What a program writes reaches people, logs and terminals cleaned, cut, and without the values of the variables that it gets.
package external

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/process"
)

// Options is what New needs.
type Options struct {
	// Name is the adapter's name in the config.
	Name string
	// Command is the program and its arguments.
	Command []string
	// EnvPass are the names of the variables that the program gets in addition to those of tools.
	EnvPass []string
	// Settings is the table of the config, as encoding/json writes it.
	Settings map[string]any
	// Groups are the ids of the groups that the bot listens in.
	Groups []string
	// Workdir is where the program runs; it is made if it is not there.
	Workdir string
	// Spawn starts the program: process.Registry.Spawn.
	Spawn func(context.Context, process.Spec) (*process.Process, error)
	// KillGrace is the time from TERM to KILL at the end of the program.
	KillGrace time.Duration
	// Log takes one line for each unknown user and for what else the Supervisor does not learn; nil discards them.
	Log *slog.Logger
}

// Platform is one program. It implements adapter.Platform.
type Platform struct {
	o   Options
	log *slog.Logger
	// start starts the program.
	start func(context.Context) (*program, error)

	// What outlives a connection: said is what the program said of itself last; nil: it was never ready.
	said     atomic.Pointer[profile]
	unknown  adapter.UnknownUsers[string]
	unlisted adapter.UnknownUsers[string]
	unserved adapter.UnknownUsers[string]
	failures failures
	// unanswered counts the unknown users who got no answer, because too many came at once or the notice failed.
	unanswered atomic.Uint64
}

// New returns the platform of one program. It does no I/O.
func New(o Options) *Platform {
	o.Command, o.EnvPass, o.Groups = slices.Clone(o.Command), slices.Clone(o.EnvPass), slices.Clone(o.Groups)
	log := cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	p := &Platform{o: o, log: log.With("adapter", o.Name)}
	p.start = p.spawn
	return p
}

// Name implements adapter.Platform.
func (p *Platform) Name() string { return p.o.Name }

// Counters implements adapter.Counting.
func (p *Platform) Counters() []adapter.Counter {
	return []adapter.Counter{{
		Name:  "gatewaytui_" + strings.ReplaceAll(p.o.Name, "-", "_") + "_notices_dropped_total",
		Help:  "Users who are not on the allow list and got no notice, because too many wrote at once or a notice failed.",
		Value: p.unanswered.Load,
	}}
}

// staleAfter is how long a program may hear nothing from its platform.
const staleAfter = 90 * time.Second

// StaleAfter is how long a program may hear nothing from its platform; the Supervisor asks for it.
func (p *Platform) StaleAfter() time.Duration { return staleAfter }

// Abilities implements adapter.Able: those of the last run of the program. Before the first one there are none.
func (p *Platform) Abilities() []adapter.Ability {
	if said := p.said.Load(); said != nil {
		return slices.Clone(said.abilities)
	}
	return nil
}

// Bounds implements adapter.Bounded: those of the last run of the program.
func (p *Platform) Bounds(string) adapter.Bounds {
	if said := p.said.Load(); said != nil {
		return said.bounds
	}
	return adapter.Bounds{}
}
