package config

import (
	"cmp"
	"strings"

	"gatewaytui/core/text"
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
	telegramHome = text.Lazily(`^(?:telegram:(?:dm|group):)?(-?[1-9]\d{0,18})(?:(?:/|:topic:)([1-9]\d{0,18}))?(?::user:\d+)?$`)
	discordHome  = text.Lazily(`^(?:discord:guild:\d+:channel:)?([1-9]\d{0,19})(?::thread:([1-9]\d{0,19}))?(?::user:\d+)?$`)
	discordDM    = text.Lazily(`^discord:dm:[1-9]\d{0,19}$`)
)

// Homes are the home chats of the platforms that have one, by platform.
func (c *Config) Homes() map[string]Home {
	homes := map[string]Home{}
	for _, b := range c.Adapters.EnabledBots() {
		if h, is := b.home(); is {
			homes[b.Name] = h
		}
	}
	return homes
}

// TargetOf is the platform's address of the chat of a session, where the key of the session says it.
func TargetOf(session string) (target string, said bool) {
	if name, _, _ := strings.Cut(session, ":"); isExternal(name) {
		h, is := externalHome(name, session)
		return h.Target, is && h.Target != ""
	}
	for _, b := range (Adapters{}).Bots() {
		b.HomeText = session
		if h, is := b.home(); is {
			return h.Target, h.Session == session && h.Target != ""
		}
	}
	return "", false
}

// home is the home chat of b; false: it has none.
func (b Bot) home() (Home, bool) {
	if b.HomeText == "" || b.Homed == nil {
		return Home{}, false
	}
	return b.Homed(b.HomeText)
}

func (t Telegram) home() (h Home, is bool) {
	m := telegramHome().FindStringSubmatch(t.Home)
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
	if discordDM().MatchString(d.Home) {
		return Home{Session: d.Home}, true
	}
	m := discordHome().FindStringSubmatch(d.Home)
	if m == nil {
		return h, false
	}
	h.Session, h.Target = d.Home, cmp.Or(m[2], m[1])
	if !strings.HasPrefix(h.Session, "discord:") {
		h.Session = "discord:channel:" + h.Target
	}
	return h, true
}
