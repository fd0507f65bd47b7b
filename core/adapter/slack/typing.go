package slack

import (
	"context"
	"net/url"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
)

// Typing implements adapter.Typer: Slack shows next to a message that the bot works
// (https://docs.slack.dev/reference/methods/assistant.threads.setStatus). A target that names no message is refused.
func (c *conn) Typing(ctx context.Context, target string) error {
	to, answers, err := parseTarget(target)
	if err != nil {
		return err
	}
	next := to.thread
	if next == "" {
		next = answers
	}
	if next == "" {
		return &adapter.RefusedError{Why: "Slack shows that a bot works next to a message, and the target names none"}
	}
	return c.While(ctx, func(ctx context.Context) error {
		if to.thread == "" {
			c.mu.Lock()
			c.shows[to.channel] = next
			c.mu.Unlock()
		}
		return c.api.status(ctx, to.channel, next, "is typing…")
	})
}

func (a *api) status(ctx context.Context, channel, message, status string) error {
	return a.act(ctx, "assistant.threads.setStatus", url.Values{"channel_id": {channel}, "thread_ts": {message}, "status": {status}}, nil)
}

// shown ends what a chat with one person shows, because a message of the bot is there. In a thread Slack does that itself.
func (c *conn) shown(ctx context.Context, target string) {
	to, _, err := parseTarget(target)
	if err != nil || to.thread != "" {
		return
	}
	c.mu.Lock()
	message, shows := c.shows[to.channel]
	delete(c.shows, to.channel)
	c.mu.Unlock()
	if !shows {
		return
	}
	err = c.While(ctx, func(ctx context.Context) error { return c.api.status(ctx, to.channel, message, "") })
	if err != nil { // it ends by itself
		c.log.Debug(ops.LogSlackNotice, "error", err.Error())
	}
}
