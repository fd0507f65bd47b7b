//go:build !no_discord

package platforms

import (
	"log/slog"

	"gatewaytui/core/adapter/bot"
	"gatewaytui/core/adapter/discord"
	"gatewaytui/core/config"
)

func init() {
	add("discord", func(a config.Adapters, s secrets, log *slog.Logger) bot.Options {
		return bot.Options{BaseURL: a.Discord.BaseURL, Groups: a.Discord.Groups, Token: s["token"].Value, TokenSource: s["token"].Source, Log: log}
	}, discord.New)
}
