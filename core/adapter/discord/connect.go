package discord

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/diamondburned/arikawa/v3/gateway"
	"github.com/diamondburned/arikawa/v3/utils/ws"

	"gatewaytui/core/adapter"
)

// intents are the events that Discord is asked for. The text of messages in guilds needs the operator's consent.
const intents = gateway.IntentGuildMessages | gateway.IntentDirectMessages | gateway.IntentMessageContent

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
	go c.listen(c.join(address, from))
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

// join begins the session, or goes on with one. The library identifies or resumes, and keeps the heartbeat.
func (c *conn) join(address string, from resumable) <-chan ws.Op {
	opts := ws.GatewayOpts{
		ReconnectAttempt: 1, // the Supervisor makes the others
		ReconnectDelay:   func(int) time.Duration { return 0 },
		FatalCloseCodes:  gateway.DefaultGatewayOpts.FatalCloseCodes,
	}
	state := gateway.State{SessionID: from.id, Sequence: from.seq}
	// Its limiters are per connection, and so of no use here; Discord's own limit is in api.gateway.
	state.Identifier = gateway.Identifier{IdentifyCommand: gateway.DefaultIdentifyCommand(c.p.o.Token)}
	state.Identifier.Compress = false
	state.Identifier.Properties = gateway.IdentifyProperties{
		gateway.IdentifyOS: "linux", gateway.IdentifyBrowser: "gatewaytui", gateway.IdentifyDevice: "gatewaytui",
	}
	state.Identifier.AddIntents(intents)
	g := gateway.FromWebsocketGateway(ws.NewGateway(ws.NewCustomWebsocket(c.socket, address), &opts), state)
	return g.Connect(c.line)
}

// closed says what a close code of the gateway means (https://discord.com/developers/docs/topics/opcodes-and-status-codes).
func (c *conn) closed(e *ws.CloseEvent) error {
	switch e.Code {
	case 4004:
		return c.p.credentials("Discord does not know this bot")
	case 4013, 4014:
		return c.p.credentials("the bot may not read messages: switch on \"Message Content Intent\" of the bot at https://discord.com/developers/applications")
	case 4007, 4009:
		c.p.session.drop(c.session.id)
	case 4011:
		return errors.New("the bot is in too many guilds for one connection")
	}
	if e.Code > 0 {
		return fmt.Errorf("the gateway of Discord closed the connection with code %d: %s", e.Code, c.api.Why(e.Err))
	}
	return fmt.Errorf("the connection broke off: %s", c.api.Why(e.Err))
}
