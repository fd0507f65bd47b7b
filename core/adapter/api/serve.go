package api

import (
	"cmp"
	"context"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"gatewaytui/core/adapter"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
)

// Bounds on what clients may do.
const (
	maxHeader      = 64 << 10
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	receiveTimeout = 10 * time.Second
)

// route is one path of the API.
type route struct {
	// path with a slash at its end is followed by an id.
	path    string
	methods []string
	// open needs no key.
	open bool
	// body says that serve reads the body.
	body  bool
	serve func(c *conn, w http.ResponseWriter, r *http.Request, by ops.Caller)
}

var routes = []route{
	{path: "/v1/chat/completions", methods: []string{http.MethodPost}, body: true, serve: (*conn).chat},
	{path: "/v1/responses", methods: []string{http.MethodPost}, body: true, serve: (*conn).responses},
	{path: "/v1/responses/", methods: []string{http.MethodGet, http.MethodDelete}, serve: (*conn).kept},
	{path: "/v1/models", methods: []string{http.MethodGet, http.MethodHead}, serve: (*conn).models},
	{path: "/v1/models/", methods: []string{http.MethodGet, http.MethodHead}, serve: (*conn).model},
	{path: "/health", methods: []string{http.MethodGet, http.MethodHead}, open: true, serve: (*conn).health},
}

// is reports whether a path is that of the route. A route whose path ends with a slash has those that go on after it.
func (r route) is(path string) bool {
	return path == r.path || strings.HasSuffix(r.path, "/") && len(path) > len(r.path) && strings.HasPrefix(path, r.path)
}

// route hands a request to its route.
func (c *conn) route(w http.ResponseWriter, r *http.Request) {
	i := slices.IndexFunc(routes, func(route route) bool { return route.is(r.URL.Path) })
	if i < 0 || !routes[i].body {
		unread(w, r)
	}
	if i < 0 {
		p := &problem{status: http.StatusNotFound, code: "unknown_url", message: "there is no such path; try /v1/chat/completions, /v1/responses, /v1/models or /health"}
		p.write(w)
		return
	}
	route := routes[i]
	c.platform.share(w, r)
	if r.Method == http.MethodOptions && r.Header.Get("Origin") != "" {
		unread(w, r)
		c.preflight(w, r, route.methods)
		return
	}
	if !slices.Contains(route.methods, r.Method) {
		unread(w, r)
		p := &problem{
			status: http.StatusMethodNotAllowed, code: "method_not_allowed", allow: strings.Join(route.methods, ", "),
			message: "use " + strings.Join(route.methods, " or ") + " for " + route.path,
		}
		p.write(w)
		return
	}
	var by ops.Caller
	if !route.open {
		var p *problem
		by, p = c.authorize(r)
		if p = c.slow(r, p); p != nil {
			c.refused(w, r, p)
			return
		}
		now := time.Now()
		c.heard.Store(&now)
	}
	route.serve(c, w, r, by)
}

func (c *conn) health(w http.ResponseWriter, r *http.Request, _ ops.Caller) {
	leaveIfShort(w, r)
	writeJSON(w, map[string]string{"status": "ok"})
}

// chat is one message and its answer, as a chat completion.
func (c *conn) chat(w http.ResponseWriter, r *http.Request, by ops.Caller) {
	in := &incoming{c: c, w: w, r: r, by: by, rc: http.NewResponseController(w)}
	in.serve(parseRequest, func(x *exchange, q request) form {
		return chatForm{id: "chatcmpl-" + x.id, model: c.platform.called(q.model), created: x.created.Unix(), usage: q.usage}
	})
}

// responses is one message and its answer, as a response. An answer that is kept is durable before its client has it.
func (c *conn) responses(w http.ResponseWriter, r *http.Request, by ops.Caller) {
	owner := ownerOf(r, by)
	in := &incoming{c: c, w: w, r: r, by: by, rc: http.NewResponseController(w)}
	parse := func(body []byte) (request, *problem) {
		return parseResponses(body, func(id string) ([]model.Message, *problem) { return c.chain(r.Context(), id, owner) })
	}
	in.serve(parse, func(x *exchange, q request) form {
		f := &responseForm{id: responseID + x.id, model: c.platform.called(q.model), created: x.created.Unix(), kept: q.kept}
		if !q.kept.keep {
			return f
		}
		return &keeping{responseForm: f, conn: c, owner: owner}
	})
}

// serve takes the message of a request, whose body parse reads, and writes its answer in the form that formOf makes.
func (in *incoming) serve(parse func(body []byte) (request, *problem), formOf func(x *exchange, q request) form) {
	c := in.c
	if p := c.begin(); p != nil {
		in.answer(p)
		return
	}
	defer c.end()

	reader, q, p := in.take(parse)
	if p != nil {
		in.answer(p)
		return
	}
	defer c.leave()
	x := reader.x
	if q.stream && asksForEvents(in.r.Header) {
		reader.watch()
	}
	<-x.decided // bounded by receiveTimeout
	if x.refusal != nil {
		reader.detach(false)
		x.refusal.write(in.w)
		return
	}
	reply := &reply{conn: c, reader: reader, w: in.w, rc: in.rc, form: formOf(x, q)}
	if q.stream {
		reply.stream(in.r.Context())
	} else {
		reply.whole(in.r.Context())
	}
}

// take reads a request and hands its message to the gateway, or joins the one that has it. Its bytes count as a body under way
// until then. Without a problem the request has entered.
func (in *incoming) take(parse func(body []byte) (request, *problem)) (r *reader, q request, p *problem) {
	c := in.c
	if !isJSON(in.r.Header) {
		return nil, q, &problem{
			status: http.StatusUnsupportedMediaType, code: "unsupported_media_type", message: "the body must be JSON: send Content-Type: application/json",
		}
	}
	body, u, p := in.readBody()
	if p != nil {
		return nil, q, p
	}
	defer u.release()
	become(in.r, connBusy)
	q, m, sent, p := in.read(body, parse)
	if p == nil {
		p = c.enter()
	}
	if p != nil {
		return nil, q, p
	}
	x := newExchange(q.stream)
	x.watched = q.stream && asksForEvents(in.r.Header)
	x.session, x.grace, x.ended, x.withdraw = m.Session, c.platform.options.LeaveGrace, c.answers.keep, c.withdraw
	r, joined, p := c.answers.enter(sent, x)
	if p != nil {
		c.leave()
		return nil, q, p
	}
	if joined {
		c.log.Info("api request joins the turn of an earlier one", "session", r.x.session, "remote", hostname(in.r.RemoteAddr))
	} else {
		c.submit(x, m)
	}
	return r, q, nil
}

// submit hands the message to the gateway, and notes in x what became of it.
func (c *conn) submit(x *exchange, m adapter.Inbound) {
	m.Responder = x
	// Not the request's context: once the message is on its way in, its client may go.
	ctx, cancel := context.WithTimeout(c.tasks, receiveTimeout)
	defer cancel()
	id, err := c.receiver.Receive(ctx, m)
	if err != nil {
		c.answers.drop(x)
		x.decide("", c.refusal(err))
		return
	}
	x.decide(id, nil)
}

// withdraw ends the turn of x, which no client waits for any more. A later request begins a new turn.
func (c *conn) withdraw(x *exchange) {
	c.answers.drop(x)
	c.receiver.Withdraw(x.session, x.id)
}

// read makes a message of a body.
func (in *incoming) read(body []byte, parse func(body []byte) (request, *problem)) (q request, m adapter.Inbound, sent mark, p *problem) {
	if q, p = parse(body); p != nil {
		return q, m, sent, p
	}
	agent, p := in.c.platform.agentOf(q.model)
	if p != nil {
		return q, m, sent, p
	}
	key, user, p := in.c.sessionOf(q, in.r.Header)
	if p != nil {
		return q, m, sent, p
	}
	unattended, p := in.c.unattended(in.r.Header, q.stream)
	if p != nil {
		return q, m, sent, p
	}
	in.c.warnOfLabel(q.user, key)
	named := key
	if strings.HasPrefix(key, requestKeys) {
		named = ""
	}
	sent, p = markOf(in.r, in.by, named, q.stream, body)
	m = adapter.Inbound{Adapter: in.c.platform.Name(), Session: key, User: user, Target: key, Agent: agent, Caller: in.by, Unattended: unattended}
	given := !strings.HasPrefix(key, userKeys) && (q.kept == nil || q.conversation == "")
	if !given && q.kept != nil && q.kept.previous != "" {
		return q, m, sent, invalid("previous_response_id", "previous_response_id and a session exclude each other")
	}
	m.Text, m.Input = q.input(given)
	return q, m, sent, p
}

// warnOfLabel warns, once in a life, of a request that named its session with user as in the first edition, and gets no session now.
func (c *conn) warnOfLabel(user, key string) {
	history, knows := c.receiver.(adapter.Historian)
	if user == "" || !knows || !strings.HasPrefix(key, requestKeys) || c.platform.labelled.Load() || !history.Remembers(userKeys+user) {
		return
	}
	if c.platform.labelled.CompareAndSwap(false, true) {
		c.log.Warn("a request has a user whose session has a history, which it does not continue: user is a label now; send the header X-Session-Key, or set adapters.api.session_from to \"user\"",
			"event", ops.LogUserLabel, "session", userKeys+user)
	}
}

// isJSON reports whether a body says that it is JSON. A program such as a raw socket or a small library may leave out what the
// body is. A web page may not: a browser sends a cross-origin request with text/plain, a form or no Content-Type (a Blob without
// a type) without the preflight that application/json needs (https://fetch.spec.whatwg.org/#cors-safelisted-request-header). So
// the header is what proves that a browser has asked us before.
func isJSON(h http.Header) bool {
	kind := h.Get("Content-Type")
	if kind == "" {
		return !ofBrowser(h)
	}
	kind, _, err := mime.ParseMediaType(kind)
	return err == nil && kind == "application/json"
}

// ofBrowser reports whether a browser may have sent h. Its page can remove neither Origin, which every POST has, nor Sec-Fetch-…
// (https://www.w3.org/TR/fetch-metadata/).
func ofBrowser(h http.Header) bool {
	for name := range h {
		if name == "Origin" || name == "Referer" || strings.HasPrefix(name, "Sec-Fetch-") {
			return true
		}
	}
	return false
}

// sessionOf is the key and the user of a request. X-Session-Key names a session whose history the gateway holds, with or without
// the beginning of such keys. X-OpenWebUI-Chat-Id, or the body's conversation, names one whose history the client sends. Without
// either the request has a session of its own, unless Options.UserIsSession: then the body's user names one (CV1).
func (c *conn) sessionOf(q request, h http.Header) (key, user string, p *problem) {
	user = cmp.Or(q.user, "api")
	if name := h.Get("X-Session-Key"); name != "" {
		name = strings.TrimPrefix(name, userKeys)
		return userKeys + name, cmp.Or(q.user, name), checkName(name, "X-Session-Key")
	}
	if name := h.Get("X-OpenWebUI-Chat-Id"); name != "" {
		return chatKeys + name, user, checkName(name, "X-OpenWebUI-Chat-Id")
	}
	switch {
	case q.conversation != "":
		return chatKeys + q.conversation, user, nil
	case q.user != "" && c.platform.options.UserIsSession:
		return userKeys + q.user, q.user, nil
	}
	return requestKeys + ulid.Make().String(), user, nil
}
