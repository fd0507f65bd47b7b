package model

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// The retries of one call: at most maxAttempts, with waits of about 0.5 s, doubling, up to 15 s; an endpoint's own value
// (Retry-After) is followed up to a minute (E8). All of it counts against the call's timeout: a value of more
// than what is left of that ends the call at once, with the value in its error (HF27).
const (
	maxAttempts   = 6
	hastyAttempts = 2               // of a call that another model answers if this one fails
	maxHasty      = 2 * time.Second // such a call waits no longer than this
	firstBackoff  = 500 * time.Millisecond
	maxBackoff    = 15 * time.Second
	maxRetryAfter = time.Minute
)

// OpenAIOptions is what NewOpenAI needs.
type OpenAIOptions struct {
	// BaseURL ends before /chat/completions, e.g. http://127.0.0.1:11434/v1.
	BaseURL string
	// Model is the model's name at the endpoint.
	Model string
	// APIKey is sent as a bearer token; empty: none is sent.
	APIKey string
	// KeyHint is where the key comes from, for error texts: the name of the environment variable. Empty: none is set.
	KeyHint string
	// Timeout bounds one call, its retries included; 0: only the caller's bound.
	Timeout time.Duration
	// Calls is the largest number of calls that run at once (limits.model_calls); so many connections are kept for the next ones.
	// 0 is DefaultCalls.
	Calls int
	// Table is the table of the config, for error texts; empty: model.
	Table string
	// MaxOutput bounds the tokens of one answer, 0: it is the endpoint's to say. Reasoning is how much the model thinks, in the
	// protocol's words; empty: the endpoint's default.
	MaxOutput int
	Reasoning string
	// Window is the model's context in tokens, 0: not known. Vision says that it can see pictures.
	Window int
	Vision bool
	// Log takes one line for each retry; nil discards it.
	Log *slog.Logger
}

// openAI is the Provider of one endpoint. All its clients share its connections.
type openAI struct {
	speaks                        protocol
	name, at, key, keyHint, table string
	timeout                       time.Duration
	window                        contextWindow
	vision                        bool
	maxOutput                     int
	reasoning                     string
	log                           *slog.Logger
	http                          *http.Client
	// noUsage is set once the endpoint refused stream_options, which it is then spared.
	noUsage atomic.Bool
	// maxCompletion is set once the endpoint wanted max_completion_tokens for max_tokens.
	maxCompletion atomic.Bool
	// tools are the tools of the last request that had some.
	tools atomic.Pointer[writtenTools]
	// open counts the clients; the last one to close drops the idle connections.
	open atomic.Int64
}

// NewOpenAI makes the clients of an OpenAI-compatible chat-completions endpoint. It does no I/O. The error is about
// BaseURL or Model.
func NewOpenAI(o OpenAIOptions) (Provider, error) {
	base, err := url.Parse(o.BaseURL)
	o.Table = cmp.Or(o.Table, "model")
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s.base_url is not a URL, e.g. http://127.0.0.1:11434/v1", o.Table)
	case base.Scheme != "http" && base.Scheme != "https", base.Host == "":
		return nil, fmt.Errorf("%s.base_url %.80q: want http(s)://host[:port]/path, e.g. http://127.0.0.1:11434/v1", o.Table, base.Redacted())
	case base.User != nil:
		return nil, fmt.Errorf("%s.base_url holds credentials: name a variable in %s.api_key_env instead", o.Table, o.Table)
	case base.RawQuery != "" || base.Fragment != "":
		return nil, fmt.Errorf("%s.base_url has a query or a fragment: want http(s)://host[:port]/path", o.Table)
	case strings.TrimSpace(o.Model) == "":
		return nil, fmt.Errorf("%s.name is empty: name a model of the endpoint", o.Table)
	}
	p := &openAI{
		table: o.Table, window: contextWindow{configured: o.Window}, vision: o.Vision, maxOutput: o.MaxOutput, reasoning: o.Reasoning,
		name: o.Model, at: strings.TrimRight(base.String(), "/"), key: o.APIKey, keyHint: o.KeyHint, timeout: o.Timeout, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		http: &http.Client{
			Transport: newTransport(cmp.Or(o.Calls, DefaultCalls)),
			// The target would get the transcript, and on the same host the key (HF10).
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	p.speaks = p
	return p, nil
}

// DefaultCalls is the default of limits.model_calls.
const DefaultCalls = 512

// newTransport makes the connections of one provider, for so many calls at once. It does not bound them itself: a call that
// waits here would wait unseen, and Slots bounds the calls before they come here. Every connection that a call used is kept
// for the next one. There is no timeout for the answer's header: a model may take as long as the whole call may.
func newTransport(calls int) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext
	t.MaxIdleConns, t.MaxIdleConnsPerHost = calls, calls
	// Many calls share an HTTP/2 connection: a dead one must not hold them until their timeout.
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second}
	return t
}

func (p *openAI) Name() string { return p.name }

func (p *openAI) Window() int { return p.window.tokens() }

func (p *openAI) MaxOutput() int { return p.maxOutput }

func (p *openAI) Vision() bool { return p.vision }

func (p *openAI) New() Client {
	p.open.Add(1)
	c := &openAIClient{openAI: p}
	// The client's life, not a call's: Close ends it.
	c.life, c.end = context.WithCancel(context.Background())
	return c
}

// openAIClient is one agent's client.
type openAIClient struct {
	*openAI
	life   context.Context
	end    context.CancelFunc
	closed sync.Once
}

func (c *openAIClient) Close() error {
	c.closed.Do(func() {
		c.end()
		if c.open.Add(-1) == 0 {
			c.http.CloseIdleConnections()
		}
	})
	return nil
}

func (c *openAIClient) Complete(ctx context.Context, req Request, delta func(string)) (Response, error) {
	call, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	if c.timeout > 0 {
		var expire context.CancelFunc
		call, expire = context.WithTimeout(call, c.timeout)
		defer expire()
	}

	waits := &backoff.ExponentialBackOff{
		InitialInterval: firstBackoff, RandomizationFactor: backoff.DefaultRandomizationFactor, Multiplier: 2, MaxInterval: maxBackoff,
	}
	waits.Reset()
	for attempt := 1; ; attempt++ {
		if ended := c.ended(ctx, call); ended != nil {
			return Response{}, ended
		}
		delivered := false
		resp, err := c.once(call, req, func(text string) {
			if delta != nil {
				delivered = delivered || text != ""
				delta(text)
			}
		})
		if err == nil {
			return resp, nil
		}
		if ended := c.ended(ctx, call); ended != nil {
			return Response{}, ended
		}
		failed := c.explain(err, attempt)
		// Text that was delivered cannot be taken back, and a second try would repeat it.
		if delivered || !failed.retry || attempt == maxAttempts || req.Fallback && attempt == hastyAttempts {
			return Response{}, failed
		}
		wait := max(waits.NextBackOff(), failed.RetryAfter)
		if req.Fallback && wait > maxHasty {
			return Response{}, failed
		}
		if deadline, ok := call.Deadline(); ok && time.Until(deadline) <= wait {
			if failed.RetryAfter > 0 { // the client gets it too: see RetryAfter
				failed.Message += fmt.Sprintf("; not waited for, because %s are left of %s.timeout", time.Until(deadline).Round(time.Second), c.table)
			}
			return Response{}, failed
		}
		wait = min(wait, maxRetryAfter)
		c.log.Warn("model call is retried", "model", c.name, "kind", failed.Kind, "status", failed.Status, "attempt", attempt, "wait", wait)
		select {
		case <-time.After(wait):
		case <-call.Done():
			return Response{}, c.ended(ctx, call)
		}
	}
}

// protocol is what differs between the endpoints' protocols.
type protocol interface {
	// request is a call as the endpoint reads it.
	request(ctx context.Context, req Request) (*http.Request, error)
	// read reads an answer of the content type kind, and hands on its text.
	read(kind string, body io.ReadCloser, delta func(string)) (Response, error)
	// again reports whether the call may go well in another form, which request then makes.
	again(failed *Error, req Request) bool
}

// once makes one attempt.
func (c *openAIClient) once(ctx context.Context, req Request, delta func(string)) (Response, error) {
	r, err := c.speaks.request(ctx, req)
	if err != nil {
		return Response{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Cache-Control", "no-cache")
	resp, err := c.http.Do(r)
	if err != nil {
		return Response{}, unreachable(err)
	}
	defer resp.Body.Close()
	if failed := redirected(resp, c.key); failed != nil {
		return Response{}, failed
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		failed := refused(resp)
		if failed.Status < 500 && c.speaks.again(failed, req) {
			return c.once(ctx, req, delta)
		}
		return Response{}, failed
	}
	return c.speaks.read(contentType(resp.Header), resp.Body, delta)
}

func (p *openAI) request(ctx context.Context, req Request) (*http.Request, error) {
	body, err := p.encode(req)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.at+"/chat/completions", bytes.NewReader(body))
	if err == nil && p.key != "" {
		r.Header.Set("Authorization", "Bearer "+p.key)
	}
	return r, err
}

func (p *openAI) read(kind string, body io.ReadCloser, delta func(string)) (Response, error) {
	if kind == "application/json" {
		return readWhole(body, delta)
	}
	return readStream(body, &answer{kind: kind, delta: delta})
}

// again is for endpoints that do not know a newer or an older parameter.
func (p *openAI) again(failed *Error, req Request) bool {
	switch {
	case !p.noUsage.Load() && strings.Contains(failed.said, "stream_options"):
		p.noUsage.Store(true)
	case !p.maxCompletion.Load() && p.params(req.Params).MaxTokens != nil && strings.Contains(failed.said, "max_completion_tokens"):
		p.maxCompletion.Store(true)
	default:
		return false
	}
	return true
}

// ended is why the call must end now, nil if it need not: its caller, the client's Close, or the timeout, in this order.
func (c *openAIClient) ended(ctx, call context.Context) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case c.life.Err() != nil:
		return ErrClosed
	case call.Err() != nil:
		return &Error{
			Kind: KindTimeout, cause: call.Err(),
			Message: fmt.Sprintf("model %q at %s gave no complete answer within %s (%s.timeout)", c.name, c.at, c.timeout, c.table),
		}
	}
	return nil
}

// explain turns what went wrong in the attempt numbered attempt into an Error with a whole sentence.
func (c *openAIClient) explain(err error, attempt int) *Error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		e = &Error{Kind: KindBroken, cause: err, Message: "sent a broken answer", said: err.Error()}
	}
	if e.Kind == KindTooLong {
		c.window.learn(e.Window)
	}
	what := e.Message
	if said := clean(e.said, c.key); said != "" {
		what += ": " + said
	}
	if e.RetryAfter > 0 {
		what += ", and asks to wait " + e.RetryAfter.String()
	}
	e.Message = fmt.Sprintf("model %q at %s %s%s", c.name, c.at, what, c.hint(e.Kind))
	if attempt > 1 {
		e.Message += fmt.Sprintf(" (%d attempts)", attempt)
	}
	return e
}

// hint is what to do about a failure of kind k.
func (c *openAIClient) hint(k Kind) string {
	switch {
	case k == KindAuth && c.keyHint != "":
		return "; put a valid key into " + c.keyHint
	case k == KindAuth:
		return "; name the variable that holds the key in " + c.table + ".api_key_env"
	case k == KindNotAModel:
		return "; check " + c.table + ".base_url"
	case k == KindNoModel:
		return "; check " + c.table + ".name and " + c.table + ".base_url"
	case k == KindRedirected:
		return "; if the new address is right, put it into " + c.table + ".base_url"
	}
	return ""
}
