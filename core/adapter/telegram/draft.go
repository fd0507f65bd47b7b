package telegram

import (
	"context"
	"errors"
	"strconv"
	"time"

	"gatewaytui/core/adapter"
)

// draftLasts is how long Telegram shows a draft (https://core.telegram.org/bots/api#sendmessagedraft).
const draftLasts = 30 * time.Second

// Draft implements adapter.Drafter. Telegram has drafts in private chats alone, and not for every bot. An older server of the Bot API
// does not know the call. Each of these is a *adapter.RefusedError.
func (c *conn) Draft(ctx context.Context, id int64, m adapter.Outgoing) error {
	parts := messagesOf(m.Text, m.Markdown)
	if len(parts) == 0 {
		return &adapter.RefusedError{Why: "the text is blank"}
	}
	return c.call(ctx, m.Target, func(ctx context.Context, to address) error {
		if to.chat < 0 {
			return &adapter.RefusedError{Why: "a group has no drafts"}
		}
		err := plainly(parts[len(parts)-1], func(m formatted) error { return c.api.draft(ctx, to, id, m) })
		// Here a 404 is a call that the server does not know. A token that it does not know ends the poll loop.
		if unknown, is := errors.AsType[*adapter.CredentialsError](err); is {
			return &adapter.RefusedError{Why: unknown.Why}
		}
		return err
	})
}

// draft shows m as the draft id.
func (a *api) draft(ctx context.Context, to address, id int64, m formatted) error {
	params := to.params()
	if err := m.add(params); err != nil {
		return err
	}
	params.Del("link_preview_options") // which a draft does not have
	params.Set("draft_id", strconv.FormatInt(id, 10))
	return a.write(ctx, "sendMessageDraft", params, new(bool))
}
