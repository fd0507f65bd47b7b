package matrix

import (
	"context"
	"net/http"
	"slices"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bot"
)

// Examine implements adapter.Examiner: the token, whether the bot is in the listed rooms and can read them, the clock.
func (p *Platform) Examine(ctx context.Context) ([]adapter.Finding, error) {
	a, err := p.open()
	if err != nil {
		return nil, err
	}
	defer a.close()
	clock := bot.Clock(a.http)
	me, err := a.me(ctx)
	if err != nil {
		return nil, err
	}
	findings := []adapter.Finding{{Text: "the token is that of " + me.id}}
	var joined struct {
		Rooms []string `json:"joined_rooms"`
	}
	if err := a.call(ctx, request{verb: http.MethodGet, path: v3 + "/joined_rooms", limit: p.call}, &joined); err != nil {
		return findings, err
	}
	for _, room := range p.o.Groups {
		if !slices.Contains(joined.Rooms, room) {
			findings = append(findings, adapter.Finding{Text: "the bot is not in the room " + a.Clean(room), Fix: "have someone of adapters.matrix.allow invite " + me.id + " to it, while the gateway runs"})
			continue
		}
		encrypted := request{verb: http.MethodGet, path: path(v3, "rooms", room, "state", "m.room.encryption"), limit: p.call}
		if a.call(ctx, encrypted, nil) == nil {
			findings = append(findings, adapter.Finding{Text: "the room " + a.Clean(room) + " is encrypted, and the bot cannot read it", Fix: "make a room without encryption, and list that one in adapters.matrix.groups"})
		}
	}
	return clock(findings), nil
}
