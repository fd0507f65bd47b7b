//go:build !no_slack

package platforms

import (
	"log/slog"

	"gatewaytui/core/adapter/slack"
	"gatewaytui/core/config"
)

func init() {
	add("slack", func(a config.Adapters, s secrets, log *slog.Logger) slack.Options {
		return slack.Options{
			BaseURL: a.Slack.BaseURL, Groups: a.Slack.Groups, Command: a.Slack.Command,
			AppToken: s["app_token"].Value, AppTokenSource: s["app_token"].Source, BotToken: s["bot_token"].Value, BotTokenSource: s["bot_token"].Source, Log: log,
		}
	}, slack.New)
}
