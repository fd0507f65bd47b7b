package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"gatewaytui/core/ops"
)

const (
	// maxFailures is how many calls of /sync in a row are tried again in place. A blink of the network must not cost the
	// connection, through which answers go out; an outage must show soon.
	maxFailures = 2
	// maxPages bounds the calls that fill a gap of one room, and pageMost the events of each.
	maxPages = 5
	pageMost = 100
)

// batch is the part of the answer of a /sync that we read
// (https://spec.matrix.org/latest/client-server-api/#get_matrixclientv3sync).
type batch struct {
	Next  string `json:"next_batch"`
	Rooms struct {
		Join   map[string]joined  `json:"join"`
		Invite map[string]invited `json:"invite"`
		Leave  map[string]left    `json:"leave"`
	} `json:"rooms"`
}

// joined is what happened in a room. Limited means that events before Prev are missing.
type joined struct {
	Timeline struct {
		Events  []json.RawMessage `json:"events"`
		Limited bool              `json:"limited"`
		Prev    string            `json:"prev_batch"`
	} `json:"timeline"`
}

// invited is a room that the bot was invited to.
type invited struct {
	State struct {
		Events []json.RawMessage `json:"events"`
	} `json:"invite_state"`
}

// left is a room that the bot is no longer in.
type left struct{}

// sync makes one /sync, which the homeserver holds open for at most wait.
func (c *conn) sync(ctx context.Context, since string, wait time.Duration) (b batch, err error) {
	q := url.Values{"filter": {c.filter}, "timeout": {strconv.FormatInt(wait.Milliseconds(), 10)}}
	if since != "" {
		q.Set("since", since)
	} else {
		filter, err := encode(wanted(1)) // what there is, is old
		if err != nil {
			return b, err
		}
		q.Set("filter", string(filter))
	}
	limit := c.p.call
	if wait > 0 {
		limit = wait + 2*c.p.grace
	}
	err = c.api.call(ctx, request{verb: http.MethodGet, path: v3 + "/sync", query: q, most: maxSync, limit: limit}, &b)
	failed, is := errors.AsType[*callError](err)
	_, isLong := errors.AsType[*tooLong](err)
	switch {
	case since != "" && (is && failed.refused || isLong):
		// The homeserver does not know the place, or what it has since cannot be read: the bot begins again with what is said from
		// now on, because it would hear nothing for ever.
		c.p.cursor.drop()
		c.log.Error(ops.LogMatrixPlaceLost, "error", c.api.Why(err))
	case err == nil && b.Next == "":
		err = errors.New("the answer of /sync has no next_batch")
	}
	if err == nil {
		c.synced.Store(time.Now().UnixNano())
	}
	return b, err
}

// run handles the first batch, then one after the other, until Tasks ends or the connection is not worth holding, which it makes
// known.
func (c *conn) run(first batch) {
	defer close(c.returned)
	err := c.poll(first)
	if c.Tasks.Err() == nil {
		c.Fail(err)
	}
}

func (c *conn) poll(b batch) error {
	for failures := 0; ; {
		if b.Next != "" {
			due, err := c.handle(b)
			if err != nil {
				return err
			}
			c.p.cursor.pass(b.Next, due)
			if err := c.keep(c.Tasks, c.p.notice, false); err != nil && c.Tasks.Err() == nil {
				c.log.Warn(ops.LogMatrixPlace, "error", c.api.Why(err)) // and again after the next message
			}
		}
		c.join()
		began := time.Now()
		var err error
		b, err = c.sync(c.Tasks, c.p.cursor.since(), c.p.poll)
		switch {
		case c.Tasks.Err() != nil:
			// What a /sync just brought is not handled, so it comes again.
			return c.Tasks.Err()
		case err == nil:
			failures = 0
		case failures < maxFailures && passing(err) && c.p.cursor.since() != "":
			failures++
		default:
			return err
		}
		if pause := c.p.again - time.Since(began); pause > 0 && (err != nil || b.empty()) && !c.Sleep(pause) {
			return c.Tasks.Err()
		}
	}
}

// passing reports whether a failure is one of the network or the server, which may be over in a moment. A rate limit of the
// homeserver is none, and neither is a silence that took as long as a connection may be silent.
func passing(err error) bool {
	failed, is := errors.AsType[*callError](err)
	return is && !failed.refused && !errors.Is(err, context.DeadlineExceeded)
}

func (b batch) empty() bool { return len(b.Rooms.Join) == 0 && len(b.Rooms.Invite) == 0 }

// handle takes the events of a batch, room by room. It stops at the first one that cannot be handled. due says that one was
// handled, or that an invitation came.
func (c *conn) handle(b batch) (due bool, err error) {
	for room := range b.Rooms.Leave {
		c.p.rooms.forget(room)
		c.p.cursor.settle(room)
	}
	for room, i := range b.Rooms.Invite {
		c.invited(room, i)
	}
	for _, room := range slices.Sorted(maps.Keys(b.Rooms.Join)) {
		if !knownRoom(room) {
			continue
		}
		c.p.cursor.settle(room)
		events, err := c.events(room, b.Rooms.Join[room])
		if err != nil {
			return due, err
		}
		for _, e := range events {
			if c.Tasks.Err() != nil {
				return due, c.Tasks.Err()
			}
			if c.p.cursor.knows(e.ID) {
				continue
			}
			concerns, err := c.take(room, e)
			if err != nil {
				return due, err
			}
			due = due || concerns
			c.p.cursor.handled(e.ID)
		}
	}
	return due, nil
}

// events are what happened in a room since the last batch, in order. Where the bot has just joined, they begin with the
// invitation: what was said before is not for it.
func (c *conn) events(room string, j joined) ([]rawEvent, error) {
	events, mine := c.decode(j.Timeline.Events)
	if j.Timeline.Limited && !mine && c.p.cursor.since() != "" {
		missed, err := c.missed(room, j.Timeline.Prev)
		if err != nil {
			return nil, err
		}
		events = append(missed, events...)
	}
	return events, nil
}

// decode reads the events of a room in their order, from the bot's own invitation on if the bot joined among them, which it
// reports. One that cannot be read is left out: it will never be understood, and must not hold up the others.
func (c *conn) decode(raw []json.RawMessage) (events []rawEvent, mine bool) {
	invited := -1
	for _, text := range raw {
		e, err := decode(text)
		if err != nil {
			c.unreadable(e.Sender, err)
			continue
		}
		switch e.membership(c.me.id) {
		case "invite":
			invited = len(events)
		case "join":
			mine = true
			if invited < 0 {
				invited = len(events)
			}
			events, invited = events[invited:], 0
		}
		events = append(events, e)
	}
	return events, mine
}

// missed are the events of a room between the last batch and the place prev of the room, in order. Of very many the last ones.
func (c *conn) missed(room, prev string) (events []rawEvent, err error) {
	filter, err := encode(map[string]any{"types": readTypes})
	if err != nil {
		return nil, err
	}
	since := c.p.cursor.since()
	var all []json.RawMessage // the last one first
	for range maxPages {
		var page struct {
			Events []json.RawMessage `json:"chunk"`
			End    string            `json:"end"`
		}
		q := url.Values{"dir": {"b"}, "from": {prev}, "to": {since}, "limit": {strconv.Itoa(pageMost)}, "filter": {string(filter)}}
		err := c.api.act(c.Tasks, request{verb: http.MethodGet, path: path(v3, "rooms", room, "messages"), query: q, limit: c.p.call}, &page)
		if _, is := errors.AsType[*refused](err); is {
			return nil, nil // the bot may not look back there
		}
		if err != nil {
			return nil, fmt.Errorf("read what was missed in a room: %w", err)
		}
		all = append(all, page.Events...)
		known := slices.ContainsFunc(page.Events, func(text json.RawMessage) bool {
			e, err := decode(text)
			return err == nil && (c.p.cursor.knows(e.ID) || e.membership(c.me.id) == "join")
		})
		if prev = page.End; prev == "" || len(page.Events) == 0 || known {
			prev = ""
			break
		}
	}
	if prev != "" {
		c.log.Warn(ops.LogMatrixGap, "room", room, "read", len(all))
	}
	slices.Reverse(all)
	events, _ = c.decode(all)
	return events, nil
}

// unreadable logs an event that is not what it says, once for each sender.
func (c *conn) unreadable(sender string, err error) {
	if c.p.unreadable.Add(sender) {
		c.log.Warn(ops.LogMatrixEventUnreadable, "user", c.api.Clean(sender), "error", c.api.Why(err))
	}
}
