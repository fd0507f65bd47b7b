// Package platforms is the list of the chat platforms that this program can connect to: how each is made from the config, and a page
// that says how a person sets it up. The adapters themselves are in core/adapter/NAME.
//
// Each platform but Telegram has a file whose build tag leaves it out of the program: no_discord leaves out Discord, no_external the
// platforms that are programs of their own. A config that enables it all the same is valid; its row says what is missing.
package platforms

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/config"
	"gatewaytui/core/process"
)

// Made is an enabled platform as a config describes it. Nothing is connected.
type Made struct {
	Name string
	// Err says why there is no platform: an *adapter.CredentialsError for a credential that is missing, or that the program was built
	// without it.
	Err error
	// options are what the connection follows from, without a Host.
	options any
	make    func(Host) adapter.Platform
}

// Host is what platforms get of the program around them. Without the fields behind Log no platform that is a program connects.
type Host struct {
	// Log takes what a platform cannot say elsewhere.
	Log *slog.Logger
	// Spawn starts a program: process.Registry.Spawn.
	Spawn func(context.Context, process.Spec) (*process.Process, error)
	// Adapters has the work folders of programs, each with the name of its adapter.
	Adapters string
	// KillGrace is the time from TERM to KILL at the end of a program.
	KillGrace time.Duration
}

// kind is how a platform is made from the config: what its connection follows from, and the platform.
type kind func(config.Adapters, secrets) (options any, make func(Host) adapter.Platform)

// secrets are the credentials of a platform, by config.SecretPlace.Key.
type secrets map[string]config.Credential

// kinds are the platforms in this program, by name. The file of each adds its own.
var kinds = map[string]kind{}

// add adds a platform to kinds. With equal options, but for the log, a connection serves as well.
func add[O any, P adapter.Platform](name string, options func(config.Adapters, secrets, *slog.Logger) O, platform func(O) P) {
	kinds[name] = func(a config.Adapters, s secrets) (any, func(Host) adapter.Platform) {
		return options(a, s, nil), func(h Host) adapter.Platform { return platform(options(a, s, h.Log)) }
	}
}

// program is how a platform that is a program is made; nil: this program was built without.
var program func(name string, e config.External) (options any, make func(Host) adapter.Platform)

// of is how the platform of a bot is made, and what leaves it out of a build; nil: this program was built without.
func of(a config.Adapters, b config.Bot) (made kind, without, tag string) {
	e := a.External[b.Name]
	switch {
	case e == nil:
		return kinds[b.Name], b.Title, "no_" + b.Name
	case program != nil:
		made = func(config.Adapters, secrets) (any, func(Host) adapter.Platform) { return program(b.Name, *e) }
	}
	return made, "external adapters", "no_external"
}

// Of are the chat platforms that a config enables, in the order of its tables.
func Of(a config.Adapters, s config.Credentials) (all []Made) {
	for _, b := range a.EnabledBots() {
		m := Made{Name: b.Name}
		made, without, tag := of(a, b)
		secret, missing := s.Missing(b)
		switch {
		case made == nil:
			m.Err = fmt.Errorf("this program was built without %s (the build tag %s): take another build, or set adapters.%s.enabled to false", without, tag, b.Name)
		case missing:
			m.Err = &adapter.CredentialsError{Variable: secret.Source, Why: secret.Why()}
		default:
			m.options, m.make = made(a, s.Bots[b.Name])
		}
		all = append(all, m)
	}
	return all
}

// New makes the platform, where Err is nil. It does no I/O.
func (m Made) New(h Host) adapter.Platform { return m.make(h) }

// Same reports whether a connection of m serves with the config of other as well.
func (m Made) Same(other Made) bool {
	if m.Err != nil || other.Err != nil {
		return m.Err != nil && other.Err != nil && m.Err.Error() == other.Err.Error()
	}
	return m.Name == other.Name && reflect.DeepEqual(m.options, other.options)
}
