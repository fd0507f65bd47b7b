package discord

import (
	"context"
	"errors"
	"net/http"
	"sync"
)

// maxChannels bounds the channels that are remembered.
const maxChannels = 4096

// channel is the part of a channel of a guild that we read.
type channel struct {
	Type   int `json:"type"`
	Parent id  `json:"parent_id"`
}

// Thread reports whether the channel is a thread: of announcements, public or private.
func (c channel) Thread() bool { return c.Type >= 10 && c.Type <= 12 && c.Parent != 0 }

// channels remembers what the channels of guilds are. A message does not say whether it is in a thread.
type channels struct {
	mu    sync.Mutex
	known map[id]channel
}

// get is what the channel is; it asks Discord the first time.
func (c *channels) get(ctx context.Context, a *api, which id) (channel, error) {
	c.mu.Lock()
	found, ok := c.known[which]
	c.mu.Unlock()
	if ok {
		return found, nil
	}
	err := a.call(ctx, a.p.call, http.MethodGet, "/channels/"+which.String(), nil, &found)
	if failed, is := errors.AsType[*callError](err); is && failed.refused {
		err = nil // the bot may read there and not look: what it is stays unknown
	}
	if err != nil {
		return channel{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxChannels {
		c.known = map[id]channel{}
	}
	c.known[which] = found
	return found, nil
}
