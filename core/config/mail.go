package config

import (
	"cmp"
	"net"
	"strings"

	"gatewaytui/core/text"
)

// Mail is [adapters.mail].
type Mail struct {
	BotKeys
	IMAP         string `toml:"imap" doc:"the server of the mailbox as host:port, e.g. \"imap.example:993\"; port 993 is TLS, others use STARTTLS"`
	SMTP         string `toml:"smtp" doc:"the server that sends as host:port, e.g. \"smtp.example:587\"; port 465 is TLS, others use STARTTLS"`
	User         string `toml:"user" doc:"the name for the login at both"`
	Address      string `toml:"address" doc:"the address of the bot; empty: user"`
	PasswordEnv  string `toml:"password_env" default:"MAIL_PASSWORD" doc:"the environment variable that holds the password"`
	PasswordFile string `toml:"password_file" doc:"a file that holds it instead"`
	Folder       string `toml:"folder" default:"INBOX" doc:"the folder whose unread mails it answers, as the server writes it"`
	AuthservID   string `toml:"authserv_id" doc:"the name that your mail server writes in Authentication-Results: only senders whose domain it confirms are let in; empty: the address in From is believed, which anyone can write"`
}

func (m Mail) bot() Bot {
	b := m.BotKeys.bot("mail", "Mail")
	b.Allow = lower(m.Allow)
	b.Secrets = []SecretPlace{{Key: "password", Env: m.PasswordEnv, File: m.PasswordFile}}
	b.Homed = mailHome
	return b
}

// lower are texts in lower case: the gateway names people of mail so.
func lower(texts []string) (all []string) {
	for _, t := range texts {
		all = append(all, strings.ToLower(t))
	}
	return all
}

var mailKey = text.Lazily(`^mail:(?:dm|group):([^:]+)(?::thread:([0-9a-f]{16}))?$`)

// mailHome reads a home chat: an address, or the key of a session.
func mailHome(home string) (h Home, is bool) {
	home = strings.ToLower(home)
	key := mailKey().FindStringSubmatch(home)
	if key == nil {
		key, home = []string{"", home, ""}, "mail:dm:"+home
	}
	h = Home{Session: home, Target: key[1]}
	if key[2] != "" {
		h.Target += "/" + key[2]
	}
	return h, text.IsMailAddress(key[1])
}

// validateMail checks what mail alone has.
func (l *Loaded) validateMail() {
	m := l.Config.Adapters.Mail
	at := func(key, address string) complaint {
		_, port, err := net.SplitHostPort(address)
		return complaint{m.Enabled && (err != nil || port == ""), key, "must be host:port, not " + quote(address)}
	}
	keys := []complaint{
		at("imap", m.IMAP), at("smtp", m.SMTP),
		{m.Enabled && m.User == "", "user", "must be the name for the login"},
		{m.Enabled && m.User != "" && !text.IsMailAddress(strings.ToLower(cmp.Or(m.Address, m.User))), "address", "must be the address of the bot, because user is none"},
		{m.Enabled && !printable(m.Folder), "folder", "must be the name of a folder in ASCII, not " + quote(m.Folder)},
		{strings.ContainsAny(m.AuthservID, " \t;\""), "authserv_id", "must be one word, not " + quote(m.AuthservID)},
	}
	for key, all := range map[string]IDs{"allow": m.Allow, "groups": m.Groups} {
		for _, a := range all {
			keys = append(keys, complaint{!text.IsMailAddress(strings.ToLower(a)), key, "must have addresses such as \"alice@example.org\", not " + quote(a)})
		}
	}
	l.complain("adapters.mail", keys...)
}

// printable reports whether text has ASCII characters alone that can be seen, and blanks.
func printable(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}
