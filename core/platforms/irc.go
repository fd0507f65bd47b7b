//go:build !no_irc

package platforms

import (
	"log/slog"

	"gatewaytui/core/adapter/irc"
	"gatewaytui/core/config"
)

func init() {
	add("irc", func(a config.Adapters, s secrets, log *slog.Logger) irc.Options {
		return irc.Options{
			Server: a.IRC.Server, Plain: !a.IRC.TLS, Nick: a.IRC.Nick, Channels: a.IRC.Rooms(), Password: s["password"].Value, PasswordSource: s["password"].Source,
			Log: log,
		}
	}, irc.New)
}
