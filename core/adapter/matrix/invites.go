package matrix

import (
	"errors"
	"net/http"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
)

// joinPause is the time between two tries to join a room.
const joinPause = time.Minute

// invited notes an invitation, which join accepts.
func (c *conn) invited(room string, i invited) {
	for _, text := range i.State.Events {
		var e rawEvent // of these only the type, the sender and the content are sent
		if e, _ = decode(text); e.membership(c.me.id) == "invite" {
			c.p.cursor.waits(room, invite{by: e.Sender})
		}
	}
}

// join accepts the invitations of users who may speak. The homeserver says nothing if the bot is in the room already.
func (c *conn) join() {
	for room, by := range c.p.cursor.waiting(time.Now()) {
		if c.Tasks.Err() != nil {
			return
		}
		if !c.receiver.Admits(adapter.User{Platform: "matrix", ID: by}) {
			if c.p.unknown.Add(by) {
				c.log.Warn(ops.LogMatrixInvite, "user", by, "room", room)
			}
			continue
		}
		err := c.api.act(c.Tasks, request{verb: http.MethodPost, path: path(v3, "join", room), in: struct{}{}, limit: c.p.call}, nil)
		if _, gone := errors.AsType[*refused](err); err == nil || gone {
			c.p.cursor.settle(room)
		} else {
			c.p.cursor.waits(room, invite{by: by, after: time.Now().Add(adapter.Pause(err, joinPause))})
		}
		if err != nil && c.Tasks.Err() == nil {
			c.log.Warn(ops.LogMatrixInvite, "user", by, "room", room, "error", c.api.Why(err))
		}
	}
}
