package config

import (
	"cmp"
	"regexp"
	"strings"
)

// Home is the chat of a platform that gets the notices of the gateway itself.
type Home struct {
	// Session is the key that its messages are counted under.
	Session string
	// Target is the platform's address of the chat; empty: that of the session.
	Target string
}

// What a home chat may be: an address, or the key of a session.
var (
	telegramHome = regexp.MustCompile(`^(?:telegram:(?:dm|group):)?(-?[1-9]\d{0,18})(?:(?:/|:topic:)([1-9]\d{0,18}))?(?::user:\d+)?$`)
	discordHome  = regexp.MustCompile(`^(?:discord:guild:\d+:channel:)?([1-9]\d{0,19})(?::thread:([1-9]\d{0,19}))?(?::user:\d+)?$`)
	discordDM    = regexp.MustCompile(`^discord:dm:[1-9]\d{0,19}$`)
)

// Homes are the home chats of the platforms that have one, by platform.
func (c *Config) Homes() map[string]Home {
	homes := map[string]Home{}
	if h, is := c.Adapters.Telegram.home(); is && c.Adapters.Telegram.Enabled {
		homes["telegram"] = h
	}
	if h, is := c.Adapters.Discord.home(); is && c.Adapters.Discord.Enabled {
		homes["discord"] = h
	}
	return homes
}

// TargetOf is the platform's address of the chat of a session, where the key of the session says it.
func TargetOf(session string) (target string, said bool) {
	if h, is := (Telegram{Home: session}).home(); is {
		return h.Target, h.Session == session
	}
	if h, is := (Discord{Home: session}).home(); is {
		return h.Target, h.Session == session && h.Target != ""
	}
	return "", false
}

func (t Telegram) home() (h Home, is bool) {
	m := telegramHome.FindStringSubmatch(t.Home)
	if m == nil {
		return h, false
	}
	h.Session, h.Target = t.Home, m[1]
	if !strings.HasPrefix(h.Session, "telegram:") {
		kind := "telegram:dm:"
		if strings.HasPrefix(m[1], "-") {
			kind = "telegram:group:"
		}
		h.Session = kind + strings.Replace(t.Home, "/", ":topic:", 1)
	}
	if m[2] != "" {
		h.Target += "/" + m[2]
	}
	return h, true
}

func (d Discord) home() (h Home, is bool) {
	if discordDM.MatchString(d.Home) {
		return Home{Session: d.Home}, true
	}
	m := discordHome.FindStringSubmatch(d.Home)
	if m == nil {
		return h, false
	}
	h.Session, h.Target = d.Home, cmp.Or(m[2], m[1])
	if !strings.HasPrefix(h.Session, "discord:") {
		h.Session = "discord:channel:" + h.Target
	}
	return h, true
}

// homeOfTelegram and homeOfDiscord are the rules about home chats.
var (
	homeOfTelegram = mustBe("adapters.telegram.home", `the id of a chat such as "4711" or "-100123", a session key such as "telegram:dm:4711", or empty`, func(home string) bool {
		_, is := Telegram{Home: home}.home()
		return home == "" || is
	})
	homeOfDiscord = mustBe("adapters.discord.home", `the id of a channel such as "80351110224678912", a session key such as "discord:dm:4711", or empty`, func(home string) bool {
		_, is := Discord{Home: home}.home()
		return home == "" || is
	})
)
