package config

import "testing"

func TestCV14_AHomeChatIsAnAddressOrAKey(t *testing.T) {
	for _, c := range []struct {
		name, telegram, discord string
		session, target         string
		wrong                   bool
	}{
		{name: "a person's id", telegram: "4711", session: "telegram:dm:4711", target: "4711"},
		{name: "a group's id", telegram: "-100123", session: "telegram:group:-100123", target: "-100123"},
		{name: "a topic", telegram: "-100123/7", session: "telegram:group:-100123:topic:7", target: "-100123/7"},
		{name: "the key of a person's session", telegram: "telegram:dm:4711", session: "telegram:dm:4711", target: "4711"},
		{name: "the key of a topic", telegram: "telegram:group:-100:topic:7", session: "telegram:group:-100:topic:7", target: "-100/7"},
		{name: "the key of a member", telegram: "telegram:group:-100:user:5", session: "telegram:group:-100:user:5", target: "-100"},
		{name: "a channel", discord: "900", session: "discord:channel:900", target: "900"},
		{name: "the key of a thread", discord: "discord:guild:1:channel:2:thread:3", session: "discord:guild:1:channel:2:thread:3", target: "3"},
		{name: "the key of a member of a channel", discord: "discord:guild:1:channel:2:user:5", session: "discord:guild:1:channel:2:user:5", target: "2"},
		{name: "a person, whose channel the session knows", discord: "discord:dm:5", session: "discord:dm:5"},
		{name: "a name is not one", telegram: "@maria", wrong: true},
		{name: "zero is not one", telegram: "0", wrong: true},
		{name: "another platform's key is not one", telegram: "discord:dm:5", wrong: true},
		{name: "a key without a chat is not one", discord: "discord:dm:", wrong: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := Default()
			cfg.Adapters.Telegram.Home, cfg.Adapters.Discord.Home = c.telegram, c.discord
			cfg.Adapters.Telegram.Enabled, cfg.Adapters.Discord.Enabled = c.telegram != "", c.discord != ""
			for _, b := range cfg.Adapters.EnabledBots() {
				if wrong := !b.isHome(b.HomeText); wrong != c.wrong {
					t.Errorf("it is refused: %v, want %v", wrong, c.wrong)
				}
			}
			h := cfg.Homes()["telegram"]
			if c.discord != "" {
				h = cfg.Homes()["discord"]
			}
			if !c.wrong && h != (Home{c.session, c.target}) {
				t.Errorf("the home chat is %+v, want the session %q at %q", h, c.session, c.target)
			}
		})
	}
}
