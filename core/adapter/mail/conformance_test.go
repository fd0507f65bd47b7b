package mail

import (
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/conformance"
	"gatewaytui/core/adapter/mail/mailtest"
)

// steered is the world as the conformance suite steers it.
type steered struct{ *world }

func (p *steered) Platform() adapter.Platform { return p.world.Platform }

func (p *steered) Say(text string) { p.say(text) }

func (p *steered) Pass(d time.Duration) { p.after(d) }

func (p *steered) SayFile(text, name, content string) {
	p.write(mailtest.Says{Text: text, Files: map[string]string{name: content}})
}

func (p *steered) Files() (out []conformance.SentFile) {
	for _, m := range p.mails.Sent() {
		for _, f := range m.Files {
			out = append(out, conformance.SentFile{Name: f.Name, Content: f.Content, Text: strings.TrimSuffix(m.Text, "\n")})
		}
	}
	return out
}

func (p *steered) Texts() []string { return p.texts() }

func (p *steered) Fail(f conformance.Fault) bool {
	switch f {
	case conformance.Flood:
		p.mails.Fail(mailtest.Faults{Recipient: &smtp.SMTPError{Code: 450, EnhancedCode: smtp.EnhancedCode{4, 7, 0}, Message: "too many mails"}})
	case conformance.Refusal:
		p.mails.Fail(mailtest.Faults{Recipient: &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "there is no such mailbox"}})
	case conformance.BadToken:
		p.mails.Fail(mailtest.Faults{BadPassword: true})
	case conformance.Gone:
		p.mails.Fail(mailtest.Faults{Gone: true})
		p.mails.Drop()
	case conformance.HalfDead:
		p.mails.Fail(mailtest.Faults{Silent: true})
	default: // several programs may use a mailbox
		return false
	}
	return true
}

func (p *steered) Heal() { p.mails.Fail(mailtest.Faults{}) }

func TestPL2_MailConforms(t *testing.T) {
	conformance.Run(t, func(t *testing.T, f func(t *testing.T, p conformance.Peer)) {
		simulate(t, func(w *world) { f(w.T, &steered{w}) })
	})
}
