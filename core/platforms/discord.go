//go:build !no_discord

package platforms

import (
	"log/slog"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bot"
	"gatewaytui/core/adapter/discord"
	"gatewaytui/core/config"
)

func init() {
	add("discord", func(a config.Adapters, s secrets) bot.Options {
		return bot.Options{BaseURL: a.Discord.BaseURL, Groups: a.Discord.Groups, Token: s["token"].Value, TokenSource: s["token"].Source}
	}, func(o bot.Options, log *slog.Logger) adapter.Platform {
		o.Log = log
		return discord.New(o)
	})
}
