package discord

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bot"
)

const (
	// version is the version of the API and of the gateway.
	version = "10"
	// maxAnswer bounds the body of an answer in bytes. A message stays far below it.
	maxAnswer = 4 << 20
)

// api is the REST API as one connection uses it. All its errors are of package adapter's types or *callError.
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
	// What else is in it cannot stand in a header, and is a slip of the hand.
	if !bot.IsToken(token, "._-") {
		return nil, p.credentials("it holds no bot token: one has only letters, digits, and the signs . _ -")
	}
	return &api{Words: bot.NewWords(token), p: p, http: bot.Client(p.dial)}, nil
}

// close drops the sockets that no call uses.
func (a *api) close() { a.http.CloseIdleConnections() }

// gateway asks where the gateway is. An error says if the day's sessions are used up.
func (a *api) gateway(ctx context.Context) (address string, err error) {
	var found struct {
		URL   string `json:"url"`
		Limit struct {
			Total      int   `json:"total"`
			Remaining  int   `json:"remaining"`
			ResetAfter int64 `json:"reset_after"` // milliseconds
		} `json:"session_start_limit"`
	}
	if err := a.call(ctx, a.p.call, http.MethodGet, "/gateway/bot", nil, &found); err != nil {
		return "", err
	}
	if l := found.Limit; l.Total > 0 && l.Remaining <= 0 {
		return "", &adapter.RateLimitError{RetryAfter: seconds(float64(l.ResetAfter) / 1000)}
	}
	return found.URL, nil
}

// call makes one call of the API, in at most limit (0: only ctx bounds it), with in as its body, and reads its result into out;
// nil is none.
func (a *api) call(ctx context.Context, limit time.Duration, verb, path string, in, out any) error {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	if in == nil {
		return a.request(ctx, verb, path, "", nil, out)
	}
	text, err := json.Marshal(in)
	if err != nil {
		return a.failed(verb, path, err)
	}
	return a.request(ctx, verb, path, "application/json", text, out)
}

// request makes one call with a body of the media type kind; empty is no body.
func (a *api) request(ctx context.Context, verb, path, kind string, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, verb, a.p.o.BaseURL+"/v"+version+path, bytes.NewReader(body))
	if err != nil {
		return a.failed(verb, path, err)
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	req.Header.Set("Authorization", "Bot "+a.p.o.Token)
	req.Header.Set("User-Agent", "DiscordBot (gatewaytui, 1)") // Discord refuses others
	return a.do(req, path, out)
}

func (a *api) do(req *http.Request, path string, out any) error {
	resp, text, err := bot.Do(a.http, req, maxAnswer, func(err error) error { return a.failed(req.Method, path, err) })
	if err != nil {
		return err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return a.explain(req.Method, path, resp, text)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return a.failed(req.Method, path, fmt.Errorf("read the answer: %w", err))
	}
	return nil
}

// explain turns an answer with an error into an error for the Supervisor.
func (a *api) explain(verb, path string, resp *http.Response, text []byte) error {
	var said struct {
		Message    string  `json:"message"`
		Code       int     `json:"code"`
		RetryAfter float64 `json:"retry_after"`
	}
	if json.Unmarshal(text, &said) != nil || said.Message == "" {
		said.Message = "HTTP " + resp.Status // a proxy's page, for instance
	}
	why := a.Clean(said.Message)
	switch status := resp.StatusCode; status {
	case http.StatusUnauthorized:
		return a.p.credentials("Discord does not know this bot: %s", why)
	case http.StatusTooManyRequests:
		after := said.RetryAfter
		if after <= 0 {
			after, _ = strconv.ParseFloat(resp.Header.Get("Retry-After"), 64) // 0 is the least
		}
		return &adapter.RateLimitError{RetryAfter: seconds(after)}
	case http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound:
		return &callError{CallError: bot.CallError{Call: verb + " " + place(path), Why: why}, refused: true, code: said.Code}
	default:
		return &callError{CallError: bot.CallError{Call: verb + " " + place(path), Why: fmt.Sprintf("error %d, %s", status, why)}}
	}
}

// seconds is what a platform asks to wait, at least a moment and rounded up.
func seconds(s float64) time.Duration {
	return time.Duration(math.Ceil(min(max(s, 0.1), bot.MaxRetryAfter)*1000)) * time.Millisecond
}

// place is the part of a path that holds no secret: that of an interaction has its token in it.
func place(path string) string {
	if strings.HasPrefix(path, "/interactions/") {
		return "/interactions"
	}
	return path
}

func (a *api) failed(verb, path string, err error) error {
	return &callError{CallError: bot.CallError{Call: verb + " " + place(path), Why: a.Why(err), Cause: err}}
}

// callError is a call that failed.
type callError struct {
	bot.CallError
	// refused means that Discord took it and will not do it; code is then its own number for why.
	refused bool
	code    int
}
