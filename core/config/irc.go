package config

import (
	"net"
	"slices"
	"strings"

	"gatewaytui/core/text"
)

// IRC is [adapters.irc].
type IRC struct {
	BotKeys
	Server       string `toml:"server" doc:"the server as host:port, e.g. \"irc.example:6697\""`
	TLS          bool   `toml:"tls" default:"true" doc:"whether it is spoken to with TLS; without it a password goes to a server of this machine alone"`
	Nick         string `toml:"nick" doc:"the name of the bot, and of its services account"`
	Channels     IDs    `toml:"channels" default:"" doc:"the channels that it joins and listens in, e.g. [\"#help\"]; groups are further ones"`
	PasswordEnv  string `toml:"password_env" doc:"the environment variable that holds the password of the account, or of a server without accounts; empty: none is needed"`
	PasswordFile string `toml:"password_file" doc:"a file that holds it instead"`
}

// What names a bot, a channel, a person and a home chat of IRC.
var (
	ircNick    = text.Lazily(`^[A-Za-z_\[\]\\^{}|` + "`" + `][A-Za-z0-9_\[\]\\^{}|` + "`" + `-]{0,49}$`)
	ircChannel = text.Lazily(`^[#&][^\s,:%\x00-\x1f]{1,63}$`)
	ircPerson  = text.Lazily(`^[^\s!@#,:]{1,64}(?:![^\s!@,]{1,32}@[^\s!@,]{1,100})?$`)
	ircGroup   = text.Lazily(`^irc:group:([#&][^\s,:%]{1,63})(?::user:\S+)?$`)
	ircDM      = text.Lazily(`^irc:dm:\S+$`)
)

func (i IRC) bot() Bot {
	b := i.BotKeys.bot("irc", "IRC")
	b.Allow = lower(i.Allow)
	b.Secrets = []SecretPlace{{Key: "password", Env: i.PasswordEnv, File: i.PasswordFile, Optional: true}}
	b.Homed = ircHome
	return b
}

// Rooms are the channels that the bot is in, each once.
func (i IRC) Rooms() (all []string) {
	for _, name := range slices.Concat(i.Channels, i.Groups) {
		if !slices.ContainsFunc(all, func(has string) bool { return strings.EqualFold(has, name) }) {
			all = append(all, name)
		}
	}
	return all
}

// ircHome reads a home chat: a channel, or the key of a session. The key of a person does not say which nick they have.
func ircHome(home string) (h Home, is bool) {
	home = strings.ToLower(home)
	if ircDM().MatchString(home) {
		return Home{Session: home}, true
	}
	channel, session := home, "irc:group:"+home
	if found := ircGroup().FindStringSubmatch(home); found != nil {
		channel, session = found[1], home
	}
	if !ircChannel().MatchString(channel) {
		return h, false
	}
	return Home{Session: session, Target: strings.ReplaceAll(channel, "#", "%23")}, true // as the adapter names its chats
}

// validateIRC checks what IRC alone has.
func (l *Loaded) validateIRC() {
	i := l.Config.Adapters.IRC
	host, port, err := net.SplitHostPort(i.Server)
	ip := net.ParseIP(host)
	local := host == "localhost" || ip != nil && ip.IsLoopback()
	keys := []complaint{
		{i.Enabled && (err != nil || host == "" || port == ""), "server", "must be host:port, not " + quote(i.Server)},
		{i.Enabled && !ircNick().MatchString(i.Nick), "nick", "must be a nick such as \"bot\", not " + quote(i.Nick)},
		{i.Enabled && !i.TLS && !local && (i.PasswordEnv != "" || i.PasswordFile != ""), "tls", "must be true, because a password goes to a server beyond this machine"},
	}
	for key, all := range map[string]IDs{"channels": i.Channels, "groups": i.Groups} {
		for _, name := range all {
			keys = append(keys, complaint{!ircChannel().MatchString(name), key, "must have channels such as \"#help\", not " + quote(name)})
		}
	}
	for _, who := range i.Allow {
		keys = append(keys, complaint{!ircPerson().MatchString(who), "allow", "must have services accounts, or nick!user@host as the log shows them, not " + quote(who)})
	}
	l.complain("adapters.irc", keys...)
}
