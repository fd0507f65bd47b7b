package matrix

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"unicode"

	"gatewaytui/core/adapter"
)

// reaction is a reaction as an event.
type reaction struct {
	Relates relation `json:"m.relates_to"`
}

// React implements adapter.Reactor.
func (c *conn) React(ctx context.Context, target, message, emoji string) error {
	if emoji != "" && !isEmoji(emoji) {
		return &adapter.RefusedError{Why: fmt.Sprintf("%.40q is not an emoji", emoji)}
	}
	return c.about(ctx, target, message, func(ctx context.Context, to address) error {
		mine, err := c.reactions(ctx, to.room, message)
		if err != nil {
			return err
		}
		there := false
		for _, m := range mine {
			if m.key == emoji && !there {
				there = true
				continue
			}
			if err := c.api.redact(ctx, to.room, m.event); err != nil {
				return err
			}
		}
		if there || emoji == "" {
			return nil
		}
		return c.react(ctx, to.room, message, emoji)
	})
}

// isEmoji reports whether text is a sign and not a word. Matrix takes any text.
func isEmoji(text string) bool {
	sign := false
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsSpace(r) || unicode.IsControl(r) {
			return false
		}
		sign = sign || r > 0xff
	}
	return sign && len(text) <= 64
}

// react puts a reaction on a message.
func (c *conn) react(ctx context.Context, room, message, key string) error {
	_, err := c.api.put(ctx, room, typeReaction, reaction{relation{Kind: relAnnotation, Event: message, Key: key}}, transaction("", 0))
	return err
}

// reacted is a reaction of the bot: the event, and what it shows.
type reacted struct{ event, key string }

// reactions are the bot's own on a message.
func (c *conn) reactions(ctx context.Context, room, message string) (mine []reacted, err error) {
	err = c.api.related(ctx, room, message, relAnnotation, typeReaction, func(e rawEvent, is content) bool {
		if e.Sender == c.me.id && !e.redacted() && is.Relates != nil {
			mine = append(mine, reacted{e.ID, is.Relates.Key})
		}
		return true
	})
	return mine, err
}

// related calls f for the events that relate to a message, the last one first, until f returns false. Of very many it sees only the
// last ones.
func (a *api) related(ctx context.Context, room, message, rel, typed string, f func(rawEvent, content) bool) error {
	q := url.Values{"dir": {"b"}, "limit": {strconv.Itoa(pageMost)}}
	for range maxPages {
		var page struct {
			Events []jsonEvent `json:"chunk"`
			Next   string      `json:"next_batch"`
		}
		err := a.act(ctx, request{verb: http.MethodGet, path: path(v1, "rooms", room, "relations", message, rel, typed), query: q}, &page)
		if err != nil {
			return err
		}
		for _, e := range page.Events {
			if e.is && !f(e.event, e.content) {
				return nil
			}
		}
		if page.Next == "" {
			return nil
		}
		q.Set("from", page.Next)
	}
	return nil
}
