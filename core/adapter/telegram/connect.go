package telegram

import (
	"context"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
)

// Connect implements adapter.Platform. It has asked who the bot is, and completed a first poll, when it returns without an
// error. A webhook of the bot is removed, because Telegram refuses polls while one is set; its updates are kept.
//
// The errors are of adapter's types: a *CredentialsError that names TokenSource for a token that Telegram does not know,
// a *ConflictError while another program polls, a *RateLimitError. Others are worth a retry.
func (p *Platform) Connect(ctx context.Context, r adapter.Receiver) (adapter.Conn, error) {
	api, err := p.open()
	if err != nil {
		return nil, err
	}
	c, err := p.connect(ctx, api, r)
	if err != nil {
		api.close()
		return nil, err
	}
	return c, nil
}

func (p *Platform) connect(ctx context.Context, api *api, r adapter.Receiver) (*conn, error) {
	me, err := api.me(ctx)
	if err != nil {
		return nil, err
	}
	offset := p.cursor.offset()
	batch, err := api.updates(ctx, offset, 0)
	if isWebhook(err) {
		if err := api.removeWebhook(ctx); err != nil {
			return nil, err
		}
		p.log.Warn(ops.LogTelegramWebhookRemoved, "bot", me.ID)
		batch, err = api.updates(ctx, offset, 0)
	}
	if err != nil {
		return nil, err
	}
	c := newConn(p, api, me, r)
	c.polledAt(offset)
	go c.run(batch)
	go c.notices.Usher()
	return c, nil
}
