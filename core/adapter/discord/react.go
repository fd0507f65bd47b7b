package discord

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"gatewaytui/core/adapter"
)

// React implements adapter.Reactor.
func (c *conn) React(ctx context.Context, target, message, emoji string) error {
	which, err := parseID(message)
	if err != nil {
		return &adapter.RefusedError{Why: err.Error()}
	}
	return c.call(ctx, target, func(ctx context.Context, to id) error {
		at := messages(to) + "/" + which.String()
		mine, err := c.api.reactions(ctx, at)
		if _, refused := errors.AsType[*adapter.RefusedError](err); err != nil && (!refused || emoji == "") {
			return err // else the bot may not read old messages, and has put no sign there that it knows of
		}
		there := false
		for _, one := range mine {
			if there = there || one == emoji; one == emoji {
				continue
			}
			if err := c.api.act(ctx, http.MethodDelete, reaction(at, one), nil, nil); err != nil {
				return err
			}
		}
		if there || emoji == "" {
			return nil
		}
		return c.api.act(ctx, http.MethodPut, reaction(at, emoji), nil, nil)
	})
}

func reaction(at, emoji string) string { return at + "/reactions/" + url.PathEscape(emoji) + "/@me" }

// reactions are the bot's own on a message.
func (a *api) reactions(ctx context.Context, at string) (mine []string, err error) {
	var m struct {
		Reactions []struct {
			Mine  bool `json:"me"`
			Emoji struct {
				ID   string `json:"id"` // of one that a guild made
				Name string `json:"name"`
			} `json:"emoji"`
		} `json:"reactions"`
	}
	if err := a.act(ctx, http.MethodGet, at, nil, &m); err != nil {
		return nil, err
	}
	for _, r := range m.Reactions {
		if r.Mine && r.Emoji.ID == "" {
			mine = append(mine, r.Emoji.Name)
		}
	}
	return mine, nil
}
