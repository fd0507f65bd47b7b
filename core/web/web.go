// Package web fetches pages for a model and searches the web through an endpoint of the config (HR3).
//
// What it promises:
//
//   - It connects to the public internet and to what web.allow_private names, and to nothing else: each redirect is checked like the first
//     address, and each address again as its socket connects (package address). The variables for HTTP proxies are not used, because a
//     proxy would look names up beyond that check.
//   - Before it connects to a host, the caller is asked about that host, after a redirect as well.
//   - It sends no cookies, no credentials and no referrer. An address with a user or a scheme other than http and https is refused.
//   - Time, size, headers and the number of redirects are bounded. Of a file that is not text it reads nothing but the type and the size.
//   - Text is valid UTF-8 without control characters and without characters that a reader does not see.
//
// The endpoint of a search is one that the operator chose: it may be private, it gets the key, and it is not followed elsewhere.
//
// web.go has the client and its addresses, fetch.go the pages, reader.go their text, search.go the search.
package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/idna"

	"gatewaytui/core/address"
	"gatewaytui/core/environment/proxy/hosts"
)

const (
	// bodyMost is how much of a text is read, in bytes, and addressMost how long an address may be.
	bodyMost    = 4 << 20
	addressMost = 4096
	// redirectsMost is how many redirects are followed.
	redirectsMost = 8
	// headerMost is the size of an answer's header, in bytes.
	headerMost = 64 << 10
	// connectMost is how long a connection, and then its TLS handshake, may take.
	connectMost = 15 * time.Second
	// agent is what servers see as the name of the client.
	agent = "Mozilla/5.0 (compatible; gatewaytui; web_fetch)"
)

// Options are what a Client works with.
type Options struct {
	// Guard connects to the hosts of pages.
	Guard *address.Guard
	// Timeout is for one call, without the time in which the caller is asked.
	Timeout time.Duration
	// SearchURL is the endpoint of searches, with {query} where the query is; empty: there are none. SearchKey is its key; empty: it needs none.
	SearchURL, SearchKey string
}

// Client fetches and searches. It holds no connection between two calls. Its methods may be called from any goroutine.
type Client struct {
	o             Options
	pages, search *http.Client
}

// New returns a Client. It does no I/O.
func New(o Options) *Client {
	return &Client{
		o: o,
		pages: client(func(ctx context.Context, _, authority string) (net.Conn, error) {
			to, err := hosts.ParseTarget(authority, 0)
			if err != nil {
				return nil, err
			}
			ctx, cancel := context.WithTimeout(ctx, connectMost)
			defer cancel()
			return o.Guard.Dial(ctx, to)
		}),
		search: client((&net.Dialer{Timeout: connectMost}).DialContext),
	}
}

// client returns a client that follows no redirect and keeps no connection.
func client(dial func(ctx context.Context, network, authority string) (net.Conn, error)) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext: dial, DisableKeepAlives: true, ForceAttemptHTTP2: true, TLSHandshakeTimeout: connectMost, MaxResponseHeaderBytes: headerMost,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// parse reads the address of a page, and where it leads.
func parse(text string) (*url.URL, hosts.Target, error) {
	if len(text) > addressMost {
		return nil, hosts.Target{}, fmt.Errorf("the address is longer than %d bytes", addressMost)
	}
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		return nil, hosts.Target{}, errors.New("the address cannot be read; it looks like https://example.com/page")
	}
	return checked(u)
}

// checked returns the address as it is asked for, and where it leads.
func checked(u *url.URL) (*url.URL, hosts.Target, error) {
	port := map[string]uint16{"http": 80, "https": 443}[u.Scheme]
	switch {
	case port == 0:
		return nil, hosts.Target{}, errors.New("the address must begin with https:// or http://")
	case u.User != nil:
		return nil, hosts.Target{}, errors.New("an address with a user or a password is not fetched")
	case u.Opaque != "" || u.Host == "":
		return nil, hosts.Target{}, errors.New("the address has no host")
	}
	host := u.Host
	if name := u.Hostname(); !strings.HasPrefix(host, "[") {
		ascii, err := idna.Lookup.ToASCII(name)
		if err != nil {
			ascii = name // ParseTarget says what a name may have
		}
		host = ascii
		if number := u.Port(); number != "" {
			host += ":" + number
		}
	}
	to, err := hosts.ParseTarget(host, port)
	if err != nil {
		return nil, hosts.Target{}, fmt.Errorf("the host of the address: %w", err)
	}
	whole := *u
	whole.Fragment, whole.RawFragment = "", ""
	whole.Host = to.Authority()
	if to.Port == port {
		whole.Host = strings.TrimSuffix(whole.Host, fmt.Sprintf(":%d", port))
	}
	return &whole, to, nil
}
