package config

import (
	"strings"

	"gatewaytui/core/text"
)

// Feishu is [adapters.feishu].
type Feishu struct {
	BotKeys
	AppID         string `toml:"app_id" doc:"the id of the app, which begins with cli_"`
	AppSecretEnv  string `toml:"app_secret_env" default:"FEISHU_SECRET" doc:"the environment variable that holds the app's secret"`
	AppSecretFile string `toml:"app_secret_file" doc:"a file that holds it instead"`
	BaseURL       string `toml:"base_url" default:"https://open.feishu.cn" doc:"the API; that of Lark is https://open.larksuite.com"`
}

// What a home chat of Feishu may be, and the id of an app.
var (
	feishuHome = text.Lazily(`^(?:feishu:(?:group|dm):)?((?:oc|ou)_[A-Za-z0-9_-]{1,120})(:thread:omt_[A-Za-z0-9_-]{1,120})?(?::user:ou_[A-Za-z0-9_-]{1,120})?$`)
	feishuApp  = text.Lazily(`^cli_[A-Za-z0-9_-]{1,120}$`)
)

func (f Feishu) bot() Bot {
	b := f.BotKeys.bot("feishu", "Feishu")
	b.BaseURL = f.BaseURL
	b.Secrets = []SecretPlace{{Key: "app_secret", Env: f.AppSecretEnv, File: f.AppSecretFile}}
	b.Homed = homeOfFeishu
	return b
}

// homeOfFeishu reads a home chat: a group, a person, or the key of a session. The key of a thread does not say which message began it.
func homeOfFeishu(home string) (h Home, is bool) {
	m := feishuHome().FindStringSubmatch(home)
	if m == nil {
		return h, false
	}
	h.Session, h.Target = home, m[1]
	inKey := strings.HasPrefix(home, "feishu:")
	switch {
	case inKey && strings.HasPrefix(home, "feishu:dm:") != strings.HasPrefix(m[1], "ou_"), !inKey && home != m[1]:
		return Home{}, false
	case m[2] != "":
		h.Target = ""
	case !inKey && strings.HasPrefix(home, "ou_"):
		h.Session = "feishu:dm:" + home
	case !inKey:
		h.Session = "feishu:group:" + home
	}
	return h, true
}
