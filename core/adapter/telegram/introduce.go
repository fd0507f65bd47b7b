package telegram

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"gatewaytui/core/term"
)

// Sender is the user who sent a message.
type Sender struct {
	ID   int64
	Name string // safe to show; it may be empty
}

// Identify asks the Bot API who the bot is, and returns its name without the @. The errors are those of Connect.
func (p *Platform) Identify(ctx context.Context) (name string, err error) {
	a, err := p.open()
	if err != nil {
		return "", err
	}
	defer a.close()
	me, err := a.me(ctx)
	return term.Clean(me.Name, maxName), err
}

// AwaitSender waits for a direct message to the bot with this text and returns who sent it. It confirms no update to Telegram: what
// it read comes again to the gateway. It ends with ctx, or with the first error that another try would not cure.
func (p *Platform) AwaitSender(ctx context.Context, text string) (Sender, error) {
	a, err := p.open()
	if err != nil {
		return Sender{}, err
	}
	defer a.close()
	for {
		batch, err := a.updates(ctx, 0, p.poll)
		switch {
		case ctx.Err() != nil:
			return Sender{}, ctx.Err()
		case err != nil:
			return Sender{}, err
		}
		for _, raw := range batch {
			if s, is := senderOf(raw, text); is {
				return s, nil
			}
		}
		select { // updates that are not confirmed come at once, again and again
		case <-time.After(p.pace):
		case <-ctx.Done():
			return Sender{}, ctx.Err()
		}
	}
}

// senderOf is the sender of an update that is a direct message with this text.
func senderOf(raw json.RawMessage, text string) (Sender, bool) {
	var u struct {
		Message message `json:"message"`
	}
	if json.Unmarshal(raw, &u) != nil {
		return Sender{}, false
	}
	m := u.Message
	if m.From == nil || m.From.ID == 0 || m.From.IsBot || m.Chat.Type != "private" || !strings.EqualFold(strings.TrimSpace(m.Text), text) {
		return Sender{}, false
	}
	return Sender{ID: m.From.ID, Name: term.Clean(strings.TrimSpace(m.From.First+" "+m.From.Last), maxName)}, true
}
