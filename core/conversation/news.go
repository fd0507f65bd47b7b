package conversation

import (
	"context"
	"strings"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
)

// cutOffNote is what a model learns of a turn that was interrupted before its own.
const cutOffNote = "The previous turn of this conversation was interrupted before it ended. What it had started may be half done; look before you repeat a step."

// note is what the model learns for one turn alone: what happened to its session since the turn before. giveBack keeps the news
// for another turn.
func (c *Conversations) note(t *session.Turn) (note string, giveBack func()) {
	note, giveBack = c.o.News.Take(t.Session.Key)
	if t.Session.State == ops.SessionInterrupted {
		note = strings.TrimSpace(cutOffNote + "\n\n" + note)
	}
	return note, giveBack
}

// sayExpired tells a chat, before the first answer of a new conversation, that the one before expired, and how to go on with it.
func (c *Conversations) sayExpired(ctx context.Context, t *session.Turn) {
	key := t.Session.Key
	if t.Session.Stored || t.Message.Instant || !c.now().Policy.Expires() || session.IsBackground(key) {
		return
	}
	ended, err := c.store.EndedSessions(ctx, key, 1)
	if err != nil {
		c.o.Log.Warn("earlier conversation not read", "session", key, "error", clean(err))
	}
	if len(ended) == 0 || !session.IsExpiry(ended[0].EndReason) {
		return
	}
	c.o.Outbox.Post(key, t.Message.Target, "This is a new conversation. The one before expired ("+ended[0].EndReason+"); /resume "+ended[0].ID+" continues it.")
}
