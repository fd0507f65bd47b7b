package webhook

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/webhook/prompt"
	"gatewaytui/core/ops"
	"gatewaytui/core/signature"
	"gatewaytui/core/term"
)

// refusal is why a request is not taken.
type refusal struct {
	status        int
	code, message string
	// retryAfter is when the same request may do better; 0 is unsaid.
	retryAfter time.Duration
}

// handle answers one request.
func (c *conn) handle(w http.ResponseWriter, r *http.Request) {
	if c.tasks.Err() != nil {
		w.Header().Set("Connection", "close")
		refuse(w, stopping)
		return
	}
	route, known := c.p.routes[strings.TrimPrefix(r.URL.Path, "/")]
	switch {
	case !known:
		refuse(w, &refusal{http.StatusNotFound, "not_found", "no route of this name", 0})
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		refuse(w, &refusal{http.StatusMethodNotAllowed, "invalid", "a webhook is a POST request", 0})
		return
	}
	if route.Secret == "" {
		route.complaints.Do(func() { c.p.log.Warn(ops.LogWebhookFailed, "route", route.name, "error", route.why().Error()) })
		refuse(w, noSecret)
		return
	}
	body, bad := read(w, r)
	if bad != nil {
		refuse(w, bad)
		return
	}
	address := route.Address
	if r.URL.RawQuery != "" {
		address += "?" + r.URL.RawQuery
	}
	name, err := signature.Check(route.Scheme, route.Secret, signature.Request{Address: address, Header: r.Header, Body: body}, time.Now())
	if err != nil {
		c.p.refused.Add(1)
		route.complaints.Do(func() {
			c.p.log.Warn(ops.LogWebhookRefused, "route", route.name, "reason", err.Error(), "total", c.p.refused.Load())
		})
		refuse(w, &refusal{http.StatusUnauthorized, "unauthorized", err.Error(), 0})
		return
	}
	c.heard.Store(time.Now().UnixNano())
	if left := route.wait(time.Now()); left > 0 {
		c.p.limited.Add(1)
		refuse(w, &refusal{http.StatusTooManyRequests, string(ops.CodeLimit), fmt.Sprintf("more than %d requests in a minute", route.PerMinute), left})
		return
	}
	if probe(w, route.Scheme, r, body) {
		return
	}
	id, bad := c.receive(r, route, name, body)
	if bad != nil {
		refuse(w, bad)
		return
	}
	accept(w, route.Scheme, id)
}

// read reads the whole body, within its bound.
func read(w http.ResponseWriter, r *http.Request) ([]byte, *refusal) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
		return nil, &refusal{http.StatusRequestEntityTooLarge, "invalid", fmt.Sprintf("the body is longer than %d bytes", maxBody), 0}
	}
	if err != nil {
		return nil, &refusal{http.StatusBadRequest, "invalid", "the body did not come to its end", 0}
	}
	return body, nil
}

// wait counts a request in, or returns how long its sender should wait.
func (r *route) wait(now time.Time) time.Duration {
	next := r.rate.ReserveN(now, 1)
	left := next.DelayFrom(now)
	if left > 0 {
		next.CancelAt(now)
	}
	return left
}

// probe answers a request with which a sender only tries the address, and reports whether it was one.
func probe(w http.ResponseWriter, s signature.Scheme, r *http.Request, body []byte) bool {
	switch s {
	case signature.GitHub:
		if r.Header.Get("X-GitHub-Event") == "ping" {
			w.WriteHeader(http.StatusNoContent)
			return true
		}
	case signature.Slack: // https://docs.slack.dev/reference/events/url_verification
		var v struct{ Type, Challenge string }
		if json.Unmarshal(body, &v) == nil && v.Type == "url_verification" {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.Header().Set("X-Content-Type-Options", "nosniff")
			_, _ = io.WriteString(w, v.Challenge) // the sender asks again
			return true
		}
	}
	return false
}

// receive hands the message of a request on, and returns its id once it is durable.
func (c *conn) receive(r *http.Request, route *route, name string, body []byte) (id string, bad *refusal) {
	ctx, cancel := context.WithTimeout(r.Context(), receiveTimeout)
	defer cancel()
	defer context.AfterFunc(c.tasks, cancel)()
	key := Name + ":" + route.name
	m := adapter.Inbound{
		Adapter: Name, Session: key + ":" + ulid.Make().String(), User: route.name, Sender: route.name, Target: route.name,
		Agent: route.Agent, Dedupe: key + ":" + name, Unattended: true,
	}
	if route.Prompt == "" {
		m.Session, m.Passed = key, true
		m.Text = prompt.Cut(strings.ToValidUTF8(string(body), "\uFFFD"), prompt.MaxField)
	} else {
		m.Text = prompt.Fill(route.Prompt, prompt.Request{Route: route.name, Mark: "-----" + rand.Text()[:12] + "-----", Header: r.Header, Body: body})
	}
	id, err := c.receiver.Receive(ctx, m)
	if err == nil {
		return id, nil
	}
	if e, is := errors.AsType[*ops.Error](err); is {
		return "", refused(e)
	}
	if c.tasks.Err() != nil {
		return "", stopping
	}
	c.p.log.Warn(ops.LogWebhookFailed, "route", route.name, "error", term.Clean(err.Error(), 300))
	return "", refused(&ops.Error{Code: ops.CodeUnavailable, Message: "the gateway did not take the message"})
}

// again is how long a sender should wait when the gateway takes nothing.
const again = 30 * time.Second

var noSecret = &refusal{http.StatusServiceUnavailable, string(ops.CodeUnavailable), "this route is not ready: the gateway has no secret for it", again}

var stopping = &refusal{http.StatusServiceUnavailable, string(ops.CodeStopping), "the gateway is stopping", again}

// refused is the answer to a sender whose message the gateway refused.
func refused(e *ops.Error) *refusal {
	out := &refusal{http.StatusServiceUnavailable, string(e.Code), e.Message, again}
	switch e.Code {
	case ops.CodeQueueFull, ops.CodeLimit:
		out.status = http.StatusTooManyRequests
	case ops.CodeInvalid:
		out.status, out.retryAfter = http.StatusBadRequest, 0
	case ops.CodeForbidden:
		out.status, out.retryAfter = http.StatusForbidden, 0
	}
	return out
}

// accept answers a request whose message is durable. Twilio wants an answer in its own language, and an empty one says nothing.
func accept(w http.ResponseWriter, s signature.Scheme, id string) {
	w.Header().Set("X-Gateway-Message", id)
	if s == signature.Twilio {
		w.Header().Set("Content-Type", "text/xml; charset=utf-8")
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "<Response/>") // the message is durable, whether or not the sender hears it
		return
	}
	write(w, http.StatusAccepted, map[string]string{"id": id})
}

func refuse(w http.ResponseWriter, why *refusal) {
	if why.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(why.retryAfter.Seconds()))))
	}
	type inner struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	write(w, why.status, map[string]inner{"error": {why.code, why.message}})
}

func write(w http.ResponseWriter, status int, body any) {
	out, _ := json.Marshal(body) // texts always encode
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(out, '\n')) // the sender has gone
}
