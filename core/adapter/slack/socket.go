package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/coder/websocket"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
)

const (
	// maxFrame bounds one frame of the socket in bytes.
	maxFrame = 4 << 20
	// writeTimeout bounds one write of a frame.
	writeTimeout = 5 * time.Second
)

// envelope is one frame from Slack.
type envelope struct {
	// Type is hello, disconnect, events_api, interactive or slash_commands.
	Type string `json:"type"`
	// ID is what an acknowledgement names.
	ID string `json:"envelope_id"`
	// Reason is why Slack wants the connection to end.
	Reason string `json:"reason"`
	// Connections is how many sockets of the app are open, with this one; of a hello.
	Connections int             `json:"num_connections"`
	Payload     json.RawMessage `json:"payload"`
}

// dialSocket connects to the address that Slack gave. ctx bounds the handshake.
func (c *conn) dialSocket(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, c.p.call)
	defer cancel()
	noted := func() { c.frame.Store(time.Now().UnixNano()) }
	socket, _, err := websocket.Dial(ctx, address, &websocket.DialOptions{
		HTTPClient:     c.api.http,
		OnPingReceived: func(context.Context, []byte) bool { noted(); return true },
		OnPongReceived: func(context.Context, []byte) { noted() },
	})
	if err != nil {
		return fmt.Errorf("connect to the socket: %s", c.api.Why(err)) // what is inside has the ticket
	}
	socket.SetReadLimit(maxFrame)
	c.socket = socket
	return nil
}

// listen reads what Slack sends until the socket is over, and closes it.
func (c *conn) listen() {
	defer close(c.heard)
	defer c.hangUp()
	defer func() { _ = c.socket.CloseNow() }() // without the closing handshake, for which a dead peer would be waited for
	for {
		_, text, err := c.socket.Read(c.line)
		if err != nil {
			c.broke(fmt.Errorf("the connection broke off: %s", c.api.Why(err)))
			return
		}
		c.frame.Store(time.Now().UnixNano())
		var e envelope
		if err := json.Unmarshal(text, &e); err != nil {
			c.log.Warn(ops.LogSlackEventUnreadable, "type", "frame", "error", c.api.Why(err))
			continue
		}
		if err := c.hear(e); err != nil {
			c.broke(err)
			return
		}
	}
}

// broke ends the connection for a reason, unless it was to end.
func (c *conn) broke(why error) {
	if c.line.Err() == nil {
		c.Fail(why)
	}
}

// hear takes one frame. Its error is why the connection is over.
func (c *conn) hear(e envelope) error {
	switch e.Type {
	case "hello":
		if c.hasJoined() {
			return nil
		}
		c.shared(e.Connections)
		close(c.joined)
		return nil
	case "disconnect":
		if e.Reason == "link_disabled" {
			return c.p.appCredentials("Socket Mode is switched off: switch it on in the app's settings")
		}
		if !c.hasJoined() {
			return errors.New("another connection was asked for by Slack at once")
		}
	}
	return c.queue(e)
}

// queue hands a frame to run. Where too many wait, the socket is not read for a moment; Slack delivers again what is not acknowledged.
func (c *conn) queue(e envelope) error {
	select {
	case c.events <- e:
		return nil
	default:
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case c.events <- e:
		return nil
	case <-c.line.Done():
		return errors.New("the connection is closed")
	case <-limit.C:
		return fmt.Errorf("%d messages wait to be taken", maxWaiting)
	}
}

// beat pings Slack, so that a connection through which nothing comes any more ends.
func (c *conn) beat() {
	defer close(c.beaten)
	tick := time.NewTicker(c.p.beat)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-c.line.Done():
			return
		}
		ctx, cancel := context.WithTimeout(c.line, c.p.call)
		err := c.socket.Ping(ctx)
		cancel()
		if err != nil {
			c.broke(errors.New("a ping was not answered by Slack in time"))
			c.hangUp()
			return
		}
	}
}

// acknowledge tells Slack that an envelope was handled. payload is what the sender of a slash command sees; nil is none. Where it does
// not arrive, Slack delivers the envelope again.
func (c *conn) acknowledge(id string, payload any) error {
	if id == "" {
		return nil
	}
	text, err := json.Marshal(struct {
		ID      string `json:"envelope_id"`
		Payload any    `json:"payload,omitempty"`
	}{id, payload})
	if err != nil {
		return fmt.Errorf("acknowledge a message: %w", err)
	}
	ctx, cancel := context.WithTimeout(c.line, writeTimeout)
	defer cancel()
	if err := c.socket.Write(ctx, websocket.MessageText, text); err != nil {
		return fmt.Errorf("acknowledge a message: %s", c.api.Why(err))
	}
	return nil
}

// address is where the socket is. It is never in the clear where the API is not.
func (p *Platform) address(of string) (string, error) {
	u, err := url.Parse(of)
	if err != nil || u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss" {
		return "", &adapter.UnsentError{Err: errors.New("no address of a socket was given by Slack")}
	}
	if u.Scheme == "ws" && strings.HasPrefix(p.o.BaseURL, "https:") {
		return "", &adapter.UnsentError{Err: errors.New("the address of the socket that Slack gave is not encrypted")}
	}
	return of, nil
}
