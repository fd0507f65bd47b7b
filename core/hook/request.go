package hook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/signature"
)

// retryAfter is the time before the one repetition of a request that the receiver could not handle.
const retryAfter = time.Second

// maxAnswer is how much of an answer is read, so that its connection can be used again.
const maxAnswer = 16 << 10

// request sends each event to an address.
type request struct {
	url, secret string
	client      *http.Client
}

func newRequest(s Spec) *request {
	return &request{url: s.URL, secret: s.Secret, client: &http.Client{
		Transport: http.DefaultTransport.(*http.Transport).Clone(),
		// A redirect could send the event to a host that the operator did not name.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// errReceiver is an answer of 5xx or 429, or none: the receiver may do better a moment later.
type errReceiver struct{ why error }

func (e *errReceiver) Error() string { return e.why.Error() }

// send implements sender. A request that the receiver could not handle is repeated once, as it was, so that a receiver which
// remembers signatures or numbers of events sees that it is the same.
func (r *request) send(ctx context.Context, kind ops.EventType, body []byte) error {
	header := http.Header{"Content-Type": {"application/json"}, "User-Agent": {"gatewaytui"}, "X-Gateway-Event": {string(kind)}}
	if r.secret != "" {
		signature.Sign(header, r.secret, body, time.Now())
	}
	err := r.post(ctx, header, body)
	if _, again := errors.AsType[*errReceiver](err); !again {
		return err
	}
	select {
	case <-time.After(retryAfter):
	case <-ctx.Done():
		return err
	}
	return r.post(ctx, header, body)
}

func (r *request) post(ctx context.Context, header http.Header, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(body))
	if err != nil {
		return errors.New("the address cannot be used")
	}
	req.Header = header.Clone()
	resp, err := r.client.Do(req)
	if err != nil {
		if u, is := errors.AsType[*url.Error](err); is {
			err = u.Err // the rest of it is the URL, which may have a secret
		}
		return &errReceiver{fmt.Errorf("send to %s: %w", req.URL.Host, err)}
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, maxAnswer) // only so that the connection can be used again
	switch {
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		return &errReceiver{fmt.Errorf("%s answered HTTP %d", req.URL.Host, resp.StatusCode)}
	case resp.StatusCode < 200 || resp.StatusCode >= 300:
		return fmt.Errorf("%s answered HTTP %d", req.URL.Host, resp.StatusCode)
	}
	return nil
}

// close implements sender.
func (r *request) close() { r.client.CloseIdleConnections() }
