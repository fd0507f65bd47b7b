package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"gatewaytui/core/ops"
)

const (
	// maxFailures is how many polls in a row are tried again in place. A blink of the network must not cost the
	// connection, through which answers go out; an outage must show soon.
	maxFailures = 2
	// maxAttempts is how often one update is given to a Receiver that fails.
	maxAttempts = 3
)

// run is the connection's poll loop: it handles the updates of the first poll, then polls until tasks ends, or until
// the connection is not worth holding, which it makes known.
func (c *conn) run(batch []json.RawMessage) {
	defer close(c.returned)
	err := c.poll(batch)
	if c.Tasks.Err() == nil {
		c.Fail(err)
	}
}

func (c *conn) poll(batch []json.RawMessage) error {
	var began time.Time // when the poll that brought batch did; zero: pay no heed
	for failures := 0; ; {
		fresh, held, err := c.handle(batch)
		if err != nil {
			return err
		}
		pause, wait := c.p.pace-time.Since(began), c.p.poll
		switch {
		case held != nil: // the rest of an album may come in a moment
			pause, wait = albumLook, 0
		case fresh > 0:
			pause = 0
		}
		if pause > 0 && !c.Sleep(pause) {
			return c.Tasks.Err()
		}
		began = time.Now()
		offset := c.p.cursor.offset()
		batch, err = c.api.updates(c.Tasks, offset, wait)
		switch {
		case c.Tasks.Err() != nil:
			// What a poll just brought is not handled, so it comes again.
			return c.Tasks.Err()
		case err == nil:
			failures = 0
			c.polledAt(offset)
		case failures < maxFailures && passing(err):
			failures++ // and again at the pace of a poll that brought nothing
		default:
			return err
		}
		batch = joined(held, batch)
	}
}

// passing reports whether a failure is one of the network or the server, which may be over in a moment. A rate limit of Telegram's is
// none, and neither is a silence that took as long as a connection may be silent.
func passing(err error) bool {
	_, is := errors.AsType[*callError](err)
	return is && !errors.Is(err, context.DeadlineExceeded)
}

// handle takes the updates of a batch and moves the cursor past those that are handled. The messages of allowed users go
// first, each group in its order, so that no number of unknown users delays them (HF16). It stops at the first update that cannot
// be handled. fresh is how many were new to us; held are those that wait for the rest of an album.
func (c *conn) handle(batch []json.RawMessage) (fresh int, held []json.RawMessage, err error) {
	var order, waiting []int64
	var first, rest []update
	isFresh := map[int64]bool{}
	var broken error
	for _, raw := range batch {
		id, err := updateID(raw)
		if err != nil {
			broken = c.api.failed("getUpdates", err)
			break
		}
		order = append(order, id)
		if isFresh[id] || c.p.cursor.knows(id) {
			continue
		}
		isFresh[id] = true
		e, err := read(raw, c.me)
		if err != nil {
			// It will never be understood, and it must not hold up the others.
			c.log.Warn(ops.LogTelegramUpdateUnreadable, "update", id, "error", c.api.Why(err))
		}
		u := update{event: e, ids: []int64{id}}
		if e.kind != nothing && c.admits(e) {
			first = append(first, u)
		} else {
			rest = append(rest, u)
		}
	}
	first, waiting = c.albums.join(first, time.Now())
	for i, id := range order {
		if slices.Contains(waiting, id) {
			held = append(held, batch[i])
		}
	}
	defer func() { c.p.cursor.pass(order, isFresh) }()
	for _, u := range append(first, rest...) {
		fresh++
		if c.Tasks.Err() != nil {
			return fresh, nil, c.Tasks.Err()
		}
		if err := c.take(u.event, u.ids[0]); err != nil {
			return fresh, nil, err
		}
		for _, id := range u.ids {
			c.p.cursor.handled(id)
		}
	}
	return fresh, held, broken
}

// update is an update of a batch that was read, or several that are one album.
type update struct {
	event event
	ids   []int64
}

// listens reports whether the bot reads the chat of an event.
func (p *Platform) listens(e event) bool {
	return e.private || slices.Contains(p.o.Groups, e.from.chat)
}

// take handles one update. The update is handled if take returns no error.
func (c *conn) take(e event, id int64) error {
	switch {
	case e.kind == nothing:
		return nil
	case !c.admits(e):
		c.reject(e)
		return nil
	case !c.p.listens(e):
		c.rejectGroup(e)
		return nil
	case e.kind == unread:
		c.replyUnread(e)
		return nil
	case e.press != "" && !c.acknowledge(&e):
		return nil
	}
	err := c.notices.Hand(c.receiver, e.message)
	if err == nil {
		c.notices.Accepted(e.from)
		return nil
	}
	if refusal, is := errors.AsType[*ops.Error](err); is {
		return c.notices.Refuse(e.from, e.message.Session, refusal)
	}
	if c.Tasks.Err() != nil {
		return c.Tasks.Err()
	}
	if c.p.cursor.failed(id) < maxAttempts {
		return fmt.Errorf("hand a message on: %w", err)
	}
	c.log.Error(ops.LogTelegramMessageLost, "session", e.message.Session, "attempts", maxAttempts, "error", c.api.Why(err))
	return c.notices.Tell(e.from, "Your message could not be taken, because of a fault of the gateway. Please send it again later.")
}
