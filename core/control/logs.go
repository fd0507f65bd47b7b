package control

import (
	"context"
	"net/http"
	"strconv"

	"gatewaytui/core/ops"
)

// logs answers with lines of the gateway's log, newest first.
func (s *Server) logs(w http.ResponseWriter, r *http.Request, _ string) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTime)
	defer cancel()
	q, err := query(r, "about", "level", "limit", "after", "cursor")
	var limit int64
	if err == nil {
		limit, err = number(q, "limit")
	}
	var page ops.Page[ops.LogLine]
	if err == nil {
		page, err = s.opt.Console.Logs(ctx, ops.LogQuery{
			About: q.Get("about"), Level: q.Get("level"), Limit: int(min(limit, ops.MaxLimit)), After: q.Get("after"), Cursor: q.Get("cursor"),
		})
	}
	page.Items = filled(page.Items)
	s.reply(w, page, err)
}

// Logs implements ops.Console.
func (c *Client) Logs(ctx context.Context, q ops.LogQuery) (ops.Page[ops.LogLine], error) {
	given := map[string]string{"about": q.About, "level": q.Level, "after": q.After, "cursor": q.Cursor}
	if q.Limit > 0 {
		given["limit"] = strconv.Itoa(q.Limit)
	}
	return get[ops.Page[ops.LogLine]](ctx, c, "/v1/logs", values(given))
}
