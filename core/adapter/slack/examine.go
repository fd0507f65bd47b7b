package slack

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bot"
	"gatewaytui/core/term"
)

// scopes are what the bot's token needs, and what for: without one the bot lacks that.
var scopes = []struct{ name, use string }{
	{"chat:write", "answers"},
	{"im:history", "direct messages"},
	{"im:write", "notices to people"},
	{"channels:history", "messages in channels"},
	{"users:read", "the names of people"},
	{"reactions:read", "signs on messages"},
	{"reactions:write", "signs on messages"},
	{"files:read", "files that people send"},
	{"files:write", "files that the agent sends"},
}

// lacking are the scopes that a token lacks, with what they are for. granted is the header in which Slack lists those that it has; an
// empty one says nothing.
func lacking(granted string) (missing []string) {
	has := strings.FieldsFunc(granted, func(r rune) bool { return r == ',' || r == ' ' })
	for _, s := range scopes {
		if len(has) > 0 && !slices.Contains(has, s.name) {
			missing = append(missing, s.name+" ("+s.use+")")
		}
	}
	return missing
}

// Examine implements adapter.Examiner: both tokens, the scopes, the clock. It asks for the address of a socket and opens none.
func (p *Platform) Examine(ctx context.Context) ([]adapter.Finding, error) {
	a, err := p.open()
	if err != nil {
		return nil, err
	}
	defer a.close()
	clock := bot.Clock(a.http)
	var who struct {
		Name string `json:"user"`
		Team string `json:"team"`
	}
	header, err := a.request(ctx, p.o.BotToken, "auth.test", url.Values{}, &who)
	if err != nil {
		return nil, err
	}
	if _, err := a.socket(ctx); err != nil {
		return nil, err
	}
	findings := []adapter.Finding{{Text: "the tokens are those of the bot " + term.Clean(who.Name, maxName) + " in the workspace " + term.Clean(who.Team, maxName)}}
	if missing := lacking(header.Get("X-OAuth-Scopes")); len(missing) > 0 {
		findings = append(findings, adapter.Finding{
			Text: "the bot lacks the scopes " + strings.Join(missing, ", "),
			Fix:  "add them under OAuth & Permissions in the app's settings, and install the app again",
		})
	}
	return clock(findings), nil
}
