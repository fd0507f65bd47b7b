package platforms

import (
	"log/slog"

	"gatewaytui/core/adapter/bot"
	"gatewaytui/core/adapter/telegram"
	"gatewaytui/core/config"
)

func init() {
	add("telegram", func(a config.Adapters, s secrets, log *slog.Logger) bot.Options {
		return bot.Options{BaseURL: a.Telegram.BaseURL, Groups: a.Telegram.Groups, Token: s["token"].Value, TokenSource: s["token"].Source, Log: log}
	}, telegram.New)
}
