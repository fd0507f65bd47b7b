package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/pprof"
	"net/url"
	"strings"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/text"
)

// maxTarget bounds a target, in bytes after unescaping.
const maxTarget = 4096

// route is one row of the socket's table. Segments of its path are literal, "{target}" for one escaped segment, or, in the
// last place, "{rest...}" for all that follows.
type route struct {
	method string
	path   string
	serve  handler
	// tools says that a tool of the gateway is answered as well (HF7).
	tools bool
}

type handler = func(w http.ResponseWriter, r *http.Request, target string)

// table is every route; those of the verbs come from ops.Verbs.
func (s *Server) table() []route {
	console := s.opt.Console
	routes := []route{
		{"GET", "/v1/status", one(s, console.Status, fillStatus), true},
		{"GET", "/v1/snapshot", s.snapshot, false},
		{"GET", "/v1/sessions", list(s, console.Sessions, "key"), false},
		{"GET", "/v1/sessions/{target}/transcript", s.transcript, false},
		{"GET", "/v1/sessions/{target}/turns", s.turns, false},
		{"GET", "/v1/turns/{target}", s.timeline, false},
		{"GET", "/v1/agents", list(s, console.Agents), false},
		{"GET", "/v1/processes", list(s, console.Processes), false},
		{"GET", "/v1/processes/{target}/output", s.output, false},
		{"GET", "/v1/adapters", list(s, console.Adapters), false},
		{"GET", "/v1/environments", list(s, console.Environments), false},
		{"GET", "/v1/servers", list(s, console.Servers), false},
		{"GET", "/v1/jobs", list(s, console.Jobs), false},
		{"GET", "/v1/held", list(s, console.Held), false},
		{"GET", "/v1/browsers", list(s, console.Browsers), false},
		{"GET", "/v1/notes", list(s, console.Notes), false},
		{"GET", "/v1/inbox", list(s, s.inbox), false},
		{"GET", "/v1/usage", s.usage, false},
		{"GET", "/v1/budgets", one(s, console.Budgets, fillBudgets), false},
		{"GET", "/v1/rates", s.rates, false},
		{"GET", "/v1/approvals/rules", list(s, console.Rules), false},
		{"GET", "/v1/people", list(s, console.People), false},
		{"GET", "/v1/plan", s.plan, false},
		{"GET", "/v1/shutdown", one(s, console.Shutdown, fillShutdown), false},
		{"GET", "/v1/search", s.search, false},
		{"GET", "/v1/history", list(s, s.history), false},
		{"GET", "/v1/logs", s.logs, false},
		{"GET", "/v1/events", s.events, false},
		{"GET", "/v1/preview", s.preview, false},
		{"GET", "/v1/requests/{target}", s.request, true}, // of a stop, to a tool
		{"GET", "/healthz", s.probe(s.live, "the gateway should be started again"), true},
		{"GET", "/readyz", s.probe(s.opt.Ready, "GET /v1/status has more"), true},
		{"GET", "/metrics", plain(s.metrics.ServeHTTP), false},
		{"GET", "/debug/pprof/cmdline", plain(pprof.Cmdline), false},
		{"GET", "/debug/pprof/profile", plain(pprof.Profile), false},
		{"GET", "/debug/pprof/symbol", plain(pprof.Symbol), false},
		{"GET", "/debug/pprof/trace", plain(pprof.Trace), false},
		{"GET", "/debug/pprof/{rest...}", plain(pprof.Index), false},
	}
	for _, v := range ops.Verbs {
		routes = append(routes, route{"POST", v.Path, s.command(v), v.ByTools})
	}
	return routes
}

func plain(h http.HandlerFunc) handler {
	return func(w http.ResponseWriter, r *http.Request, _ string) { h(w, r) }
}

// dispatch finds the route of r. net/http's own mux is not used: it redirects paths with dots and double slashes, which
// a session key may hold, and answers what it does not know in plain text.
func (s *Server) dispatch(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	path := r.URL.EscapedPath()
	var allowed []string
	for _, rt := range s.routes {
		target, ok := match(rt.path, path)
		if !ok {
			continue
		}
		if rt.method != method {
			allowed = append(allowed, rt.method)
			continue
		}
		if len(target) > maxTarget {
			s.fail(w, &ops.Error{
				Code: ops.CodeInvalid, Message: fmt.Sprintf("the target has %d bytes, at most %d are taken", len(target), maxTarget),
				Hint: "GET /v1/snapshot lists what there is",
			})
			return
		}
		if p, _ := r.Context().Value(peerKey{}).(*peer); p.tool() && !rt.tools {
			s.refuseTool(w, rt, target, p)
			return
		}
		rt.serve(w, r, target)
		return
	}
	if len(allowed) > 0 {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		s.answer(w, http.StatusMethodNotAllowed, failure{&ops.Error{
			Code: ops.CodeInvalid, Message: r.Method + " is not taken here",
			Hint: "use " + strings.Join(allowed, " or "),
		}})
		return
	}
	s.fail(w, &ops.Error{
		Code: ops.CodeNotFound, Message: "there is nothing at this path",
		Hint: "the nearest is " + s.nearestPath(path),
	})
}

// match compares an escaped path with a pattern and returns what stands for {target}, unescaped.
func match(pattern, path string) (target string, ok bool) {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	for i, seg := range want {
		if seg == "{rest...}" {
			return "", len(got) > i
		}
		if i >= len(got) {
			return "", false
		}
		if seg != "{target}" {
			if seg != got[i] {
				return "", false
			}
			continue
		}
		t, err := url.PathUnescape(got[i])
		if err != nil || t == "" {
			return "", false
		}
		target = t
	}
	return target, len(got) == len(want)
}

// nearestPath is the method and path that takes the fewest edits to make of path; a target is as good as any other.
func (s *Server) nearestPath(path string) string {
	if len(path) > 256 {
		path = path[:256]
	}
	got := strings.Split(path, "/")
	best, least := route{}, -1
	for _, rt := range s.routes {
		want := strings.Split(strings.TrimSuffix(rt.path, "{rest...}"), "/")
		for i := range want {
			if want[i] == "{target}" && len(got) == len(want) {
				want[i] = got[i]
			}
		}
		if d := text.Distance(path, strings.Join(want, "/")); least < 0 || d < least {
			best, least = rt, d
		}
	}
	return best.method + " " + strings.TrimSuffix(best.path, "{rest...}")
}

// reply writes v, or err if there is one.
func (s *Server) reply(w http.ResponseWriter, v any, err error) {
	if err != nil {
		s.fail(w, err)
		return
	}
	s.answer(w, http.StatusOK, v)
}

func (s *Server) fail(w http.ResponseWriter, err error) {
	e := asError(err)
	s.answer(w, e.HTTPStatus(), failure{e})
}

// asError gives the errors that only this layer can explain a code of their own.
func asError(err error) *ops.Error {
	_, known := errors.AsType[*ops.Error](err)
	if !known && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		return &ops.Error{
			Code: ops.CodeUnavailable, Message: "the gateway did not answer in time: " + err.Error(),
			Hint: "ask again; POST /v1/diagnose writes what it is busy with into a file",
		}
	}
	return ops.AsError(err)
}

// answer writes v as JSON. A client that does not read it is cut off.
func (s *Server) answer(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		s.log.Error("control answer not encodable", "error", err)
		status = http.StatusInternalServerError
		body, _ = json.Marshal(failure{&ops.Error{Code: ops.CodeInternal, Message: "the answer cannot be encoded"}})
	}
	body = append(body, '\n')
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", fmt.Sprint(len(body)))
	h.Set("X-Content-Type-Options", "nosniff")
	rc := http.NewResponseController(w)
	_ = rc.SetWriteDeadline(time.Now().Add(answerWrite)) // every connection of net/http has deadlines
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil {
		s.log.Debug("control answer not taken", "error", err)
	}
}
