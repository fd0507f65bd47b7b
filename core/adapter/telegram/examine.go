package telegram

import (
	"context"
	"net/http"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bot"
	"gatewaytui/core/term"
)

// Examine implements adapter.Examiner: the token, whether the bot may be in groups and reads them, the clock. Getting updates is left
// to the gateway.
func (p *Platform) Examine(ctx context.Context) ([]adapter.Finding, error) {
	a, err := p.open()
	if err != nil {
		return nil, err
	}
	defer a.close()
	clock := bot.Clock(a.http)
	var me struct {
		Name   string `json:"username"`
		Groups bool   `json:"can_join_groups"`
		Reads  bool   `json:"can_read_all_group_messages"`
	}
	if err := a.call(ctx, a.p.call, http.MethodGet, "getMe", nil, &me); err != nil {
		return nil, err
	}
	findings := []adapter.Finding{{Text: "the token is that of the bot @" + term.Clean(me.Name, maxName)}}
	switch {
	case len(p.o.Groups) == 0:
	case !me.Groups:
		findings = append(findings, adapter.Finding{Text: "the bot may not be added to groups", Fix: "send /setjoingroups to @BotFather and choose Enable"})
	case !me.Reads:
		findings = append(findings, adapter.Finding{Text: "in groups the bot reads commands, answers to it and messages that name it, which is enough for mention = \"required\""})
	}
	return clock(findings), nil
}
