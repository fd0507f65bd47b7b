package control

import (
	"context"
	"net/http"

	"gatewaytui/core/ops"
)

func turnsPath(session string) string { return "/v1/sessions/" + escape(session) + "/turns" }

// turns answers with one page of the turns of a conversation.
func (s *Server) turns(w http.ResponseWriter, r *http.Request, target string) {
	list(s, func(ctx context.Context, q ops.Query) (ops.Page[ops.Turn], error) {
		return s.opt.Console.Turns(ctx, target, q)
	})(w, r, target)
}

// timeline answers with what a turn did.
func (s *Server) timeline(w http.ResponseWriter, r *http.Request, target string) {
	one(s, func(ctx context.Context) (ops.Timeline, error) { return s.opt.Console.Timeline(ctx, target) }, func(t *ops.Timeline) {
		t.Items, t.Sums = filled(t.Items), filled(t.Sums)
	})(w, r, target)
}

// Turns implements ops.Console.
func (c *Client) Turns(ctx context.Context, session string, q ops.Query) (ops.Page[ops.Turn], error) {
	return get[ops.Page[ops.Turn]](ctx, c, turnsPath(session), rowValues(q))
}

// Timeline implements ops.Console.
func (c *Client) Timeline(ctx context.Context, turn string) (ops.Timeline, error) {
	return get[ops.Timeline](ctx, c, "/v1/turns/"+escape(turn), nil)
}
