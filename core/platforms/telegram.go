package platforms

import (
	"log/slog"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bot"
	"gatewaytui/core/adapter/telegram"
	"gatewaytui/core/config"
)

func init() {
	add("telegram", func(a config.Adapters, s secrets) bot.Options {
		return bot.Options{BaseURL: a.Telegram.BaseURL, Groups: a.Telegram.Groups, Token: s["token"].Value, TokenSource: s["token"].Source}
	}, func(o bot.Options, log *slog.Logger) adapter.Platform {
		o.Log = log
		return telegram.New(o)
	})
}
