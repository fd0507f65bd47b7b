//go:build !no_feishu

package platforms

import (
	"log/slog"

	"gatewaytui/core/adapter/feishu"
	"gatewaytui/core/config"
)

func init() {
	add("feishu", func(a config.Adapters, s secrets, log *slog.Logger) feishu.Options {
		return feishu.Options{
			AppID: a.Feishu.AppID, BaseURL: a.Feishu.BaseURL, Groups: a.Feishu.Groups, Secret: s["app_secret"].Value, SecretSource: s["app_secret"].Source,
			Log: log,
		}
	}, feishu.New)
}
