package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	dialMost      = 10 * time.Second
	maxRedirects  = 5
	eventStream   = "text/event-stream"
	contentType   = "Content-Type"
	httpKeepAlive = 30 * time.Second
)

// overHTTP is the transport to a server over HTTP. ctx ends each request of it.
func overHTTP(ctx context.Context, d Definition) (*sdk.StreamableClientTransport, *authorised, error) {
	address, err := url.Parse(d.URL)
	if err != nil {
		return nil, nil, fmt.Errorf("read the address of the server: %w", err)
	}
	headers := http.Header{}
	for name, variable := range d.Headers {
		value, set := os.LookupEnv(variable)
		if !set || value == "" {
			return nil, nil, fmt.Errorf("the environment variable %s, which holds the header %s, is not set", variable, name)
		}
		headers.Set(name, value)
	}
	base := &http.Transport{
		Proxy:       http.ProxyFromEnvironment,
		DialContext: (&net.Dialer{Timeout: dialMost, KeepAlive: httpKeepAlive}).DialContext, TLSHandshakeTimeout: dialMost,
		ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 2, IdleConnTimeout: httpKeepAlive,
	}
	trip := &authorised{ctx: ctx, base: base, at: address, headers: headers}
	client := &http.Client{Transport: trip, CheckRedirect: func(_ *http.Request, via []*http.Request) error {
		if len(via) >= maxRedirects {
			return errors.New("the server redirects too often")
		}
		return nil
	}}
	return &sdk.StreamableClientTransport{Endpoint: d.URL, HTTPClient: client, MaxEventSize: maxMessage}, trip, nil
}

// authorised sends the headers of a definition to its own server, and to no other that a redirect names.
type authorised struct {
	ctx     context.Context
	base    *http.Transport
	at      *url.URL
	headers http.Header
}

// RoundTrip implements http.RoundTripper.
func (a *authorised) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(a.ctx, cancel)
	out := r.Clone(ctx)
	if out.URL.Scheme == a.at.Scheme && strings.EqualFold(out.URL.Host, a.at.Host) {
		for name, values := range a.headers {
			out.Header[name] = values
		}
	}
	answer, err := a.base.RoundTrip(out)
	if err != nil {
		stop()
		cancel()
		return nil, err
	}
	body := &bounded{ReadCloser: answer.Body, left: maxMessage, end: func() { stop(); cancel() }}
	if strings.HasPrefix(answer.Header.Get(contentType), eventStream) {
		body.left = -1 // each event is bounded, the stream is not
	}
	answer.Body = body
	return answer, nil
}

// bounded is the body of an answer in at most left bytes; -1: without a bound.
type bounded struct {
	io.ReadCloser
	left int64
	end  func()
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, fmt.Errorf("an answer of the server is longer than %d bytes", maxMessage)
	}
	if b.left > 0 && int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left > 0 {
		b.left -= int64(n)
	}
	return n, err
}

// Close implements io.Closer.
func (b *bounded) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
