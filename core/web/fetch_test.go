package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/address"
	"gatewaytui/core/environment/proxy/hosts"
)

// site is a server on this machine with the name pages.example, and a client that may reach it and no other private address.
type site struct {
	*httptest.Server
	client *Client
	port   string
	asked  []string
}

func newSite(t testing.TB, pages http.Handler) *site {
	t.Helper()
	s := &site{Server: httptest.NewServer(pages)}
	t.Cleanup(s.Close)
	_, s.port, _ = net.SplitHostPort(s.Listener.Addr().String())
	allowed, err := address.ParseAllowed([]string{"pages.example:" + s.port, "other.example:" + s.port})
	if err != nil {
		t.Fatal(err)
	}
	s.client = New(Options{Timeout: 5 * time.Second, Guard: address.NewGuard(address.Options{
		Allowed: allowed, Key: "web.allow_private", Resolve: func(_ context.Context, name string) ([]netip.Addr, error) {
			switch name {
			case "pages.example", "other.example", "inside.example":
				return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
			case "router.example":
				return []netip.Addr{netip.MustParseAddr("93.184.215.14"), netip.MustParseAddr("192.168.1.1")}, nil
			}
			return nil, errors.New("no such host")
		},
	})})
	return s
}

// fetch gets a path of the site, with leave to connect to every host.
func (s *site) fetch(ctx context.Context, path string) (Page, error) {
	return s.client.Fetch(ctx, "http://pages.example:"+s.port+path, func(_ context.Context, host hosts.Target, _ string) error {
		s.asked = append(s.asked, host.Name)
		return nil
	})
}

func TestHR3_APageIsText(t *testing.T) {
	mux := http.NewServeMux()
	answer := func(path, mediaType, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", mediaType)
			_, _ = w.Write([]byte(body))
		})
	}
	answer("/page", "text/html; charset=utf-8", "<title>A  title</title><h1>Head</h1><p>Some <a href='/next'>link</a>.</p>")
	answer("/latin", "text/html; charset=iso-8859-1", "<p>caf\xe9</p>")
	answer("/declared", "text/html", "<meta charset=windows-1252><p>\x80 5</p>")
	answer("/wide", "text/plain", "\xff\xfeh\x00i\x00")
	answer("/json", "application/problem+json", "{\"a\":\t1,\n\n\n\"b\":2}")
	answer("/escape", "text/plain", "a\x1b[31mred\u202e\U000E0041b")
	answer("/broken", "text/plain; charset=utf-8", "a\xff\xfeb")
	answer("/picture", "image/png", "\x89PNG\r\n\x1a\nxxxx")
	answer("/disguised", "text/plain", "\x7fELF\x00\x01\x02")
	mux.HandleFunc("/untyped", func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		_, _ = w.Write([]byte("<!DOCTYPE html><p>guessed</p>"))
	})
	mux.HandleFunc("/gone", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no such page", http.StatusNotFound) })
	s := newSite(t, mux)
	for _, tt := range []struct {
		name, path, text, title string
		status                  int
		binary                  bool
	}{
		{"HTML is Markdown with absolute links", "/page", "# Head\n\nSome [link](http://pages.example:" + s.port + "/next).", "A title", 200, false},
		{"the charset of the header counts", "/latin", "café", "", 200, false},
		{"the charset of the page counts", "/declared", "€ 5", "", 200, false},
		{"UTF-16 is text", "/wide", "hi", "", 200, false},
		{"JSON stays as it is", "/json", "{\"a\":\t1,\n\n\n\"b\":2}", "", 200, false},
		{"control and hidden characters do not act", "/escape", "a␛[31mredb", "", 200, false},
		{"broken UTF-8 is replaced", "/broken", "a\ufffd\ufffdb", "", 200, false},
		{"a page without a type is guessed", "/untyped", "guessed", "", 200, false},
		{"a picture has a type and a size", "/picture", "", "", 200, true},
		{"a binary file that says that it is text is none", "/disguised", "", "", 200, true},
		{"an error has its status", "/gone", "no such page\n", "", 404, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			page, err := s.fetch(t.Context(), tt.path)
			if err != nil {
				t.Fatal(err)
			}
			if page.Text != tt.text {
				t.Errorf("the text is %q, want %q", page.Text, tt.text)
			}
			if page.Title != tt.title || page.Status != tt.status || page.Binary != tt.binary || page.Bytes <= 0 {
				t.Errorf("%+v", page)
			}
		})
	}
}

func TestHR3_WhatIsNotFetchedSaysWhy(t *testing.T) {
	s := newSite(t, http.NotFoundHandler())
	for _, tt := range []struct{ name, address, want string }{
		{"a file", "file:///etc/passwd", "must begin with https"},
		{"a name without a scheme", "example.com/page", "must begin with https"},
		{"a password", "https://a:b@pages.example/", "user or a password"},
		{"no host", "https:///page", "no host"},
		{"an address as a number", "http://2130706433/", "host"},
		{"an address as octal numbers", "http://0177.0.0.1/", "host"},
		{"an address of IPv6 with a zone", "http://[fe80::1%25lo]/", "host"},
		{"this machine", "http://127.0.0.1/", "private address"},
		{"this machine as IPv6", "http://[::1]/", "private address"},
		{"this machine as a mapped address", "http://[::ffff:127.0.0.1]:80/", "private address"},
		{"link-local metadata", "http://169.254.169.254/latest/meta-data/", "private address"},
		{"a private name", "http://inside.example/", "private address 127.0.0.1"},
		{"a name with a public and a private address", "http://router.example/", "private address 192.168.1.1"},
		{"another port of an allowed host", "http://pages.example:1/", "private address"},
		{"an unknown name", "https://unknown.example/", "no such host"},
		{"a long address", "https://pages.example/" + strings.Repeat("a", addressMost), "longer than"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := s.client.Fetch(t.Context(), tt.address, func(context.Context, hosts.Target, string) error { return nil })
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%q: %v, want %q", tt.address, err, tt.want)
			}
		})
	}
}

func TestHR3_ARedirectIsCheckedAndAskedLikeTheFirstAddress(t *testing.T) {
	var s *site
	mux := http.NewServeMux()
	to := func(path, where string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, strings.ReplaceAll(where, "PORT", s.port), http.StatusFound)
		})
	}
	to("/inside", "http://127.0.0.1:PORT/")
	to("/metadata", "http://169.254.169.254/")
	to("/name", "http://inside.example:PORT/")
	to("/file", "file:///etc/passwd")
	to("/user", "http://a:b@pages.example:PORT/end")
	to("/loop", "/loop")
	to("/other", "http://other.example:PORT/back")
	to("/back", "http://pages.example:PORT/end")
	mux.HandleFunc("/end", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "referrer %q cookies %q authorization %q", r.Referer(), r.Header.Get("Cookie"), r.Header.Get("Authorization"))
	})
	s = newSite(t, mux)
	for path, want := range map[string]string{
		"/inside": "private address", "/metadata": "private address", "/name": "private address", "/file": "must begin with https", "/user": "user or a password",
		"/loop": "redirects more than",
	} {
		if _, err := s.fetch(t.Context(), path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	s.asked = nil
	page, err := s.fetch(t.Context(), "/other")
	if err != nil || page.Text != `referrer "" cookies "" authorization ""` || page.URL != "http://pages.example:"+s.port+"/end" {
		t.Errorf("%+v, %v", page, err)
	}
	if got := strings.Join(s.asked, " "); got != "pages.example other.example" {
		t.Errorf("asked about %q, want each host once", got)
	}
	_, err = s.client.Fetch(t.Context(), "http://pages.example:"+s.port+"/other", func(_ context.Context, host hosts.Target, _ string) error {
		if host.Name == "other.example" {
			return errors.New("not this one")
		}
		return nil
	})
	if err == nil || err.Error() != "not this one" {
		t.Errorf("a host that is refused after a redirect: %v", err)
	}
}

func TestHR3_SizeAndTimeAreBounded(t *testing.T) {
	gone := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		for range 3 * bodyMost / 65536 {
			if _, err := w.Write(bytes.Repeat([]byte("x"), 65536)); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		for range 64 {
			_, _ = z.Write(make([]byte, 1<<20))
		}
		_ = z.Close()
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("begin"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(gone)
	})
	mux.HandleFunc("/headers", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Large", strings.Repeat("x", 2*headerMost))
	})
	s := newSite(t, mux)
	page, err := s.fetch(t.Context(), "/large")
	if err != nil || !page.Cut || len(page.Text) != bodyMost {
		t.Errorf("a large text: %d bytes, cut %v, %v", len(page.Text), page.Cut, err)
	}
	if page, err := s.fetch(t.Context(), "/bomb"); err != nil || len(page.Text) > 4*bodyMost {
		t.Errorf("a text that is small while it is compressed: %d bytes, %v", len(page.Text), err)
	}
	if _, err := s.fetch(t.Context(), "/headers"); err == nil {
		t.Error("a large header was read")
	}
	s.client.o.Timeout = 50 * time.Millisecond
	if _, err := s.fetch(t.Context(), "/slow"); err == nil || !strings.Contains(err.Error(), "no whole answer within 50ms") {
		t.Errorf("a page that does not end: %v", err)
	}
	<-gone
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.fetch(ctx, "/large"); err == nil {
		t.Error("a call that was interrupted has a page")
	}
}

func TestHR3_AProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	s := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("direct")) }))
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("ALL_PROXY", "http://127.0.0.1:1")
	for _, c := range []*http.Client{s.client.pages, s.client.search} {
		if c.Transport.(*http.Transport).Proxy != nil {
			t.Error("a client has a proxy")
		}
	}
	if page, err := s.fetch(t.Context(), "/"); err != nil || page.Text != "direct" {
		t.Errorf("%+v, %v", page, err)
	}
}

func FuzzAddress(f *testing.F) {
	for _, seed := range []string{"https://example.com/a?b#c", "http://[::1]:80/", "http://a@b/", "http://127.1/", "https://bücher.example/", "http:\\\\x", "https://example.com:99999/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, to, err := parse(text)
		if err != nil {
			return
		}
		again, err := url.Parse(u.String())
		if err != nil {
			t.Fatalf("%q is %q, which cannot be read: %v", text, u, err)
		}
		_, toAgain, err := checked(again)
		if err != nil || toAgain != to || again.User != nil || again.Fragment != "" {
			t.Fatalf("%q leads to %v, and read again to %v, %v", text, to, toAgain, err)
		}
	})
}
