package discord

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"gatewaytui/core/adapter"
)

// Connect implements adapter.Platform. When it returns without an error, Discord has taken the bot's session.
//
// The errors are of adapter's types: a *CredentialsError that names TokenSource for a token that Discord does not know and for a
// bot that may not read messages, a *RateLimitError. Others are worth a retry.
func (p *Platform) Connect(ctx context.Context, r adapter.Receiver) (adapter.Conn, error) {
	api, err := p.open()
	if err != nil {
		return nil, err
	}
	from := p.session.get()
	address := from.url
	if address == "" {
		if address, err = api.gateway(ctx); err != nil {
			api.close()
			return nil, err
		}
	}
	if address, err = p.address(address); err != nil {
		api.close()
		p.session.drop(from.id)
		return nil, err
	}
	c := newConn(p, api, r, from)
	if err := c.dialSocket(ctx, address); err != nil {
		c.EndCalls()
		c.EndTasks()
		api.close()
		p.session.moved(from.id)
		return nil, err
	}
	go c.listen()
	go c.run() // what a resumed session brings comes before its beginning is known
	go c.notices.Usher()
	select {
	case <-c.joined:
		return c, nil
	case <-c.Done():
		err = c.Err()
	case <-ctx.Done():
		err = fmt.Errorf("wait for the session: %w", ctx.Err())
	}
	c.EndCalls()
	<-c.heard                                     // the socket is closed, so that it takes no time
	_ = c.CancelTasks(context.WithoutCancel(ctx)) // no call lasts, so that this takes none either
	api.close()
	p.session.moved(from.id)
	return nil, err
}

// address is where the gateway is, with what Discord wants in it. It is never in the clear where the API is not.
func (p *Platform) address(of string) (string, error) {
	u, err := url.Parse(of)
	if err != nil || u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss" {
		return "", errors.New("no address of the gateway of Discord was given")
	}
	if u.Scheme == "ws" && strings.HasPrefix(p.o.BaseURL, "https:") {
		return "", errors.New("the address of the gateway that Discord gave is not encrypted")
	}
	return strings.TrimSuffix(of, "/") + "/?v=" + version + "&encoding=json", nil
}
