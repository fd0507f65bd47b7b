package discord

import (
	"context"
	"net/http"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bot"
	"gatewaytui/core/term"
)

// Flags of an application that may read the text of messages in channels: of one in many guilds, and of one in few
// (https://discord.com/developers/docs/resources/application#application-object-application-flags).
const (
	flagContent        = 1 << 18
	flagContentLimited = 1 << 19
)

// Examine implements adapter.Examiner: the token, the intent to read messages, the clock.
func (p *Platform) Examine(ctx context.Context) ([]adapter.Finding, error) {
	a, err := p.open()
	if err != nil {
		return nil, err
	}
	defer a.close()
	clock := bot.Clock(a.http)
	var app struct {
		Name  string `json:"name"`
		Flags int64  `json:"flags"`
	}
	if err := a.call(ctx, a.p.call, http.MethodGet, "/applications/@me", nil, &app); err != nil {
		return nil, err
	}
	findings := []adapter.Finding{{Text: "the token is that of the application " + term.Clean(app.Name, 100)}}
	if app.Flags&(flagContent|flagContentLimited) == 0 {
		findings = append(findings, adapter.Finding{
			Text: "the bot may not read the text of messages in channels",
			Fix:  "enable Message Content Intent of the bot in Discord's developer portal",
		})
	}
	return clock(findings), nil
}
