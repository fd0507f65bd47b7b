package matrix

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
)

// mine is who the bot is.
type mine struct {
	id string
	// name is the display name; empty: none.
	name string
}

// local is the part of the id before the homeserver.
func (m mine) local() string {
	local, _, _ := strings.Cut(strings.TrimPrefix(m.id, "@"), ":")
	return local
}

// Connect implements adapter.Platform. It knows who the bot is and has completed a first /sync when it returns without an error.
//
// The errors are of adapter's types: a *CredentialsError that names TokenSource for a token that the homeserver does not take or
// that belongs to another user, a *RateLimitError. Others are worth a retry.
func (p *Platform) Connect(ctx context.Context, r adapter.Receiver) (adapter.Conn, error) {
	api, err := p.open()
	if err != nil {
		return nil, err
	}
	c, err := p.connect(ctx, api, r)
	if err != nil {
		api.close()
		return nil, err
	}
	return c, nil
}

func (p *Platform) connect(ctx context.Context, api *api, r adapter.Receiver) (*conn, error) {
	me, err := api.me(ctx)
	if err != nil {
		return nil, err
	}
	filter, err := api.filter(ctx, me.id)
	if err != nil {
		return nil, err
	}
	c := newConn(p, api, me, filter, r)
	first, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	go c.run(first)
	go c.notices.Usher()
	return c, nil
}

// me asks who the token belongs to.
func (a *api) me(ctx context.Context) (me mine, err error) {
	var who struct {
		User string `json:"user_id"`
	}
	err = a.call(ctx, request{verb: http.MethodGet, path: v3 + "/account/whoami", limit: a.p.call}, &who)
	if failed, is := errors.AsType[*callError](err); is && failed.refused {
		return me, fmt.Errorf("adapters.matrix.homeserver does not answer as a homeserver: %w", err)
	}
	switch {
	case err != nil:
		return me, err
	case !isUser.MatchString(who.User):
		return me, errors.New("adapters.matrix.homeserver did not say who the token belongs to")
	case a.p.o.User != "" && a.p.o.User != who.User:
		return me, a.p.credentials("it belongs to %s, and adapters.matrix.user is %s", who.User, a.Clean(a.p.o.User))
	}
	var profile struct {
		Name string `json:"displayname"`
	}
	err = a.call(ctx, request{verb: http.MethodGet, path: path(v3, "profile", who.User, "displayname"), limit: a.p.call}, &profile)
	if failed, is := errors.AsType[*callError](err); is && failed.refused {
		err = nil // an account without a profile
	}
	return mine{id: who.User, name: strings.TrimSpace(profile.Name)}, err
}

// readTypes are the events that are read.
var readTypes = []string{typeMessage, typeSticker, typeReaction, typeEncrypted, typeMember}

// timelineMost is how many events of a room one /sync brings at most; where there are more, the others are asked for.
const timelineMost = 50

// wanted is a filter for what a /sync is to bring, with this many events of a room.
func wanted(most int) map[string]any {
	nothing := map[string]any{"not_types": []string{"*"}}
	return map[string]any{
		"presence": nothing, "account_data": nothing,
		"room": map[string]any{
			"timeline": map[string]any{"types": readTypes, "limit": most}, "state": nothing, "ephemeral": nothing, "account_data": nothing,
		},
	}
}

// filter has the homeserver keep what a /sync is to bring, and returns its name.
func (a *api) filter(ctx context.Context, me string) (id string, err error) {
	var kept struct {
		ID string `json:"filter_id"`
	}
	err = a.call(ctx, request{verb: http.MethodPost, path: path(v3, "user", me, "filter"), in: wanted(timelineMost), limit: a.p.call}, &kept)
	if err == nil && kept.ID == "" {
		err = errors.New("the homeserver kept no filter")
	}
	return kept.ID, err
}

// begin makes the first /sync of the connection. Where no place is known, its messages are old and it brings only invitations.
func (c *conn) begin(ctx context.Context) (first batch, err error) {
	if c.p.cursor.starts() {
		p, err := c.api.place(ctx, c.me.id)
		if err != nil {
			return first, err
		}
		c.p.cursor.begin(p)
	}
	since := c.p.cursor.since()
	if first, err = c.sync(ctx, since, 0); err != nil {
		return first, err
	}
	if since != "" {
		return first, nil
	}
	first.Rooms.Join = nil
	c.p.cursor.pass(first.Next, true)
	if err := c.keep(ctx, c.p.call, true); err != nil {
		c.log.Warn(ops.LogMatrixPlace, "error", c.api.Why(err))
	}
	return first, nil
}
