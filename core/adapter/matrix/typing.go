package matrix

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// typingLasts is how long a call says that someone types. The homeserver is asked for a little more, so that the sign does not
// flicker while it is renewed.
const (
	typingLasts = 20 * time.Second
	typingMore  = 5 * time.Second
)

// typing is where the bot types: a message does not end the sign by itself. The zero value is ready.
type typing struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// Typing implements adapter.Typer.
func (c *conn) Typing(ctx context.Context, target string) error {
	return c.call(ctx, target, func(ctx context.Context, to address) error {
		c.typing.begin(to.room)
		return c.api.typing(ctx, c.me.id, to.room, true)
	})
}

func (a *api) typing(ctx context.Context, me, room string, on bool) error {
	in := map[string]any{"typing": on}
	if on {
		in["timeout"] = (typingLasts + typingMore).Milliseconds()
	}
	return a.act(ctx, request{verb: http.MethodPut, path: path(v3, "rooms", room, "typing", me), in: in}, nil)
}

func (t *typing) begin(room string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.until == nil || len(t.until) >= maxRooms {
		t.until = map[string]time.Time{}
	}
	t.until[room] = time.Now().Add(typingLasts + typingMore)
}

// end takes the sign away, if it is shown. The message that has arrived does not wait long for it.
func (t *typing) end(ctx context.Context, c *conn, room string) {
	t.mu.Lock()
	until, typed := t.until[room]
	delete(t.until, room)
	t.mu.Unlock()
	if !typed || time.Now().After(until) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.p.last)
	defer cancel()
	c.polite(c.api.typing(ctx, c.me.id, room, false))
}
