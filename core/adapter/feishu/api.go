package feishu

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bot"
)

const (
	// maxAnswer bounds the body of an answer in bytes. A message stays far below it.
	maxAnswer = 4 << 20
	// early is how long before its end a token is renewed.
	early = 5 * time.Minute
	// moment is the silence that a rate limit without a time asks for.
	moment = time.Second
)

// Feishu's numbers for what went wrong (https://open.feishu.cn/document/server-docs/getting-started/server-error-codes).
var (
	// noApp: the app or its secret is not known.
	noApp = []int{10003, 10012, 10013, 10014, 10015}
	// noToken: the token is over, or was never one.
	noToken = []int{99991661, 99991663, 99991664, 99991665, 99991668, 99991671, 99991677}
	// tooMany: too many calls or messages.
	tooMany = []int{99991400, 230020, 11232, 11233, 11247}
	// isGone: the message was withdrawn, or deleted, or never was.
	isGone = []int{230011, 230110, 231003}
	// noCard: the card cannot be made, or is too long.
	noCard = []int{230099, 230025, 200621, 11310}
)

// api is the REST API as one connection uses it. All its errors are of package adapter's types or *callError.
type api struct {
	bot.Words
	p    *Platform
	http *http.Client
	// turn is held by the call that fetches a token, and with it what follows.
	turn  chan struct{}
	token string
	until time.Time
}

// open makes the API ready; it does no I/O.
func (p *Platform) open() (*api, error) {
	switch {
	case !isID(p.o.AppID, "cli_"):
		return nil, &adapter.CredentialsError{Variable: "adapters.feishu.app_id", Why: "it holds no id of an app: one begins with cli_"}
	case p.o.Secret == "":
		return nil, p.credentials("it is unset or empty")
	}
	return &api{Words: bot.NewWords(p.o.Secret), p: p, http: bot.Client(p.dial), turn: make(chan struct{}, 1)}, nil
}

// close drops the sockets that no call uses.
func (a *api) close() { a.http.CloseIdleConnections() }

// request is one call of the API.
type request struct {
	verb, path string
	// in is the body as JSON; nil: none. kind and body are a body of another kind.
	in   any
	kind string
	body []byte
	// most is the most bytes of the answer; 0: maxAnswer.
	most int64
}

// result is an answer: the number and the words of what went wrong, and what was asked for.
type result struct {
	Code int    `json:"code"`
	Why  string `json:"msg"`
	Data any    `json:"data"`
}

// call makes a call with a token and reads the data of its answer into out; nil is none.
func (a *api) call(ctx context.Context, r request, out any) error {
	text, err := a.send(ctx, r)
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(text, &result{Data: out}); err != nil {
		return a.failed(r, fmt.Errorf("read the answer: %w", err))
	}
	return nil
}

// send makes a call with a token, and makes it once more with a new one where Feishu does not know the token. The answer is whole.
func (a *api) send(ctx context.Context, r request) ([]byte, error) {
	stale := ""
	for {
		token, err := a.credential(ctx, stale)
		if err != nil {
			return nil, &adapter.UnsentError{Err: err}
		}
		text, err := a.once(ctx, r, token)
		if failed, is := errors.AsType[*callError](err); is && slices.Contains(noToken, failed.code) && stale == "" {
			stale = token
			continue
		}
		return text, err
	}
}

// credential is a token of the app that is not stale.
func (a *api) credential(ctx context.Context, stale string) (string, error) {
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return "", fmt.Errorf("wait for a token: %w", ctx.Err())
	}
	if a.token != "" && a.token != stale && time.Now().Before(a.until) {
		return a.token, nil
	}
	ctx, cancel := context.WithTimeout(ctx, a.p.call)
	defer cancel()
	r := request{verb: http.MethodPost, path: "/open-apis/auth/v3/tenant_access_token/internal", in: map[string]string{
		"app_id": a.p.o.AppID, "app_secret": a.p.o.Secret,
	}}
	text, err := a.once(ctx, r, "")
	if failed, is := errors.AsType[*callError](err); is && slices.Contains(noApp, failed.code) {
		return "", a.p.credentials("Feishu does not know this app: %s", failed.Why)
	}
	if err != nil {
		return "", err
	}
	var found struct {
		Token   string `json:"tenant_access_token"`
		Seconds int64  `json:"expire"`
	}
	if err := json.Unmarshal(text, &found); err != nil || !bot.IsToken(found.Token, "._-") || found.Token == "" {
		return "", a.failed(r, errors.New("the answer has no token"))
	}
	life := time.Duration(min(max(found.Seconds, 0), bot.MaxRetryAfter)) * time.Second
	a.token, a.until = found.Token, time.Now().Add(max(life-early, life/2))
	return a.token, nil
}

// once makes one call with a token, or without one.
func (a *api) once(ctx context.Context, r request, token string) ([]byte, error) {
	body, kind := r.body, r.kind
	if r.in != nil {
		text, err := encode(r.in)
		if err != nil {
			return nil, a.failed(r, err)
		}
		body, kind = text, "application/json; charset=utf-8"
	}
	req, err := http.NewRequestWithContext(ctx, r.verb, a.p.o.BaseURL+r.path, bytes.NewReader(body))
	if err != nil {
		return nil, a.failed(r, err)
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, text, err := bot.Do(a.http, req, cmp.Or(r.most, maxAnswer), func(err error) error { return a.failed(r, err) })
	if err != nil {
		return nil, err
	}
	return text, a.explain(r, resp, text)
}

// explain turns an answer with an error into an error for the Supervisor. Some answers with one have the status 200. A file is none.
func (a *api) explain(r request, resp *http.Response, text []byte) error {
	var said result
	isJSON := strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") && r.most == 0 || resp.StatusCode != http.StatusOK
	if isJSON && json.Unmarshal(text, &said) != nil || said.Code == 0 && resp.StatusCode != http.StatusOK {
		said = result{Why: "HTTP " + resp.Status} // a proxy's page, for instance
	} else if said.Code == 0 {
		return nil
	}
	why := a.Clean(said.Why)
	if resp.StatusCode == http.StatusTooManyRequests || slices.Contains(tooMany, said.Code) {
		return &adapter.RateLimitError{RetryAfter: pause(resp.Header)}
	}
	refused := resp.StatusCode < 500 && said.Code != 0 || resp.StatusCode == http.StatusForbidden || resp.StatusCode == http.StatusNotFound
	return &callError{
		CallError: bot.CallError{Call: r.verb + " " + r.path, Why: fmt.Sprintf("error %d, %s", cmp.Or(said.Code, resp.StatusCode), why)},
		code:      said.Code, refused: refused && !slices.Contains(noToken, said.Code),
	}
}

// pause is how long a rate limit lasts (https://open.feishu.cn/document/server-docs/api-call-guide/frequency-control).
func pause(h http.Header) time.Duration {
	for _, name := range []string{"X-Ogw-Ratelimit-Reset", "Retry-After"} {
		if n, err := strconv.ParseInt(h.Get(name), 10, 64); err == nil && n > 0 {
			return time.Duration(min(n, bot.MaxRetryAfter)) * time.Second
		}
	}
	return moment
}

func (a *api) failed(r request, err error) error {
	return &callError{CallError: bot.CallError{Call: r.verb + " " + r.path, Why: a.Why(err), Cause: err}}
}

// callError is a call that failed.
type callError struct {
	bot.CallError
	// refused means that Feishu took it and will not do it; code is Feishu's own number for why, 0 without one.
	refused bool
	code    int
}

// act makes a call about a chat or a message. An error of type *adapter.RefusedError or *adapter.RateLimitError, or one for which
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

// refused is a *adapter.RefusedError with Feishu's own number for why.
type refused struct {
	adapter.RefusedError
	code int
}

func (r *refused) Unwrap() error { return &r.RefusedError }

// saysOne reports whether a call was refused with one of these numbers.
func saysOne(err error, codes []int) bool {
	r, is := errors.AsType[*refused](err)
	return is && slices.Contains(codes, r.code)
}

// encode is v as JSON, in which the signs of HTML stand as they are: a card may have so many bytes and no more.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
