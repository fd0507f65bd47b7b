package config

import (
	"strings"

	"gatewaytui/core/text"
)

// Slack is [adapters.slack].
type Slack struct {
	BotKeys
	AppTokenEnv  string `toml:"app_token_env" default:"SLACK_APP_TOKEN" doc:"the environment variable that holds the app-level token, which begins with xapp-"`
	AppTokenFile string `toml:"app_token_file" doc:"a file that holds it instead"`
	BotTokenEnv  string `toml:"bot_token_env" default:"SLACK_BOT_TOKEN" doc:"the environment variable that holds the bot token, which begins with xoxb-"`
	BotTokenFile string `toml:"bot_token_file" doc:"a file that holds it instead"`
	BaseURL      string `toml:"base_url" default:"https://slack.com/api" doc:"the Web API"`
	Command      string `toml:"command" default:"/gateway" doc:"the slash command of the app behind which a chat command stands, as in \"/gateway stop\"; each other slash command of the app is a chat command itself"`
}

// slackHome is what the home chat of Slack may be: a channel, a person, or the key of a session.
var slackHome = text.Lazily(`^(?:slack:(?:channel|dm):)?([A-Z][A-Z0-9]{1,31})(?:(?:/|:thread:)(\d{1,15}\.\d{1,15}))?(?::user:[A-Z0-9]+)?$`)

func (s Slack) bot() Bot {
	b := s.BotKeys.bot("slack", "Slack")
	b.BaseURL = s.BaseURL
	b.Secrets = []SecretPlace{{Key: "bot_token", Env: s.BotTokenEnv, File: s.BotTokenFile}, {Key: "app_token", Env: s.AppTokenEnv, File: s.AppTokenFile}}
	b.Homed = homeOfSlack
	return b
}

// homeOfSlack reads a home chat. Slack takes the id of a person for the chat with them.
func homeOfSlack(home string) (h Home, is bool) {
	m := slackHome().FindStringSubmatch(home)
	if m == nil {
		return h, false
	}
	h.Session, h.Target = home, m[1]
	if !strings.HasPrefix(home, "slack:") {
		kind := "channel:"
		if m[1][0] == 'U' || m[1][0] == 'W' {
			kind = "dm:"
		}
		h.Session = "slack:" + kind + m[1]
		if m[2] != "" {
			h.Session += ":thread:" + m[2]
		}
	}
	if m[2] != "" {
		h.Target += "/" + m[2]
	}
	return h, true
}
