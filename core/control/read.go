package control

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"gatewaytui/core/ops"
)

// snapshot answers with the tables, each bounded by the parameter of its name.
func (s *Server) snapshot(w http.ResponseWriter, r *http.Request, target string) {
	var most []ops.Most
	tables := []string{string(ops.TableSessions), string(ops.TableAgents), string(ops.TableProcesses), string(ops.TableHeld)}
	q, err := query(r, tables...)
	for _, name := range tables {
		if err == nil && q.Has(name) {
			var n int64
			n, err = number(q, name)
			most = append(most, ops.Most{Table: ops.Table(name), Rows: int(min(n, math.MaxInt32))})
		}
	}
	if err != nil {
		s.fail(w, err)
		return
	}
	one(s, func(ctx context.Context) (ops.Snapshot, error) { return s.opt.Console.Snapshot(ctx, most...) }, fillSnapshot, tables...)(w, r, target)
}

// plan answers with the plan of a stop, under the assumptions of the parameter "if", which may be repeated.
func (s *Server) plan(w http.ResponseWriter, r *http.Request, target string) {
	one(s, func(ctx context.Context) (ops.Plan, error) {
		return s.opt.Console.Plan(ctx, r.URL.Query()["if"]...)
	}, func(p *ops.Plan) { p.Phases = filled(p.Phases) }, "if")(w, r, target)
}

// history is the console's, with the reports in it made fit for scripts.
func (s *Server) history(ctx context.Context, q ops.Query) (ops.Page[ops.Life], error) {
	page, err := s.opt.Console.History(ctx, q)
	for _, l := range page.Items {
		if l.Shutdown != nil {
			fillShutdown(l.Shutdown)
		}
	}
	return page, err
}

// inbox is the console's, with its lists made fit for scripts.
func (s *Server) inbox(ctx context.Context, q ops.Query) (ops.Page[ops.InboxItem], error) {
	page, err := s.opt.Console.Inbox(ctx, q)
	fillInbox(page.Items)
	return page, err
}

// usage answers what was used.
func (s *Server) usage(w http.ResponseWriter, r *http.Request, target string) {
	one(s, func(ctx context.Context) (ops.Page[ops.Usage], error) {
		q := r.URL.Query()
		return s.opt.Console.Usage(ctx, ops.UsageQuery{By: q.Get("by"), Since: q.Get("since")})
	}, func(p *ops.Page[ops.Usage]) { p.Items = filled(p.Items) }, "by", "since")(w, r, target)
}

// rates answers with what the gateway did in the last span, a duration such as 30m.
func (s *Server) rates(w http.ResponseWriter, r *http.Request, target string) {
	one(s, func(ctx context.Context) (ops.Rates, error) {
		var span time.Duration
		if text := r.URL.Query().Get("span"); text != "" {
			var err error
			if span, err = time.ParseDuration(text); err != nil || span <= 0 {
				return ops.Rates{}, &ops.Error{Code: ops.CodeInvalid, Message: fmt.Sprintf("span is %.64q", text), Hint: "give a duration such as 5m, 30m, 6h or 24h"}
			}
		}
		return s.opt.Console.Rates(ctx, span)
	}, func(v *ops.Rates) { v.Steps, v.Lately = filled(v.Steps), filled(v.Lately) }, "span")(w, r, target)
}

// fillBudgets makes the lists of budgets fit for scripts.
func fillBudgets(p *ops.Page[ops.Budget]) {
	p.Items = filled(p.Items)
	for i := range p.Items {
		p.Items[i].Windows, p.Items[i].Raises = filled(p.Items[i].Windows), filled(p.Items[i].Raises)
	}
}

// one answers with a single value. known are the query parameters that ask has read.
func one[T any](s *Server, ask func(context.Context) (T, error), fill func(*T), known ...string) handler {
	return func(w http.ResponseWriter, r *http.Request, _ string) {
		ctx, cancel := context.WithTimeout(r.Context(), answerTime)
		defer cancel()
		_, err := query(r, known...)
		var v T
		if err == nil {
			v, err = ask(ctx)
		}
		fill(&v)
		s.reply(w, v, err)
	}
}

// list answers with one page of rows. further are the parameters that not every list takes.
func list[T any](s *Server, ask func(context.Context, ops.Query) (ops.Page[T], error), further ...string) handler {
	return func(w http.ResponseWriter, r *http.Request, _ string) {
		ctx, cancel := context.WithTimeout(r.Context(), answerTime)
		defer cancel()
		q, err := query(r, append([]string{"limit", "cursor", "filter"}, further...)...)
		var limit int64
		if err == nil {
			limit, err = number(q, "limit")
		}
		var page ops.Page[T]
		if err == nil {
			page, err = ask(ctx, ops.Query{Limit: int(min(limit, ops.MaxLimit)), Cursor: q.Get("cursor"), Filter: q.Get("filter"), Key: q.Get("key")})
		}
		page.Items = filled(page.Items)
		s.reply(w, page, err)
	}
}

// query reads the query string; a name that is not known is refused with the nearest one that is.
func query(r *http.Request, known ...string) (url.Values, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, &ops.Error{Code: ops.CodeInvalid, Message: "the query string cannot be read: " + err.Error(), Hint: "escape it as in a URL"}
	}
	for name := range q {
		if !slices.Contains(known, name) {
			return nil, ops.UnknownName("query parameter", name, known)
		}
	}
	return q, nil
}

// number reads a whole number of at least 0; a missing one is 0.
func number(q url.Values, name string) (int64, error) {
	if !q.Has(name) {
		return 0, nil
	}
	n, err := strconv.ParseInt(q.Get(name), 10, 64)
	if err != nil || n < 0 {
		return 0, &ops.Error{
			Code: ops.CodeInvalid, Message: fmt.Sprintf("%s is %.64q", name, q.Get(name)),
			Hint: "give a whole number from 0",
		}
	}
	return n, nil
}

// request answers with what became of a command; with wait_ms it is a long poll, which a closing server ends.
func (s *Server) request(w http.ResponseWriter, r *http.Request, id string) {
	q, err := query(r, "wait_ms")
	var ms int64
	if err == nil {
		ms, err = number(q, "wait_ms")
	}
	if err != nil {
		s.fail(w, err)
		return
	}
	if p := r.Context().Value(peerKey{}).(*peer); p.tool() { // it may read what a tool can ask for
		req, err := s.opt.Console.Request(r.Context(), id, false)
		if spec, known := req.Verb.Spec(); err != nil || !known || !spec.ByTools {
			s.refuseTool(w, route{method: http.MethodGet, path: "/v1/requests/{target}"}, id, p)
			return
		}
	}
	limit, wait := answerTime, ms > 0
	if wait {
		limit = time.Duration(min(ms, maxWait.Milliseconds())) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(r.Context(), limit)
	defer cancel()
	if wait {
		defer context.AfterFunc(s.closing, cancel)()
	}
	req, err := s.opt.Console.Request(ctx, id, wait)
	s.reply(w, req, err)
}

// live asks what systemd's watchdog asks: whether the gateway's own goroutines make progress. A status reads memory alone, so
// a slow disk is not taken for death (G6, H4). A gateway whose locks hang gives no status, and its prober no answer.
func (s *Server) live(ctx context.Context) error {
	if _, err := s.opt.Console.Status(ctx); err != nil {
		return errors.New("the gateway gives no status") // the error may name what a probe does not show (H13)
	}
	return nil
}

// probe answers a supervisor's question, in the plain text that such callers expect; a no is JSON as everywhere.
func (s *Server) probe(ask func(context.Context) error, hint string) handler {
	return func(w http.ResponseWriter, r *http.Request, _ string) {
		ctx, cancel := context.WithTimeout(r.Context(), answerTime)
		defer cancel()
		if err := ask(ctx); err != nil {
			s.fail(w, &ops.Error{Code: ops.CodeUnavailable, Message: err.Error(), Hint: hint})
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerWrite))
		_, _ = w.Write([]byte("ok\n")) // a prober that has left needs no answer
	}
}

// Scripts loop over arrays: one that is empty is [] on the wire, never null.

func filled[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func fillStatus(s *ops.Status) { s.Warnings, s.Limits = filled(s.Warnings), filled(s.Limits) }

func fillSnapshot(s *ops.Snapshot) {
	fillStatus(&s.Status)
	s.Sessions = filled(s.Sessions)
	s.Agents = filled(s.Agents)
	s.Processes = filled(s.Processes)
	s.Adapters = filled(s.Adapters)
	s.Background = filled(s.Background)
	s.Inbox = filled(s.Inbox)
	fillInbox(s.Inbox)
	if s.Shutdown != nil {
		fillShutdown(s.Shutdown)
	}
}

func fillInbox(items []ops.InboxItem) {
	for i := range items {
		items[i].Reasons, items[i].Options = filled(items[i].Reasons), filled(items[i].Options)
	}
}

func fillShutdown(s *ops.Shutdown) {
	s.Phases = filled(s.Phases)
	for i := range s.Phases {
		s.Phases[i].Items = filled(s.Phases[i].Items)
	}
}

func fillPreview(p *ops.Preview) {
	for _, list := range []*[]string{&p.WaitsFor, &p.Interrupt, &p.Closes, &p.Kills, &p.Keeps, &p.Loses} {
		*list = filled(*list)
	}
}
