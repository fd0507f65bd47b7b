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
	"gatewaytui/core/text"
)

func (s *Server) status(w http.ResponseWriter, r *http.Request, _ string) {
	one(s, w, r, s.opt.Console.Status, fillStatus)
}

func (s *Server) snapshot(w http.ResponseWriter, r *http.Request, _ string) {
	var most []ops.Most
	tables := []string{string(ops.TableSessions), string(ops.TableAgents), string(ops.TableProcesses)}
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
	one(s, w, r, func(ctx context.Context) (ops.Snapshot, error) { return s.opt.Console.Snapshot(ctx, most...) }, fillSnapshot, tables...)
}

func (s *Server) plan(w http.ResponseWriter, r *http.Request, _ string) {
	one(s, w, r, s.opt.Console.Plan, func(p *ops.Plan) { p.Phases = filled(p.Phases) })
}

func (s *Server) shutdown(w http.ResponseWriter, r *http.Request, _ string) {
	one(s, w, r, s.opt.Console.Shutdown, fillShutdown)
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

// one answers with a single value. known are the query parameters that ask has read.
func one[T any](s *Server, w http.ResponseWriter, r *http.Request, ask func(context.Context) (T, error), fill func(*T), known ...string) {
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

// list answers with one page of rows. further are the parameters that not every list takes.
func list[T any](s *Server, ask func(context.Context, ops.Query) (ops.Page[T], error), further ...string) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, r *http.Request, _ string) {
		ctx, cancel := context.WithTimeout(r.Context(), answerTime)
		defer cancel()
		q, err := rowQuery(r, append([]string{"limit", "cursor", "filter"}, further...)...)
		if err != nil {
			s.fail(w, err)
			return
		}
		page, err := ask(ctx, q)
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
			return nil, unknownName("query parameter", name, known)
		}
	}
	return q, nil
}

func unknownName(what, name string, known []string) error {
	e := &ops.Error{Code: ops.CodeInvalid, Message: fmt.Sprintf("%.64q is no %s that is known here", name, what), Hint: "none is taken"}
	if len(known) > 0 {
		e.Hint = "the nearest is " + strconv.Quote(text.Nearest(fmt.Sprintf("%.64s", name), known))
	}
	return e
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

func rowQuery(r *http.Request, known ...string) (ops.Query, error) {
	q, err := query(r, known...)
	if err != nil {
		return ops.Query{}, err
	}
	limit, err := number(q, "limit")
	if err != nil {
		return ops.Query{}, err
	}
	return ops.Query{Limit: int(min(limit, ops.MaxLimit)), Cursor: q.Get("cursor"), Filter: q.Get("filter"), Key: q.Get("key")}, nil
}

// request answers with what became of a command; with wait_ms it is a long poll, which a closing server ends.
func (s *Server) request(w http.ResponseWriter, r *http.Request, id string) {
	q, err := query(r, "wait_ms")
	if err != nil {
		s.fail(w, err)
		return
	}
	ms, err := number(q, "wait_ms")
	if err != nil {
		s.fail(w, err)
		return
	}
	limit := answerTime
	if ms > 0 {
		limit = time.Duration(min(ms, maxWait.Milliseconds())) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(r.Context(), limit)
	defer cancel()
	if ms > 0 {
		stop := s.endOnClose(cancel)
		defer stop()
	}
	req, err := s.opt.Console.Request(ctx, id, ms > 0)
	s.reply(w, req, err)
}

// endOnClose calls cancel when the server closes, unless stop is called first; stop returns when that is settled.
func (s *Server) endOnClose(cancel func()) (stop func()) {
	done, settled := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(settled)
		select {
		case <-s.closing:
			cancel()
		case <-done:
		}
	}()
	return func() { close(done); <-settled }
}

func (s *Server) healthz(w http.ResponseWriter, r *http.Request, _ string) {
	s.probe(w, s.opt.Live(), "the gateway should be started again")
}

func (s *Server) readyz(w http.ResponseWriter, r *http.Request, _ string) {
	s.probe(w, s.opt.Ready(), "GET /v1/status has more")
}

// probe answers a supervisor's question, in the plain text that such callers expect; a no is JSON as everywhere.
func (s *Server) probe(w http.ResponseWriter, err error, hint string) {
	if err != nil {
		s.answer(w, http.StatusServiceUnavailable, failure{&ops.Error{Code: ops.CodeUnavailable, Message: err.Error(), Hint: hint}})
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerWrite))
	_, _ = w.Write([]byte("ok\n")) // a prober that left is none of our business
}

func isTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}
