package slack

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
)

// Connect implements adapter.Platform. When it returns without an error, Slack has said hello.
//
// The errors are of adapter's types: a *CredentialsError that names the source of the token that Slack does not take, a
// *RateLimitError. Others are worth a retry.
func (p *Platform) Connect(ctx context.Context, r adapter.Receiver) (adapter.Conn, error) {
	api, err := p.open()
	if err != nil {
		return nil, err
	}
	me, err := api.self(ctx)
	if err != nil {
		api.close()
		return nil, err
	}
	address, err := api.socket(ctx)
	if err != nil {
		api.close()
		return nil, err
	}
	c := newConn(p, api, me, r)
	if err := c.dialSocket(ctx, address); err != nil {
		c.EndCalls()
		c.EndTasks()
		api.close()
		return nil, err
	}
	go c.listen()
	go c.beat()
	go c.run()
	go c.notices.Usher()
	select {
	case <-c.joined:
		return c, nil
	case <-c.Done():
		err = c.Err()
	case <-ctx.Done():
		err = fmt.Errorf("wait for Slack's hello: %w", ctx.Err())
	}
	// The socket is closed and no call lasts, so that this takes no time.
	_ = c.Disconnect(context.WithoutCancel(ctx))
	return nil, err
}

// self asks who the bot is, and says once a life which scopes it lacks.
func (a *api) self(ctx context.Context) (me self, err error) {
	ctx, cancel := context.WithTimeout(ctx, a.p.call)
	defer cancel()
	header, err := a.request(ctx, a.p.o.BotToken, "auth.test", nil, &me)
	if err != nil {
		return self{}, err
	}
	if !isID(me.User) || !isID(me.Team) {
		return self{}, errors.New("auth.test: Slack did not say who the bot is")
	}
	if missing := lacking(header.Get("X-OAuth-Scopes")); len(missing) > 0 && !a.p.lacks.Swap(true) {
		a.p.log.Warn(ops.LogSlackScopes, "missing", strings.Join(missing, ", "))
	}
	return me, nil
}

// socket asks for the address of a new socket.
func (a *api) socket(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, a.p.call)
	defer cancel()
	var found struct {
		URL string `json:"url"`
	}
	if _, err := a.request(ctx, a.p.o.AppToken, "apps.connections.open", nil, &found); err != nil {
		return "", err
	}
	return a.p.address(found.URL)
}
