package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bot"
)

const (
	// maxAnswer bounds the body of an answer in bytes. A hundred updates, the most of one, stay far below it.
	maxAnswer = 32 << 20
)

// api is the Bot API as one connection uses it. All its errors are of package adapter's types or *callError.
type api struct {
	bot.Words
	p     *Platform
	http  *http.Client
	base  string // of the calls, with the token
	files string // of the files, with the token
}

// open makes the API ready; it does no I/O.
func (p *Platform) open() (*api, error) {
	token := p.o.Token
	if token == "" {
		return nil, p.credentials("it is unset or empty")
	}
	// What else is in it would change the path of every call, and is a slip of the hand.
	if !bot.IsToken(token, ":_-") {
		return nil, p.credentials("it holds no bot token: one has only letters, digits, and the signs : _ -")
	}
	a := &api{
		Words: bot.NewWords(token), p: p, http: bot.Client(p.dial),
		base: p.o.BaseURL + "/bot" + token, files: p.o.BaseURL + "/file/bot" + token,
	}
	if _, err := http.NewRequest(http.MethodGet, a.base, nil); err != nil {
		return nil, a.failed("base_url", err)
	}
	return a, nil
}

// close drops the sockets that no call uses.
func (a *api) close() { a.http.CloseIdleConnections() }

func (a *api) me(ctx context.Context) (me self, err error) {
	return me, a.call(ctx, a.p.call, http.MethodGet, "getMe", nil, &me)
}

// removeWebhook keeps the updates that wait.
func (a *api) removeWebhook(ctx context.Context) error {
	return a.call(ctx, a.p.call, http.MethodPost, "deleteWebhook", nil, new(bool))
}

// write makes a call that changes something in a chat. An error of type *adapter.RefusedError or *adapter.RateLimitError, or
// one for which adapter.MayHaveArrived is false, says that it changed nothing.
func (a *api) write(ctx context.Context, method string, params url.Values, result any) error {
	return toChat(params, func() error { return a.call(ctx, 0, http.MethodPost, method, params, result) })
}

// upload is a write with a file under the name field.
func (a *api) upload(ctx context.Context, method string, params url.Values, field string, f adapter.OutgoingFile, result any) error {
	return toChat(params, func() error {
		body, kind, err := bot.Form(params, field, f)
		if err != nil {
			return &adapter.RefusedError{Why: err.Error()}
		}
		return a.request(ctx, http.MethodPost, method, a.base+"/"+method, kind, bytes.NewReader(body), result)
	})
}

// toChat makes a call about the chat that params name.
func toChat(params url.Values, call func() error) error {
	err := call()
	// A group that became a supergroup has a new id. The old id accepted nothing, so this does not send a message twice.
	if failed, is := errors.AsType[*callError](err); is && failed.moved != 0 {
		params.Set("chat_id", strconv.FormatInt(failed.moved, 10))
		err = call()
	}
	if failed, is := errors.AsType[*callError](err); is && refusals[failed.code] {
		return &adapter.RefusedError{Why: failed.Why}
	}
	return err
}

// refusals are the codes with which Telegram says that it will never do what a call asks for.
var refusals = map[int]bool{http.StatusForbidden: true, http.StatusBadRequest: true, http.StatusRequestEntityTooLarge: true}

// updates is one getUpdates: it confirms what is below offset, and returns what is not confirmed, waiting for up to wait, in
// whole seconds, if there is nothing. The updates are returned unparsed, so that a malformed update does not spoil the
// others.
func (a *api) updates(ctx context.Context, offset int64, wait time.Duration) (batch []json.RawMessage, err error) {
	limit := a.p.call
	if wait > 0 {
		limit = wait + 2*a.p.grace
	}
	// A GET, because net/http repeats it if the server had closed the idle connection.
	return batch, a.call(ctx, limit, http.MethodGet, "getUpdates", url.Values{
		"offset":          {strconv.FormatInt(offset, 10)},
		"timeout":         {strconv.Itoa(int(wait.Seconds()))},
		"allowed_updates": {`["message","edited_message","callback_query"]`},
	}, &batch)
}

// call makes one call of the Bot API, in at most limit (0: only ctx bounds it), and reads its result into result.
func (a *api) call(ctx context.Context, limit time.Duration, verb, method string, params url.Values, result any) error {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	at, body := a.base+"/"+method, ""
	if verb == http.MethodGet {
		at += "?" + params.Encode()
	} else {
		body = params.Encode()
	}
	return a.request(ctx, verb, method, at, "application/x-www-form-urlencoded", strings.NewReader(body), result)
}

// request makes one call with a body of the media type kind.
func (a *api) request(ctx context.Context, verb, method, at, kind string, body io.Reader, result any) error {
	req, err := http.NewRequestWithContext(ctx, verb, at, body)
	if err != nil {
		return a.failed(method, err)
	}
	req.Header.Set("Content-Type", kind)
	resp, text, err := bot.Do(a.http, req, maxAnswer, func(err error) error { return a.failed(method, err) })
	if err != nil {
		return err
	}
	var answer answer
	if err := json.Unmarshal(text, &answer); err != nil {
		return a.failed(method, fmt.Errorf("no Bot API answer, but HTTP %s", resp.Status))
	}
	if !answer.OK {
		return a.explain(method, answer)
	}
	if err := json.Unmarshal(answer.Result, result); err != nil {
		return a.failed(method, fmt.Errorf("read the result: %w", err))
	}
	return nil
}

// answer is every answer of the Bot API (https://core.telegram.org/bots/api#making-requests).
type answer struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Code        int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter int   `json:"retry_after"`
		MovedTo    int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// explain turns an answer with an error into an error for the Supervisor.
func (a *api) explain(method string, failed answer) error {
	said := a.Clean(failed.Description)
	switch failed.Code {
	case http.StatusUnauthorized, http.StatusNotFound:
		// Telegram answers 404 where the token has not even the form of one.
		return a.p.credentials("the Bot API does not know this bot (%s)", said)
	case http.StatusConflict:
		return &adapter.ConflictError{Why: "Telegram lets one program poll a bot (" + said + ")"}
	case http.StatusTooManyRequests:
		return &adapter.RateLimitError{RetryAfter: time.Duration(min(max(failed.Parameters.RetryAfter, 1), bot.MaxRetryAfter)) * time.Second}
	case http.StatusForbidden, http.StatusBadRequest, http.StatusRequestEntityTooLarge:
	default:
		said = fmt.Sprintf("error %d, %s", failed.Code, said)
	}
	return &callError{CallError: bot.CallError{Call: method, Why: said}, code: failed.Code, moved: failed.Parameters.MovedTo}
}

// isWebhook tells the conflict that deleteWebhook cures from the one with another poller; Telegram does so in words only.
func isWebhook(err error) bool {
	c, is := errors.AsType[*adapter.ConflictError](err)
	return is && strings.Contains(c.Why, "webhook")
}

func (a *api) failed(method string, err error) error {
	return &callError{CallError: bot.CallError{Call: method, Why: a.Why(err), Cause: err}}
}

// callError is a call that failed.
type callError struct {
	bot.CallError
	// code is Telegram's error_code, moved the new id of a group that moved; 0: none.
	code  int
	moved int64
}
