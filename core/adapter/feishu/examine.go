package feishu

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bot"
)

// permissions are what the app needs, and what for: one of the names will do. Without one the bot lacks that.
var permissions = []struct {
	use   string
	names []string
}{
	{"answers", []string{"im:message:send_as_bot", "im:message"}},
	{"messages to the bot alone", []string{"im:message.p2p_msg:readonly", "im:message.p2p_msg"}},
	{"messages of groups", []string{"im:message.group_at_msg:readonly", "im:message.group_at_msg", "im:message.group_msg"}},
	{"which message is answered", []string{"im:message:readonly", "im:message"}},
	{"files", []string{"im:resource"}},
	{"signs on messages", []string{"im:message.reactions:write_only", "im:message"}},
	{"signs on messages", []string{"im:message.reactions:read", "im:message:readonly", "im:message"}},
	{"the names of people", []string{"contact:user.base:readonly"}},
}

// lacking are the permissions that an app with these ones lacks, with what they are for.
func lacking(granted []string) (missing []string) {
	for _, p := range permissions {
		if !slices.ContainsFunc(p.names, func(name string) bool { return slices.Contains(granted, name) }) {
			missing = append(missing, p.names[0]+" ("+p.use+")")
		}
	}
	return missing
}

// Examine implements adapter.Examiner: the secret, the bot, the permissions, the clock. It asks for the address of a long connection
// and opens none.
func (p *Platform) Examine(ctx context.Context) ([]adapter.Finding, error) {
	a, err := p.open()
	if err != nil {
		return nil, err
	}
	defer a.close()
	clock := bot.Clock(a.http)
	if _, err := a.me(ctx); err != nil {
		return nil, err
	}
	if _, err := a.endpoint(ctx); err != nil {
		return nil, err
	}
	findings := []adapter.Finding{{Text: "the secret is that of the app " + p.o.AppID + ", which has a bot and may have a long connection"}}
	// https://open.feishu.cn/document/server-docs/application-v6/scope/list
	var found struct {
		Scopes []struct {
			Name  string `json:"scope_name"`
			Grant int    `json:"grant_status"` // 1 is granted
		} `json:"scopes"`
	}
	if err := a.act(ctx, request{verb: http.MethodGet, path: "/open-apis/application/v6/scopes"}, &found); err != nil {
		return clock(append(findings, adapter.Finding{Text: "the permissions of the app could not be looked up: " + err.Error()})), nil
	}
	var granted []string
	for _, s := range found.Scopes {
		if s.Grant == 1 {
			granted = append(granted, s.Name)
		}
	}
	if missing := lacking(granted); len(missing) > 0 {
		findings = append(findings, adapter.Finding{
			Text: "the app lacks the permissions " + strings.Join(missing, ", "),
			Fix:  "add them under Permissions & Scopes in the developer console, and publish a version of the app",
		})
	}
	return clock(findings), nil
}
