// Package platforms is the list of the chat platforms that this program can connect to: how each is made from the config, and a page
// that says how a person sets it up. The adapters themselves are in core/adapter/NAME.
//
// Each platform but Telegram has a file whose build tag leaves it out of the program: no_discord leaves out Discord. A config that
// enables it all the same is valid; its row says what is missing.
package platforms

import (
	"fmt"
	"log/slog"
	"reflect"

	"gatewaytui/core/adapter"
	"gatewaytui/core/config"
)

// Made is an enabled platform as a config describes it. Nothing is connected.
type Made struct {
	Name string
	// Err says why there is no platform: an *adapter.CredentialsError for a credential that is missing, or that the program was built
	// without it.
	Err error
	// options are what the connection follows from, without a log.
	options any
	make    func(log *slog.Logger) adapter.Platform
}

// kind is how a platform is made from the config: what its connection follows from, and the platform.
type kind func(config.Adapters, secrets) (options any, make func(log *slog.Logger) adapter.Platform)

// secrets are the credentials of a platform, by config.SecretPlace.Key.
type secrets map[string]config.Credential

// kinds are the platforms in this program, by name. The file of each adds its own.
var kinds = map[string]kind{}

// add adds a platform to kinds. With equal options, but for the log, a connection serves as well.
func add[O any, P adapter.Platform](name string, options func(config.Adapters, secrets, *slog.Logger) O, platform func(O) P) {
	kinds[name] = func(a config.Adapters, s secrets) (any, func(*slog.Logger) adapter.Platform) {
		return options(a, s, nil), func(log *slog.Logger) adapter.Platform { return platform(options(a, s, log)) }
	}
}

// Of are the chat platforms that a config enables, in the order of its tables.
func Of(a config.Adapters, s config.Credentials) (all []Made) {
	for _, b := range a.EnabledBots() {
		m := Made{Name: b.Name}
		made, is := kinds[b.Name]
		secret, missing := s.Missing(b)
		switch {
		case !is:
			m.Err = fmt.Errorf("this program was built without %s (the build tag no_%s): take another build, or set adapters.%s.enabled to false", b.Title, b.Name, b.Name)
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
func (m Made) New(log *slog.Logger) adapter.Platform { return m.make(log) }

// Same reports whether a connection of m serves with the config of other as well.
func (m Made) Same(other Made) bool {
	if m.Err != nil || other.Err != nil {
		return m.Err != nil && other.Err != nil && m.Err.Error() == other.Err.Error()
	}
	return m.Name == other.Name && reflect.DeepEqual(m.options, other.options)
}
