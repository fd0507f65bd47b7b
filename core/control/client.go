package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"gatewaytui/core/ops"
)

// ClientOptions change how a Client behaves. The zero value is good.
type ClientOptions struct {
	// ReadOnly makes the gateway refuse all changes.
	ReadOnly bool
	// Timeout bounds one plain question; 0 is 5 s. Long polls and streams are bounded by their contexts.
	Timeout time.Duration
	// Owner is the user whose home the gateway is on. Root trusts a gateway of this user; everyone trusts their own and
	// root's alone (HF15). 0: no user.
	Owner int
}

// Client is an ops.Console over a control socket: that interface says what its methods promise. It is safe for concurrent use.
type Client struct {
	path string
	opt  ClientOptions
	http *http.Client
	life atomic.Pointer[string] // see Life
	rows rows
}

var _ ops.Console = (*Client)(nil)

// bodies are the buffers that snapshots are read into.
var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxAnswer bounds an answer, in bytes: a snapshot of 10,000 sessions has about 6 MiB.
const maxAnswer = 256 << 20

// NewClient returns a client of the gateway that listens at path. It does no I/O.
func NewClient(path string, opt ClientOptions) *Client {
	if opt.Timeout <= 0 {
		opt.Timeout = 5 * time.Second
	}
	t := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dial(ctx, path, opt.Owner)
		},
		MaxIdleConns:       4,
		IdleConnTimeout:    time.Minute,
		DisableCompression: true,
	}
	// The socket never redirects, so an answer that does is not the gateway's.
	h := &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &Client{path: path, opt: opt, http: h}
}

// Life is the life that answered last, empty before the first answer.
func (c *Client) Life() string {
	if life := c.life.Load(); life != nil {
		return *life
	}
	return ""
}

// Close gives up the idle connections. What is in flight goes on.
func (c *Client) Close() { c.http.CloseIdleConnections() }

func (c *Client) Status(ctx context.Context) (ops.Status, error) {
	return get[ops.Status](ctx, c, "/v1/status", nil)
}

func (c *Client) Snapshot(ctx context.Context, most ...ops.Most) (ops.Snapshot, error) {
	q := url.Values{}
	for _, m := range most {
		q.Set(string(m.Table), strconv.Itoa(max(m.Rows, 0)))
	}
	ctx, cancel := context.WithTimeout(ctx, c.opt.Timeout)
	defer cancel()
	resp, err := c.send(ctx, http.MethodGet, "/v1/snapshot?"+q.Encode(), nil, nil)
	if err != nil {
		return ops.Snapshot{}, err
	}
	defer resp.Body.Close()
	text := bodies.Get().(*bytes.Buffer)
	defer bodies.Put(text)
	text.Reset()
	if _, err := text.ReadFrom(io.LimitReader(resp.Body, maxAnswer)); err != nil {
		return ops.Snapshot{}, c.unreachable(fmt.Errorf("read the answer: %w", err))
	}
	s, err := c.rows.snapshot(text.Bytes())
	if err != nil {
		return ops.Snapshot{}, c.unreachable(fmt.Errorf("read the answer: %w", err))
	}
	return s, nil
}

func (c *Client) Sessions(ctx context.Context, q ops.Query) (ops.Page[ops.Session], error) {
	return get[ops.Page[ops.Session]](ctx, c, "/v1/sessions", rowValues(q))
}

func (c *Client) Agents(ctx context.Context, q ops.Query) (ops.Page[ops.Agent], error) {
	return get[ops.Page[ops.Agent]](ctx, c, "/v1/agents", rowValues(q))
}

func (c *Client) Processes(ctx context.Context, q ops.Query) (ops.Page[ops.Process], error) {
	return get[ops.Page[ops.Process]](ctx, c, "/v1/processes", rowValues(q))
}

func (c *Client) Adapters(ctx context.Context, q ops.Query) (ops.Page[ops.Adapter], error) {
	return get[ops.Page[ops.Adapter]](ctx, c, "/v1/adapters", rowValues(q))
}

func (c *Client) Environments(ctx context.Context, q ops.Query) (ops.Page[ops.Environment], error) {
	return get[ops.Page[ops.Environment]](ctx, c, "/v1/environments", rowValues(q))
}

func (c *Client) Servers(ctx context.Context, q ops.Query) (ops.Page[ops.Server], error) {
	return get[ops.Page[ops.Server]](ctx, c, "/v1/servers", rowValues(q))
}

func (c *Client) Jobs(ctx context.Context, q ops.Query) (ops.Page[ops.Job], error) {
	return get[ops.Page[ops.Job]](ctx, c, "/v1/jobs", rowValues(q))
}

func (c *Client) Held(ctx context.Context, q ops.Query) (ops.Page[ops.Held], error) {
	return get[ops.Page[ops.Held]](ctx, c, "/v1/held", rowValues(q))
}

func (c *Client) Browsers(ctx context.Context, q ops.Query) (ops.Page[ops.Held], error) {
	return get[ops.Page[ops.Held]](ctx, c, "/v1/browsers", rowValues(q))
}

func (c *Client) Notes(ctx context.Context, q ops.Query) (ops.Page[ops.Note], error) {
	return get[ops.Page[ops.Note]](ctx, c, "/v1/notes", rowValues(q))
}

func (c *Client) Inbox(ctx context.Context, q ops.Query) (ops.Page[ops.InboxItem], error) {
	return get[ops.Page[ops.InboxItem]](ctx, c, "/v1/inbox", rowValues(q))
}

func (c *Client) People(ctx context.Context, q ops.Query) (ops.Page[ops.Person], error) {
	return get[ops.Page[ops.Person]](ctx, c, "/v1/people", rowValues(q))
}

// Rules implements ops.Console.
func (c *Client) Rules(ctx context.Context, q ops.Query) (ops.Page[ops.Rule], error) {
	return get[ops.Page[ops.Rule]](ctx, c, "/v1/approvals/rules", rowValues(q))
}

func (c *Client) Usage(ctx context.Context, q ops.UsageQuery) (ops.Page[ops.Usage], error) {
	return get[ops.Page[ops.Usage]](ctx, c, "/v1/usage", values(map[string]string{"by": q.By, "since": q.Since}))
}

func (c *Client) Budgets(ctx context.Context) (ops.Page[ops.Budget], error) {
	return get[ops.Page[ops.Budget]](ctx, c, "/v1/budgets", nil)
}

// Rates implements ops.Console.
func (c *Client) Rates(ctx context.Context, span time.Duration) (ops.Rates, error) {
	given := ""
	if span > 0 {
		given = span.String()
	}
	return get[ops.Rates](ctx, c, "/v1/rates", values(map[string]string{"span": given}))
}

func (c *Client) Plan(ctx context.Context, assume ...string) (ops.Plan, error) {
	return get[ops.Plan](ctx, c, "/v1/plan", url.Values{"if": assume})
}

func (c *Client) Shutdown(ctx context.Context) (ops.Shutdown, error) {
	return get[ops.Shutdown](ctx, c, "/v1/shutdown", nil)
}

func (c *Client) History(ctx context.Context, q ops.Query) (ops.Page[ops.Life], error) {
	return get[ops.Page[ops.Life]](ctx, c, "/v1/history", rowValues(q))
}

func (c *Client) Transcript(ctx context.Context, session string, q ops.MessageQuery) (ops.Page[ops.Message], error) {
	given := values(map[string]string{"after": q.After})
	if q.Limit > 0 {
		given.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Back {
		given.Set("before", q.Before)
	}
	return get[ops.Page[ops.Message]](ctx, c, transcriptPath(session), given)
}

func (c *Client) Output(ctx context.Context, q ops.OutputQuery) (ops.Output, error) {
	given := url.Values{"after": {strconv.FormatInt(q.After, 10)}}
	if q.Limit > 0 {
		given.Set("limit", strconv.Itoa(q.Limit))
	}
	return get[ops.Output](ctx, c, "/v1/processes/"+strconv.Itoa(q.PID)+"/output", given)
}

func (c *Client) Search(ctx context.Context, q ops.SearchQuery) (ops.Found, error) {
	given := map[string]string{"q": q.Text, "session": q.Session, "cursor": q.Cursor}
	if q.Limit > 0 {
		given["limit"] = strconv.Itoa(q.Limit)
	}
	return get[ops.Found](ctx, c, "/v1/search", values(given))
}

// Preview implements ops.Console. A message's text is not sent: what it says does not change what a message does.
func (c *Client) Preview(ctx context.Context, cmd ops.Command) (ops.Preview, error) {
	given := map[string]string{
		"verb": string(cmd.Verb), "target": cmd.Target, "reason": cmd.Reason, "mode": string(cmd.Mode),
		"phase": cmd.Phase, "item": cmd.Item, "expect": cmd.Expect, "child": cmd.Child, "scope": string(cmd.Scope),
	}
	if spec, _ := cmd.Verb.Spec(); spec.Rest == ops.RestText {
		given["text"] = "-"
	}
	if cmd.Interrupt {
		given["interrupt"] = "true"
	}
	if cmd.ByMS != 0 {
		given["by_ms"] = strconv.FormatInt(cmd.ByMS, 10)
	}
	return get[ops.Preview](ctx, c, "/v1/preview", values(given))
}

// Do implements ops.Console. Who asks is what the kernel tells the gateway, not what cmd says.
func (c *Client) Do(ctx context.Context, cmd ops.Command) (ops.Request, error) {
	if err := cmd.Parse(); err != nil {
		return ops.Request{}, err
	}
	spec, _ := cmd.Verb.Spec() // Parse found it
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(cmd); err != nil {
		return ops.Request{}, fmt.Errorf("encode %s: %w", cmd.Verb, err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.opt.Timeout)
	defer cancel()
	return call[ops.Request](ctx, c, http.MethodPost, strings.Replace(spec.Path, "{target}", escape(cmd.Target), 1), &body)
}

func (c *Client) Request(ctx context.Context, id string, wait bool) (ops.Request, error) {
	path := "/v1/requests/" + escape(id)
	last, err := get[ops.Request](ctx, c, path, nil)
	for wait && err == nil && !last.State.Over() {
		poll, cancel := context.WithTimeout(ctx, maxWait+c.opt.Timeout)
		next, pollErr := call[ops.Request](poll, c, http.MethodGet, path+"?wait_ms="+strconv.FormatInt(maxWait.Milliseconds(), 10), nil)
		cancel()
		if ctx.Err() != nil {
			return last, nil // its state as far as it is known, as promised
		}
		last, err = next, pollErr
	}
	return last, err
}

func rowValues(q ops.Query) url.Values {
	given := map[string]string{"cursor": q.Cursor, "filter": q.Filter, "key": q.Key}
	if q.Limit > 0 {
		given["limit"] = strconv.Itoa(q.Limit)
	}
	return values(given)
}

// values is the query of what is given, less what is empty.
func values(given map[string]string) url.Values {
	q := url.Values{}
	for name, value := range given {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q
}

// escape makes one path segment of any string. Dots are escaped as well, so that nothing on the way takes "." or ".."
// for a step.
func escape(s string) string { return strings.ReplaceAll(url.PathEscape(s), ".", "%2E") }

// get asks one plain question.
func get[T any](ctx context.Context, c *Client, path string, q url.Values) (T, error) {
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	ctx, cancel := context.WithTimeout(ctx, c.opt.Timeout)
	defer cancel()
	return call[T](ctx, c, http.MethodGet, path, nil)
}

// call sends one request and decodes its answer.
func call[T any](ctx context.Context, c *Client, method, path string, body io.Reader) (T, error) {
	var v T
	resp, err := c.send(ctx, method, path, body, nil)
	if err != nil {
		return v, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&v); err != nil {
		return v, c.unreachable(fmt.Errorf("read the answer: %w", err))
	}
	return v, nil
}

// send sends one request; an answer that is an error is returned as one.
func (c *Client) send(ctx context.Context, method, path string, body io.Reader, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://gatewaytui"+path, body)
	if err != nil {
		return nil, fmt.Errorf("ask the gateway: %w", err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	if c.opt.ReadOnly {
		req.Header.Set(HeaderReadOnly, "1")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(err)
	}
	if life := resp.Header.Get(HeaderLife); life != "" {
		c.life.Store(&life)
	}
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	var f failure
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxBody)).Decode(&f); err != nil || f.Error == nil {
		return nil, &ops.Error{
			Code: ops.CodeInternal, Message: "the listener on " + c.path + " is not a gateway: " + resp.Status,
			Hint: "see who listens there: ss -xlp",
		}
	}
	return nil, f.Error
}

// Unreachable is an *ops.Error with CodeUnavailable that says how the socket failed, for callers that decide on it.
type Unreachable struct {
	// Gone is true where no gateway listens: the socket is missing or has no listener. It is false where a gateway may
	// listen but did not answer.
	Gone   bool
	answer ops.Error
	cause  error
}

func (u *Unreachable) Error() string { return u.answer.Error() }

// Unwrap makes an Unreachable an *ops.Error, and its cause, to errors.Is and errors.As.
func (u *Unreachable) Unwrap() []error { return []error{&u.answer, u.cause} }

// unreachable explains why the gateway at c's path gave no answer.
func (c *Client) unreachable(err error) error {
	if refused, ok := errors.AsType[*ops.Error](err); ok { // by the dial
		return refused
	}
	u := &Unreachable{answer: ops.Error{Code: ops.CodeUnavailable}, cause: err}
	say := func(message, hint string) { u.answer.Message, u.answer.Hint = message, hint }
	switch {
	case errors.Is(err, fs.ErrNotExist):
		u.Gone = true
		say("no gateway runs here: the control socket "+c.path+" does not exist",
			"start one with gatewaytui, or name its home with --home")
	case errors.Is(err, syscall.ECONNREFUSED):
		u.Gone = true
		say("no gateway runs here: the control socket "+c.path+" is stale: no process listens on it",
			"start one with gatewaytui; it removes the stale socket")
	case errors.Is(err, fs.ErrPermission):
		say("the control socket "+c.path+" may not be opened by this user",
			"ask as the user that runs the gateway")
	case errors.Is(err, context.Canceled):
		say("the question to the gateway was given up",
			"ask again")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, syscall.EAGAIN):
		say("the gateway does not answer on "+c.path,
			"a goroutine dump says why: kill -QUIT the pid in gateway.pid, then look in dumps/")
	default:
		say("the gateway hung up on "+c.path+": "+err.Error(),
			"ask again; if it was stopping, it is gone now")
	}
	return u
}
