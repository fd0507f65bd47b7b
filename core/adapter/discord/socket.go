package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/coder/websocket"
)

const (
	// maxFrame bounds one frame of the gateway in bytes.
	maxFrame = 8 << 20
	// writeTimeout bounds one write of a frame.
	writeTimeout = 5 * time.Second
	// maxBeat bounds the time between two heartbeats: Discord asks for about 41 seconds.
	maxBeat = time.Hour
)

// intents are the events that Discord is asked for: messages in guilds, direct messages, and the text of messages in guilds, which
// needs the operator's consent.
const intents = 1<<9 | 1<<12 | 1<<15

// identify begins a session, and resume goes on with one.
type (
	identify struct {
		Token      string     `json:"token"`
		Intents    int        `json:"intents"`
		Properties properties `json:"properties"`
	}
	properties struct {
		OS      string `json:"os"`
		Browser string `json:"browser"`
		Device  string `json:"device"`
	}
	resume struct {
		Token   string `json:"token"`
		Session string `json:"session_id"`
		Seq     int64  `json:"seq"`
	}
)

// dialSocket connects to the gateway. ctx bounds the handshake.
func (c *conn) dialSocket(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, c.p.call)
	defer cancel()
	socket, _, err := websocket.Dial(ctx, address, &websocket.DialOptions{HTTPClient: c.api.http})
	if err != nil {
		return fmt.Errorf("connect to the gateway: %s", c.api.Why(err))
	}
	socket.SetReadLimit(maxFrame)
	c.socket = socket
	return nil
}

// listen reads what the gateway sends until the socket is over, and closes it without a word: a close frame would end the session.
func (c *conn) listen() {
	defer close(c.heard)
	defer c.beats.Wait()
	defer c.hangUp()
	defer func() { _ = c.socket.CloseNow() }() // it is over in any case
	for {
		_, text, err := c.socket.Read(c.line)
		if err != nil {
			c.broke(c.closed(err))
			return
		}
		c.frame.Store(time.Now().UnixNano())
		f, err := decode(text)
		if err == nil {
			err = c.hear(f)
		}
		if err != nil {
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

// closed says why the socket cannot be read any more (https://discord.com/developers/docs/topics/opcodes-and-status-codes).
func (c *conn) closed(err error) error {
	frame, is := errors.AsType[websocket.CloseError](err)
	if !is {
		return fmt.Errorf("the connection broke off: %s", c.api.Why(err))
	}
	switch frame.Code {
	case 4004:
		return c.p.credentials("Discord does not know this bot")
	case 4013, 4014:
		return c.p.credentials("the bot may not read messages: switch on \"Message Content Intent\" of the bot at https://discord.com/developers/applications")
	case 4007, 4009:
		c.p.session.drop(c.session.id)
	case 4011:
		return errors.New("the bot is in too many guilds for one connection")
	case 4012:
		return fmt.Errorf("version %s of the gateway of Discord has ended: use a newer gatewaytui", version)
	}
	return fmt.Errorf("the gateway of Discord closed the connection with code %d: %q", int(frame.Code), c.api.Clean(frame.Reason))
}

// greet begins the heartbeat, and a session, or goes on with the one that there is.
func (c *conn) greet(every time.Duration) error {
	if every <= 0 {
		return errors.New("the gateway of Discord named no time between two heartbeats")
	}
	if c.greeted {
		return errors.New("the gateway of Discord said hello twice")
	}
	c.greeted = true
	c.beats.Go(func() { c.beat(every) })
	if c.session.id != "" && c.session.seq > 0 {
		c.seq.Store(c.session.seq)
		return c.write(opResume, resume{c.p.o.Token, c.session.id, c.session.seq})
	}
	return c.write(opIdentify, identify{c.p.o.Token, intents, properties{"linux", "gatewaytui", "gatewaytui"}})
}

// beat sends heartbeats, and ends the connection where one is not answered before the next.
func (c *conn) beat(every time.Duration) {
	next := time.NewTimer(rand.N(every)) // the first at any time, so that bots do not all send it at once
	defer next.Stop()
	for {
		select {
		case <-next.C:
		case <-c.line.Done():
			return
		}
		err := errors.New("a heartbeat was not answered by Discord in time")
		if !c.awaited.Swap(true) {
			err = c.heartbeat()
		}
		if err != nil {
			c.broke(err)
			c.hangUp()
			return
		}
		next.Reset(every)
	}
}

// heartbeat says which event came last; null is none.
func (c *conn) heartbeat() error {
	var last *int64
	if seq := c.seq.Load(); seq > 0 {
		last = &seq
	}
	return c.write(opHeartbeat, last)
}

// write sends one frame. It may be called from any goroutine.
func (c *conn) write(op int, data any) error {
	text, err := json.Marshal(struct {
		Op   int `json:"op"`
		Data any `json:"d"`
	}{op, data})
	if err != nil {
		return fmt.Errorf("write to the gateway: %w", err)
	}
	ctx, cancel := context.WithTimeout(c.line, writeTimeout)
	defer cancel()
	if err := c.socket.Write(ctx, websocket.MessageText, text); err != nil {
		return fmt.Errorf("write to the gateway: %s", c.api.Why(err))
	}
	return nil
}
