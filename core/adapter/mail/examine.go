package mail

import (
	"context"
	"errors"

	"gatewaytui/core/adapter"
	"gatewaytui/core/term"
)

// Examine implements adapter.Examiner: both logins, the folder and that mails in it can be marked as read, and whether the senders
// are checked. Mail servers do not tell the time; a clock that is far off fails at their certificates.
func (p *Platform) Examine(ctx context.Context) ([]adapter.Finding, error) {
	if address(p.o.Address) == "" {
		return nil, errors.New("adapters.mail.address is not an address")
	}
	if err := p.submitting(ctx, func(submission) error { return nil }); err != nil {
		return nil, err
	}
	findings := []adapter.Finding{{Text: "the SMTP server takes the login"}}
	c := newConn(p, nil)
	box, err := c.open(ctx, false)
	if err != nil {
		return findings, err
	}
	defer box.Close()
	findings = append(findings, adapter.Finding{Text: "the IMAP server takes the login and opens the folder " + term.Clean(p.o.Folder, 80)})
	if !idles(box) {
		findings = append(findings, adapter.Finding{Text: "the server does not tell of mails as they arrive: the gateway looks every 30 seconds"})
	}
	if p.o.AuthServer == "" {
		findings = append(findings, adapter.Finding{
			Text: "senders are not checked: anyone can write a mail with the address of a person who may use the bot",
			Fix:  "set adapters.mail.authserv_id to the first word of the topmost Authentication-Results of a mail that has arrived",
		})
	}
	return findings, nil
}
