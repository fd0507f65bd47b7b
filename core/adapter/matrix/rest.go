package matrix

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bot"
)

const (
	// maxAnswer bounds the body of an answer in bytes.
	maxAnswer = 8 << 20
	// leastAnswer is what is read in any case, since an error says why it is one.
	leastAnswer = 4 << 10
	// maxSync is the same for a /sync, which has the events of all rooms.
	maxSync = 32 << 20
)

// Prefixes of the client-server API.
const (
	v3 = "/_matrix/client/v3"
	v1 = "/_matrix/client/v1"
)

// The codes of errors that make a difference (https://spec.matrix.org/latest/client-server-api/#standard-error-response).
const (
	codeLimit        = "M_LIMIT_EXCEEDED"
	codeDeactivated  = "M_USER_DEACTIVATED"
	codeTooLarge     = "M_TOO_LARGE"
	codeBadJSON      = "M_BAD_JSON"
	codeUnrecognized = "M_UNRECOGNIZED"
	codeNotFound     = "M_NOT_FOUND"
)

// api is the client-server API as one connection uses it. All its errors are of package adapter's types or *callError.
type api struct {
	bot.Words
	p    *Platform
	http *http.Client
}

// open makes the API ready; it does no I/O.
func (p *Platform) open() (*api, error) {
	token := p.o.Token
	if token == "" {
		return nil, p.credentials("it is unset or empty")
	}
	if !bot.IsToken(token, "._~+/=-") {
		return nil, p.credentials("it holds no access token: one has only letters, digits, and the signs . _ ~ + / = -")
	}
	if u, err := url.Parse(p.o.Homeserver); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("adapters.matrix.homeserver is not an address such as https://matrix.example.org")
	}
	return &api{Words: bot.NewWords(token), p: p, http: bot.Client(p.dial)}, nil
}

// close drops the sockets that no call uses.
func (a *api) close() { a.http.CloseIdleConnections() }

// path is a path of the API whose parts are ids.
func path(prefix string, parts ...string) string {
	var b strings.Builder
	b.WriteString(prefix)
	for _, part := range parts {
		b.WriteString("/" + url.PathEscape(part))
	}
	return b.String()
}

// request is a call of the API.
type request struct {
	verb, path string
	query      url.Values
	// in is the body as JSON, unless it is nil; kind and body are another body.
	in   any
	kind string
	body []byte
	// most is the most bytes of the answer; 0: maxAnswer.
	most int64
	// limit bounds the call; 0: only its context does.
	limit time.Duration
}

// call makes one call of the API and reads its result into out; nil is none.
func (a *api) call(ctx context.Context, r request, out any) error {
	text, err := a.raw(ctx, r)
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(text, out); err != nil {
		return a.failed(r, fmt.Errorf("read the answer: %w", err))
	}
	return nil
}

// raw makes one call of the API and returns the body of the answer.
func (a *api) raw(ctx context.Context, r request) ([]byte, error) {
	if r.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.limit)
		defer cancel()
	}
	if r.in != nil {
		text, err := encode(r.in)
		if err != nil {
			return nil, a.failed(r, err)
		}
		r.kind, r.body = "application/json", text
	}
	address := a.p.o.Homeserver + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.verb, address, bytes.NewReader(r.body))
	if err != nil {
		return nil, a.failed(r, err)
	}
	if r.kind != "" {
		req.Header.Set("Content-Type", r.kind)
	}
	req.Header.Set("Authorization", "Bearer "+a.p.o.Token)
	req.Header.Set("User-Agent", "gatewaytui")
	most := r.most
	if most == 0 {
		most = maxAnswer
	}
	resp, text, err := bot.Do(a.http, req, max(most+1, leastAnswer), func(err error) error { return a.failed(r, err) })
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return nil, a.explain(r, resp, text)
	case int64(len(text)) > most:
		return nil, &tooLong{most}
	}
	return text, nil
}

// tooLong says that an answer has more than most bytes.
type tooLong struct{ most int64 }

func (e *tooLong) Error() string { return fmt.Sprintf("the answer has more than %d bytes", e.most) }

// encode is v as JSON, in which the signs of HTML take one byte.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// explain turns an answer with an error into an error for the Supervisor.
func (a *api) explain(r request, resp *http.Response, text []byte) error {
	var said struct {
		Code  string  `json:"errcode"`
		Text  string  `json:"error"`
		After float64 `json:"retry_after_ms"`
		Soft  bool    `json:"soft_logout"`
	}
	if json.Unmarshal(text, &said) != nil || said.Code == "" {
		said.Text = "HTTP " + resp.Status // a proxy's page, for instance
	}
	why := a.Clean(strings.TrimSpace(said.Code + " " + said.Text))
	switch status := resp.StatusCode; {
	case status == http.StatusUnauthorized && said.Soft:
		return a.p.credentials("the homeserver ended the session of this token: log in again, and set the new token")
	case status == http.StatusUnauthorized, said.Code == codeDeactivated:
		return a.p.credentials("the homeserver does not take it: %s", why)
	case status == http.StatusTooManyRequests, said.Code == codeLimit:
		after := said.After / 1000
		if after <= 0 {
			after, _ = strconv.ParseFloat(resp.Header.Get("Retry-After"), 64) // 0 is the least
		}
		return &adapter.RateLimitError{RetryAfter: seconds(after)}
	case status >= 400 && status < 500 && status != http.StatusRequestTimeout:
		return &callError{CallError: bot.CallError{Call: r.name(), Why: why}, refused: true, code: said.Code}
	default:
		return &callError{CallError: bot.CallError{Call: r.name(), Why: fmt.Sprintf("error %d, %s", status, why)}}
	}
}

// seconds is what a platform asks to wait, at least a moment and rounded up to milliseconds.
func seconds(s float64) time.Duration {
	d := time.Duration(min(max(s, 0.1), bot.MaxRetryAfter) * float64(time.Second))
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}

// name is what the call is, for people.
func (r request) name() string { return r.verb + " " + r.path }

func (a *api) failed(r request, err error) error {
	return &callError{CallError: bot.CallError{Call: r.name(), Why: a.Why(err), Cause: err}}
}

// callError is a call that failed.
type callError struct {
	bot.CallError
	// refused means that the homeserver took it and will not do it; code is then its word for why.
	refused bool
	code    string
}

// act makes a call about a room. An error of type *adapter.RefusedError or *adapter.RateLimitError, or one for which
// adapter.MayHaveArrived is false, says that it changed nothing.
func (a *api) act(ctx context.Context, r request, out any) error {
	return asRefused(a.call(ctx, r, out))
}

func asRefused(err error) error {
	if failed, is := errors.AsType[*callError](err); is && failed.refused {
		return &refused{adapter.RefusedError{Why: failed.Why}, failed.code}
	}
	return err
}

// refused is a *adapter.RefusedError with the homeserver's code for why.
type refused struct {
	adapter.RefusedError
	code string
}

func (r *refused) Unwrap() error { return &r.RefusedError }

// refusedAs reports whether a call was refused with one of these codes.
func refusedAs(err error, codes ...string) bool {
	code := ""
	if r, is := errors.AsType[*refused](err); is {
		code = r.code
	} else if r, is := errors.AsType[*callError](err); is {
		code = r.code
	}
	for _, c := range codes {
		if code == c {
			return true
		}
	}
	return false
}
