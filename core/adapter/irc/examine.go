package irc

import (
	"context"

	"gatewaytui/core/adapter"
	"gatewaytui/core/term"
)

// Examine implements adapter.Examiner: the server, its encryption, the login and what tells people apart. It takes no nick, so that the
// bot that runs keeps its own. IRC servers do not tell the time before that; a clock that is far off fails at their certificates.
func (p *Platform) Examine(ctx context.Context) ([]adapter.Finding, error) {
	c := newConn(p, nil)
	if err := c.open(ctx, true); err != nil {
		return nil, err
	}
	defer c.close()
	server := term.Clean(p.o.Server, maxName)
	first := "the server " + server + " answers"
	switch {
	case c.caps["sasl"]:
		first += " and takes the login of the account " + term.Clean(p.o.Nick, maxName)
	case p.o.Password != "":
		first += "; it has no login of accounts (SASL), so the password is tried when the bot connects"
	}
	findings := []adapter.Finding{{Text: first}}
	if !c.caps["account-tag"] {
		findings = append(findings, adapter.Finding{Text: "the server does not tell the accounts of people (account-tag): people in adapters.irc.allow are named nick!user@host"})
	}
	if !c.caps["echo-message"] {
		findings = append(findings, adapter.Finding{Text: "the server does not return messages (echo-message): a PING behind each shows that the server has it"})
	}
	return findings, nil
}
