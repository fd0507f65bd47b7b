package telegram

import (
	"context"
	"encoding/json"
	"strings"

	"gatewaytui/core/adapter"
)

// React implements adapter.Reactor. Telegram has few emoji for it (https://core.telegram.org/bots/api#reactiontypeemoji); another
// one is a *adapter.RefusedError.
func (c *conn) React(ctx context.Context, target, id, emoji string) error {
	message, err := messageID(id)
	if err != nil {
		return err
	}
	type reaction struct {
		Type  string `json:"type"`
		Emoji string `json:"emoji"`
	}
	signs := []reaction{}
	if emoji = strings.ReplaceAll(emoji, "\uFE0F", ""); emoji != "" { // those of Telegram have no variation selector
		signs = append(signs, reaction{"emoji", emoji})
	}
	list, err := json.Marshal(signs)
	if err != nil {
		return &adapter.RefusedError{Why: err.Error()}
	}
	return c.call(ctx, target, func(ctx context.Context, to address) error {
		params := to.message(message)
		params.Set("reaction", string(list))
		return c.api.write(ctx, "setMessageReaction", params, new(bool))
	})
}
