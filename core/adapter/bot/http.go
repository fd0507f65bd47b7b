package bot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"gatewaytui/core/adapter"
	"gatewaytui/core/term"
)

const (
	// maxWhy bounds the reason in an error, in runes: a proxy may answer with a whole page.
	maxWhy = 200
	// MaxRetryAfter, in seconds, keeps nonsense from overflowing a duration.
	MaxRetryAfter = 30 * 24 * 3600
)

// Dial makes a network connection, as net.Dialer.DialContext does.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Client is the HTTP client of one connection: one that was abandoned takes its sockets with it. HTTP/2 would put all calls on one
// socket, and a dead one would hold up all of them. It follows no redirect, which could hand the token to another host. dial makes
// the network connections; nil is the usual way.
func Client(dial Dial) *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	t.ForceAttemptHTTP2 = false
	if dial != nil {
		t.DialContext = dial
	}
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// IsToken reports whether token has only letters, digits and these signs.
func IsToken(token, signs string) bool {
	return !strings.ContainsFunc(token, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune(signs, r)
	})
}

// Words makes text of errors and of answers, without the token (I3).
type Words struct{ redact *term.Redactor }

// NewWords returns the words of a connection with these tokens.
func NewWords(tokens ...string) Words { return Words{term.NewRedactor(tokens...)} }

// Clean is text from outside for people.
func (w Words) Clean(text string) string { return term.Clean(w.redact.Redact(text), maxWhy) }

// Why is err for people.
func (w Words) Why(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	if u, is := errors.AsType[*url.Error](err); is {
		err = u.Err // the rest of it is the URL
	}
	return w.Clean(err.Error())
}

// CallError is a call that failed, without the token. It does not unwrap: what is inside may print the URL.
type CallError struct {
	Call, Why string
	// Cause is nil where the platform answered.
	Cause error
}

func (e *CallError) Error() string { return e.Call + ": " + e.Why }

// Is reports whether the cause is the end of a context; nothing else of it is anyone's to know.
func (e *CallError) Is(target error) bool {
	return (target == context.DeadlineExceeded || target == context.Canceled) && errors.Is(e.Cause, target)
}

// Do makes a call and reads at most most bytes of its answer. failed makes the error of a call from its cause. A call that reached no
// server is an *adapter.UnsentError.
func Do(client *http.Client, req *http.Request, most int64, failed func(error) error) (*http.Response, []byte, error) {
	resp, err := client.Do(req)
	if dial, is := errors.AsType[*net.OpError](err); is && dial.Op == "dial" {
		return nil, nil, &adapter.UnsentError{Err: failed(err)}
	}
	if err != nil {
		return nil, nil, failed(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return nil, nil, failed(fmt.Errorf("read the answer: %w", err))
	}
	return resp, text, nil
}

// TooLarge is the error for a file of more than most bytes.
func TooLarge(most int64) error {
	return &adapter.RefusedError{Why: fmt.Sprintf("the file is larger than %d bytes", most)}
}

// Download reads a file of at most most bytes, without a token of its own. failed makes the error of a call from its cause.
func Download(ctx context.Context, client *http.Client, address string, most int64, failed func(error) error) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, failed(err)
	}
	return Read(client, req, most, failed)
}

// Read makes a call whose answer is a content of at most most bytes. failed makes the error of a call from its cause.
func Read(client *http.Client, req *http.Request, most int64, failed func(error) error) ([]byte, error) {
	resp, content, err := Do(client, req, most+1, failed)
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode != http.StatusOK:
		return nil, failed(errors.New("HTTP " + resp.Status))
	case int64(len(content)) > most:
		return nil, TooLarge(most)
	}
	return content, nil
}
