package slack

import (
	"cmp"
	"context"
	"net/url"
	"strings"
	"sync"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

const (
	// maxNames bounds the users whose names are remembered, and maxHandled the messages.
	maxNames   = 4096
	maxHandled = 4096
	// nameless is how long names are not asked for after Slack did not tell one.
	nameless = time.Minute
)

// names remembers what people are called, which a message does not say, or which channel the chat with them is.
type names struct {
	mu    sync.Mutex
	known map[string]string // by user
	// quietUntil is when names are asked for again.
	quietUntil time.Time
}

// look is the name of a user if it is known.
func (n *names) look(user string) (name string, known bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	name, known = n.known[user]
	return name, known || time.Now().Before(n.quietUntil)
}

func (n *names) learn(user, name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil || len(n.known) >= maxNames {
		n.known = map[string]string{}
	}
	n.known[user] = name
}

func (n *names) quiet() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.quietUntil = time.Now().Add(nameless)
}

// name is what a user is called; empty if Slack does not tell. It asks Slack the first time.
func (c *conn) name(user string) string {
	name, known := c.p.names.look(user)
	if known {
		return name
	}
	var found struct {
		User struct {
			Name    string `json:"name"`
			Real    string `json:"real_name"`
			Profile struct {
				Shown string `json:"display_name"`
			} `json:"profile"`
		} `json:"user"`
	}
	ctx, cancel := context.WithTimeout(c.Tasks, c.p.notice)
	defer cancel()
	if err := c.api.call(ctx, "users.info", url.Values{"user": {user}}, &found); err != nil {
		c.log.Debug(ops.LogSlackName, "error", err.Error())
		c.p.names.quiet()
		return ""
	}
	u := found.User
	name = term.Clean(cmp.Or(u.Profile.Shown, u.Real, u.Name), maxName)
	c.p.names.learn(user, name)
	return name
}

// channel is the channel of an address: one that is the id of a person stands for the chat with them, which may have to be opened.
func (c *conn) channel(ctx context.Context, address string) (string, error) {
	if !strings.HasPrefix(address, "U") && !strings.HasPrefix(address, "W") {
		return address, nil
	}
	if channel, known := c.p.alone.look(address); known && channel != "" {
		return channel, nil
	}
	var found struct {
		Channel struct {
			ID string `json:"id"`
		} `json:"channel"`
	}
	err := c.api.act(ctx, "conversations.open", url.Values{"users": {address}}, &found)
	switch {
	case err != nil:
		return "", unsent(err)
	case !isID(found.Channel.ID):
		return "", &adapter.RefusedError{Why: "Slack opened no chat with the person"}
	}
	c.p.alone.learn(address, found.Channel.ID)
	return found.Channel.ID, nil
}

// recent remembers the messages that were handled last, by adapter.Inbound.Dedupe. The zero value is ready.
type recent struct {
	mu    sync.Mutex
	known map[string]struct{}
	order []string // the oldest first, once there are maxHandled a ring
	next  int
}

func (r *recent) has(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, has := r.known[key]
	return has
}

func (r *recent) add(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known = map[string]struct{}{}
	}
	if _, has := r.known[key]; has {
		return
	}
	r.known[key] = struct{}{}
	if len(r.order) < maxHandled {
		r.order = append(r.order, key)
		return
	}
	delete(r.known, r.order[r.next])
	r.order[r.next] = key
	r.next = (r.next + 1) % maxHandled
}
