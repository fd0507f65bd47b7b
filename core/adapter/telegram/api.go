package telegram

import (
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

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"gatewaytui/core/adapter"
	"gatewaytui/core/term"
)

const (
	// maxAnswer bounds the body of an answer in bytes. A hundred updates, the most of one, stay far below it.
	maxAnswer = 32 << 20
	// maxWhy bounds the reason in an error, in runes: a proxy may answer with a whole page.
	maxWhy = 200
)

// api is the Bot API as one connection uses it. All its errors are of package adapter's types or *callError.
type api struct {
	p      *Platform
	bot    *bot.Bot
	http   *http.Client
	base   string // with the token
	redact *term.Redactor
}

// self is who the bot is.
type self struct {
	id   int64
	name string // without the @
}

// open makes the API ready; it does no I/O.
func (p *Platform) open() (*api, error) {
	token := p.o.Token
	if token == "" {
		return nil, p.credentials("it is unset or empty")
	}
	// What else is in it would change the path of every call, and is a slip of the hand.
	if strings.ContainsFunc(token, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune(":_-", r)
	}) {
		return nil, p.credentials("it holds no bot token: one has only letters, digits, and the signs : _ -")
	}
	a := &api{p: p, base: p.o.BaseURL + "/bot" + token, redact: term.NewRedactor(token)}
	a.http = &http.Client{
		Transport: p.transport(),
		// A redirect would hand the URL, which holds the token, to another host as its Referer.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if _, err := http.NewRequest(http.MethodGet, a.base, nil); err != nil {
		return nil, a.failed("base_url", err)
	}
	b, err := bot.New(token,
		bot.WithSkipGetMe(),
		bot.WithServerURL(p.o.BaseURL),
		bot.WithHTTPClient(p.poll, a), // the duration belongs to the library's own loop
		bot.WithErrorsHandler(func(err error) { p.log.Debug("telegram.client", "error", a.failed("client", err)) }),
	)
	if err != nil {
		return nil, a.failed("client", err)
	}
	a.bot = b
	return a, nil
}

// close drops the sockets that no call uses.
func (a *api) close() { a.http.CloseIdleConnections() }

// Do implements bot.HttpClient: an answer is read up to maxAnswer only.
func (a *api) Do(r *http.Request) (*http.Response, error) {
	resp, err := a.http.Do(r)
	if err != nil {
		return nil, err
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	return resp, nil
}

func (a *api) me(ctx context.Context) (self, error) {
	ctx, cancel := context.WithTimeout(ctx, a.p.call)
	defer cancel()
	u, err := a.bot.GetMe(ctx)
	if err != nil {
		return self{}, a.explain("getMe", err)
	}
	return self{id: u.ID, name: u.Username}, nil
}

// removeWebhook keeps the updates that wait.
func (a *api) removeWebhook(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, a.p.call)
	defer cancel()
	if _, err := a.bot.DeleteWebhook(ctx, &bot.DeleteWebhookParams{}); err != nil {
		return a.explain("deleteWebhook", err)
	}
	return nil
}

// send sends one message of at most maxUnits. An error of type *adapter.RefusedError or *adapter.RateLimitError says that
// it did not arrive; after any other it may have.
func (a *api) send(ctx context.Context, to address, text string) error {
	params := &bot.SendMessageParams{
		ChatID: to.chat, MessageThreadID: int(to.topic), Text: text,
		LinkPreviewOptions: &models.LinkPreviewOptions{IsDisabled: bot.True()},
	}
	_, err := a.bot.SendMessage(ctx, params)
	// A group that became a supergroup has a new id. The old id accepted nothing, so this does not send the message twice.
	if moved, is := errors.AsType[*bot.MigrateError](err); is {
		params.ChatID = int64(moved.MigrateToChatID)
		_, err = a.bot.SendMessage(ctx, params)
	}
	if errors.Is(err, bot.ErrorForbidden) || errors.Is(err, bot.ErrorBadRequest) {
		return &adapter.RefusedError{Why: a.words(err)}
	}
	return a.explain("sendMessage", err)
}

// updates is one getUpdates: it confirms what is below offset, and returns what is not confirmed, waiting for up to wait, in
// whole seconds, if there is nothing. The updates are returned unparsed, so that a malformed update does not spoil the
// others.
func (a *api) updates(ctx context.Context, offset int64, wait time.Duration) ([]json.RawMessage, error) {
	limit := a.p.call
	if wait > 0 {
		limit = wait + 2*a.p.grace
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	batch, err := a.getUpdates(ctx, url.Values{
		"offset":          {strconv.FormatInt(offset, 10)},
		"timeout":         {strconv.Itoa(int(wait.Seconds()))},
		"allowed_updates": {`["message"]`},
	})
	return batch, a.explain("getUpdates", err)
}

func (a *api) getUpdates(ctx context.Context, query url.Values) ([]json.RawMessage, error) {
	// A GET, because net/http repeats it if the server had closed the idle connection.
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.base+"/getUpdates?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := a.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	var answer struct {
		OK          bool              `json:"ok"`
		Result      []json.RawMessage `json:"result"`
		Code        int               `json:"error_code"`
		Description string            `json:"description"`
		Parameters  struct {
			RetryAfter int `json:"retry_after"`
		} `json:"parameters"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("no Bot API answer, but HTTP %s", resp.Status)
	}
	if answer.OK {
		return answer.Result, nil
	}
	switch answer.Code {
	case http.StatusUnauthorized:
		return nil, fmt.Errorf("%w, %s", bot.ErrorUnauthorized, answer.Description)
	case http.StatusNotFound:
		return nil, fmt.Errorf("%w, %s", bot.ErrorNotFound, answer.Description)
	case http.StatusConflict:
		return nil, fmt.Errorf("%w, %s", bot.ErrorConflict, answer.Description)
	case http.StatusTooManyRequests:
		return nil, &bot.TooManyRequestsError{Message: answer.Description, RetryAfter: answer.Parameters.RetryAfter}
	}
	return nil, fmt.Errorf("error %d, %s", answer.Code, answer.Description)
}

// explain turns an error of the library or of getUpdates into one for the Supervisor; nil stays nil.
func (a *api) explain(method string, err error) error {
	if err == nil {
		return nil
	}
	if limit, is := errors.AsType[*bot.TooManyRequestsError](err); is {
		return &adapter.RateLimitError{RetryAfter: time.Duration(min(max(limit.RetryAfter, 1), maxRetryAfter)) * time.Second}
	}
	switch {
	case errors.Is(err, bot.ErrorUnauthorized), errors.Is(err, bot.ErrorNotFound):
		// Telegram answers 404 where the token has not even the form of one.
		return a.p.credentials("the Bot API does not know this bot (%s)", a.words(err))
	case errors.Is(err, bot.ErrorConflict):
		return &adapter.ConflictError{Why: "Telegram lets one program poll a bot (" + a.words(err) + ")"}
	}
	return a.failed(method, err)
}

// maxRetryAfter, in seconds, keeps nonsense from overflowing a duration.
const maxRetryAfter = 30 * 24 * 3600

// isWebhook tells the conflict that deleteWebhook cures from the one with another poller; Telegram does so in words only.
func isWebhook(err error) bool {
	c, is := errors.AsType[*adapter.ConflictError](err)
	return is && strings.Contains(c.Why, "webhook")
}

// words returns Telegram's text from an error of the library, without the library's prefix.
func (a *api) words(err error) string {
	why := a.why(err)
	if _, said, found := strings.Cut(why, ", "); found {
		return said
	}
	return why
}

// why is err for people.
func (a *api) why(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	if u, is := errors.AsType[*url.Error](err); is {
		err = u.Err // the rest of it is the URL
	}
	return term.Clean(a.redact.Redact(err.Error()), maxWhy)
}

func (a *api) failed(method string, err error) error {
	return &callError{method: method, why: a.why(err), cause: err}
}

// callError is a call that failed, without the token. It does not unwrap: what is inside may print the URL.
type callError struct {
	method, why string
	cause       error
}

func (e *callError) Error() string { return e.method + ": " + e.why }

// Is reports whether the cause is the end of a context; nothing else of it is anyone's to know.
func (e *callError) Is(target error) bool {
	return (target == context.DeadlineExceeded || target == context.Canceled) && errors.Is(e.cause, target)
}
