package slack

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bot"
)

// maxAnswer bounds the body of an answer in bytes. The last messages of a chat stay below it.
const maxAnswer = 8 << 20

// api is the Web API as one connection uses it. All its errors are of package adapter's types or *callError.
type api struct {
	bot.Words
	p    *Platform
	http *http.Client
}

// open makes the API ready; it does no I/O.
func (p *Platform) open() (*api, error) {
	for _, t := range []struct {
		token, begin, other string
		wrong               func(string, ...any) error
	}{{p.o.BotToken, "xoxb-", "bot token", p.botCredentials}, {p.o.AppToken, "xapp-", "app-level token", p.appCredentials}} {
		switch {
		case t.token == "":
			return nil, t.wrong("")
		case !strings.HasPrefix(t.token, t.begin) || !bot.IsToken(t.token, "-."):
			return nil, t.wrong("it holds no %s: one begins with %s and has only letters, digits and hyphens", t.other, t.begin)
		}
	}
	return &api{Words: bot.NewWords(p.o.BotToken, p.o.AppToken), p: p, http: bot.Client(p.dial)}, nil
}

// close drops the sockets that no call uses.
func (a *api) close() { a.http.CloseIdleConnections() }

// call makes one call of a method with the bot's token and reads its answer into out; nil is none. Only ctx bounds it.
func (a *api) call(ctx context.Context, method string, in url.Values, out any) error {
	_, err := a.request(ctx, a.p.o.BotToken, method, in, out)
	return err
}

// request makes one call with a token. Each method of the Web API takes a form.
func (a *api) request(ctx context.Context, token, method string, in url.Values, out any) (http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.p.o.BaseURL+"/"+method, strings.NewReader(in.Encode()))
	if err != nil {
		return nil, a.failed(method, err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Authorization", "Bearer "+token)
	resp, text, err := bot.Do(a.http, req, maxAnswer, func(err error) error { return a.failed(method, err) })
	if err != nil {
		return nil, err
	}
	var said answer
	if json.Unmarshal(text, &said) != nil || !said.OK && said.Error == "" {
		said = answer{Error: "HTTP " + resp.Status} // a proxy's page, for instance
	} else if said.OK && resp.StatusCode == http.StatusOK {
		if out == nil {
			return resp.Header, nil
		}
		if err := json.Unmarshal(text, out); err != nil {
			return nil, a.failed(method, errors.New("the answer cannot be read"))
		}
		return resp.Header, nil
	}
	return nil, a.explain(token, method, resp, said)
}

// answer is what every answer has.
type answer struct {
	OK     bool   `json:"ok"`
	Error  string `json:"error"`
	Needed string `json:"needed"` // the scope that is missing
}

// What Slack says where a token will not do, and where the call may succeed later. After the first two of the latter it may have had
// its effect (https://docs.slack.dev/reference/methods/chat.postMessage#errors).
var (
	unfit = map[string]string{
		"not_authed": "Slack does not know it", "invalid_auth": "Slack does not know it", "account_inactive": "the app was removed from its workspace",
		"token_revoked": "it was revoked", "token_expired": "it has expired", "not_allowed_token_type": "it is of the wrong kind",
		"user_removed_from_team": "the bot was removed from its workspace", "team_access_not_granted": "the app is not in this workspace",
		"org_login_required": "the workspace moves to another organisation", "access_denied": "the workspace refuses the app",
	}
	passing = map[string]bool{
		"internal_error": true, "fatal_error": true, "request_timeout": true, "service_unavailable": true, "team_added_to_org": true,
		"external_channel_migrating": true,
	}
)

// explain turns an answer with an error into an error for the Supervisor.
func (a *api) explain(token, method string, resp *http.Response, said answer) error {
	wrong := a.p.botCredentials
	if token == a.p.o.AppToken {
		wrong = a.p.appCredentials
	}
	why := a.Clean(said.Error)
	switch {
	case resp.StatusCode == http.StatusTooManyRequests, said.Error == "ratelimited", said.Error == "rate_limited":
		after, _ := strconv.ParseFloat(resp.Header.Get("Retry-After"), 64) // 0 is the least
		return &adapter.RateLimitError{RetryAfter: seconds(after)}
	case unfit[said.Error] != "":
		return wrong("%s (%s)", unfit[said.Error], why)
	case said.Error == "missing_scope":
		why = "the app lacks the scope " + a.Clean(said.Needed)
		if method == "apps.connections.open" {
			return wrong("%s: give it to the token in the app's settings", why)
		}
	case resp.StatusCode != http.StatusOK, passing[said.Error]:
		return &callError{CallError: bot.CallError{Call: method, Why: why}}
	}
	return &callError{CallError: bot.CallError{Call: method, Why: why}, code: said.Error}
}

// seconds is what Slack asks to wait, at least a second.
func seconds(s float64) time.Duration {
	return time.Duration(min(max(s, 1), bot.MaxRetryAfter) * float64(time.Second))
}

func (a *api) failed(method string, err error) error {
	return &callError{CallError: bot.CallError{Call: method, Why: a.Why(err), Cause: err}}
}

// callError is a call that failed.
type callError struct {
	bot.CallError
	// code is Slack's own word for why; it is set where Slack took the call and will not do it.
	code string
}

// act makes a call about a chat. An error of type *adapter.RefusedError or *adapter.RateLimitError, or one for which
// adapter.MayHaveArrived is false, says that it changed nothing.
func (a *api) act(ctx context.Context, method string, in url.Values, out any) error {
	return asRefused(a.call(ctx, method, in, out))
}

func asRefused(err error) error {
	if failed, is := errors.AsType[*callError](err); is && failed.code != "" {
		return &refused{adapter.RefusedError{Why: failed.Why}, failed.code}
	}
	return err
}

// refused is a *adapter.RefusedError with Slack's own word for why.
type refused struct {
	adapter.RefusedError
	code string
}

func (r *refused) Unwrap() error { return &r.RefusedError }

// said reports whether a call was refused with one of these words.
func said(err error, codes ...string) bool {
	r, is := errors.AsType[*refused](err)
	if !is {
		return false
	}
	for _, code := range codes {
		if r.code == code {
			return true
		}
	}
	return false
}
