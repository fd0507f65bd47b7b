//go:build !no_mail

package platforms

import (
	"log/slog"

	"gatewaytui/core/adapter/mail"
	"gatewaytui/core/config"
)

func init() {
	add("mail", func(a config.Adapters, s secrets, log *slog.Logger) mail.Options {
		m := a.Mail
		return mail.Options{
			IMAP: m.IMAP, SMTP: m.SMTP, User: m.User, Address: m.Address, Folder: m.Folder, AuthServer: m.AuthservID, Groups: m.Groups,
			Password: s["password"].Value, PasswordSource: s["password"].Source, Log: log,
		}
	}, mail.New)
}
