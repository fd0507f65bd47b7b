package api

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
)

func TestWhatTheServerDoesNotKnowIsRefusedInOpenAIsShape(t *testing.T) {
	f := start(t, Options{}, echo)
	for _, c := range []struct {
		name, method, path, body string
		header                   []string
		status                   int
		code, allow              string
	}{
		{"an unknown path", "GET", "/v1/completions", "", nil, 404, "unknown_url", ""},
		{"a path below a known one", "POST", "/v1/chat/completions/", saying("hi"), nil, 404, "unknown_url", ""},
		{"the root", "GET", "/", "", nil, 404, "unknown_url", ""},
		{"GET on chat", "GET", "/v1/chat/completions", "", nil, 405, "method_not_allowed", "POST"},
		{"a browser's question before a POST", "OPTIONS", "/v1/chat/completions", "", nil, 405, "method_not_allowed", "POST"},
		{"POST on models", "POST", "/v1/models", "{}", nil, 405, "method_not_allowed", "GET, HEAD"},
		{"DELETE on health", "DELETE", "/health", "", nil, 405, "method_not_allowed", "GET, HEAD"},
		{"a form", "POST", "/v1/chat/completions", saying("hi"), []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "unsupported_media_type", ""},
		{"plain text", "POST", "/v1/chat/completions", saying("hi"), []string{"Content-Type", "text/plain"}, 415, "unsupported_media_type", ""},
		{"an empty origin", "POST", "/v1/chat/completions", saying("hi"), []string{"Origin", ""}, 403, "origin_refused", ""},
		{"an invalid content type", "POST", "/v1/chat/completions", saying("hi"), []string{"Content-Type", "application/json; ="}, 415, "unsupported_media_type", ""},
		{"a body over 16 MiB", "POST", "/v1/chat/completions", saying(strings.Repeat("x", DefaultBodyMax)), nil, 413, "request_too_large", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := f.do(f.request(c.method, c.path, c.body, c.header...))
			a.refused(t, c.status, c.code)
			if got := a.header.Get("Allow"); got != c.allow {
				t.Errorf("Allow is %q, want %q", got, c.allow)
			}
		})
	}
	if got := f.gateway.messages(); len(got) != 0 {
		t.Errorf("the gateway got %d of them", len(got))
	}
}

// A browser sends a page's request without a Content-Type, or with an empty one, and asks us nothing before it. What only a
// browser sends gives it away, also where its origin is listed; a bare program may leave the header out.
func TestABrowserThatDoesNotSayJSONIsRefused(t *testing.T) {
	f := start(t, Options{AllowOrigins: []string{"https://page.example"}}, echo)
	for name, header := range map[string][]string{
		"a listed origin":               {"Origin", "https://page.example"},
		"fetch metadata":                {"Sec-Fetch-Site", "cross-site"},
		"another header of fetch":       {"Sec-Fetch-Mode", "no-cors"},
		"a referrer":                    {"Referer", "http://page.example/"},
		"an empty one, and its referer": {"Content-Type", "", "Referer", "http://page.example/"},
	} {
		t.Run(name, func(t *testing.T) {
			r := f.request(http.MethodPost, "/v1/chat/completions", saying("hi"), header...)
			if r.Header.Get("Content-Type") != "" {
				r.Header.Del("Content-Type")
			}
			f.do(r).refused(t, http.StatusUnsupportedMediaType, "unsupported_media_type")
		})
	}
	if got := f.gateway.messages(); len(got) != 0 {
		t.Errorf("the gateway got %d of them", len(got))
	}
	bare := f.request(http.MethodPost, "/v1/chat/completions", saying("hi"))
	bare.Header.Del("Content-Type")
	if a := f.do(bare); a.status != http.StatusOK {
		t.Errorf("a bare program was answered %d: %s", a.status, a.body)
	}
}

func TestJSONUnderItsNamesIsServed(t *testing.T) {
	f := start(t, Options{}, echo)
	for _, kind := range []string{"application/json", "application/json; charset=utf-8", "Application/JSON", ""} {
		f.chat(saying("hi"), "Content-Type", kind).whole(t)
	}
	big := saying(strings.Repeat("x", DefaultBodyMax-len(saying(""))))
	if len(big) != DefaultBodyMax {
		t.Fatalf("the body has %d bytes", len(big))
	}
	f.chat(big).whole(t)
}

func TestHealthIsServedToAnyCaller(t *testing.T) {
	for name, o := range map[string]Options{"without a key": {}, "with a key": {Key: "the-key"}} {
		t.Run(name, func(t *testing.T) {
			f := start(t, o, echo)
			if a := f.do(f.request(http.MethodGet, "/health", "")); a.status != 200 || strings.TrimSpace(string(a.body)) != `{"status":"ok"}` {
				t.Errorf("answered %d %s", a.status, a.body)
			}
			if a := f.do(f.request(http.MethodHead, "/health", "")); a.status != 200 || len(a.body) != 0 {
				t.Errorf("HEAD answered %d %s", a.status, a.body)
			}
		})
	}
}

func TestOnlyTheKeyOpens(t *testing.T) {
	f := start(t, Options{Key: "the-key"}, echo)
	for _, c := range []struct{ name, header, code string }{
		{"no key", "", "missing_api_key"},
		{"another scheme", "Basic the-key", "missing_api_key"},
		{"a scheme alone", "Bearer", "missing_api_key"},
		{"an empty key", "Bearer ", "missing_api_key"},
		{"a wrong key", "Bearer another-key", "invalid_api_key"},
		{"the beginning of the key", "Bearer the", "invalid_api_key"},
		{"the key and more", "Bearer the-key-and-more", "invalid_api_key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, r := range []*http.Request{
				f.request(http.MethodPost, "/v1/chat/completions", saying("hi"), "Authorization", c.header),
				f.request(http.MethodGet, "/v1/models", "", "Authorization", c.header),
			} {
				a := f.do(r)
				e := a.refused(t, http.StatusUnauthorized, c.code)
				if *e.Type != "authentication_error" || a.header.Get("WWW-Authenticate") != "Bearer" {
					t.Errorf("type %q, WWW-Authenticate %q", *e.Type, a.header.Get("WWW-Authenticate"))
				}
				if strings.Contains(string(a.body), "the-key") {
					t.Errorf("the answer tells the key: %s", a.body)
				}
			}
		})
	}
	if n := len(f.gateway.messages()); n != 0 {
		t.Fatalf("the gateway got %d of them", n)
	}
	f.chat(saying("hi"), "Authorization", "Bearer the-key").whole(t)
	f.chat(saying("hi"), "Authorization", "bearer the-key").whole(t)
	// The key alone decides: a caller that has it may come from anywhere.
	f.chat(saying("hi"), "Authorization", "Bearer the-key", "Origin", "https://chat.example", "Host", "gateway.example").whole(t)
}

func TestI5_WithoutAKeyNoWebPageIsServed(t *testing.T) {
	f := start(t, Options{}, echo)
	_, port, _ := net.SplitHostPort(f.platform.Addr())
	for _, c := range []struct {
		name, host, origin string
		code               string // empty: served
	}{
		{"a program by address", "127.0.0.1:" + port, "", ""},
		{"a program by another loopback address", "127.0.0.2:" + port, "", ""},
		{"a program by IPv6 address", "[::1]:" + port, "", ""},
		{"a program by IPv6 address without a port", "[::1]", "", ""},
		{"a program by name", "LocalHost:" + port, "", ""},
		{"a program by name with a dot", "localhost.", "", ""},
		{"a program by a name below localhost", "agent.localhost:" + port, "", ""},
		{"a page", "127.0.0.1:" + port, "https://evil.example", "origin_refused"},
		{"a page of a file or a sandbox", "127.0.0.1:" + port, "null", "origin_refused"},
		{"a page of this machine", "127.0.0.1:" + port, "http://localhost:3000", "origin_refused"},
		{"a page that had its name point here", "evil.example:" + port, "", "host_refused"},
		{"a name that begins like localhost", "localhost.evil.example", "", "host_refused"},
		{"a name that begins like an address", "127.0.0.1.evil.example:" + port, "", "host_refused"},
		{"an address of the network", "192.168.1.10:" + port, "", "host_refused"},
		{"the address for any", "0.0.0.0:" + port, "", "host_refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			header := []string{"Host", c.host}
			if c.origin != "" {
				header = append(header, "Origin", c.origin)
			}
			chat := f.chat(saying("hi"), header...)
			models := f.do(f.request(http.MethodGet, "/v1/models", "", header...))
			if c.code == "" {
				chat.whole(t)
				if models.status != http.StatusOK {
					t.Errorf("models answered %d %s", models.status, models.body)
				}
				return
			}
			chat.refused(t, http.StatusForbidden, c.code)
			models.refused(t, http.StatusForbidden, c.code)
			if chat.header.Get("Access-Control-Allow-Origin") != "" {
				t.Error("the page may read the answer")
			}
		})
	}
}

func TestTheNameThatTheConfigListensOnIsServed(t *testing.T) {
	p := New(Options{Listen: "MyBox:8642"})
	for host, want := range map[string]bool{"mybox:8642": true, "mybox": true, "mybox.": true, "otherbox:8642": false, "": false} {
		if got := p.own(host); got != want {
			t.Errorf("own(%q) is %t", host, got)
		}
	}
}

func TestI5_WithoutAKeyAnAddressThatOthersReachIsNotServed(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:0", ":0"} {
		t.Run(listen, func(t *testing.T) {
			p := New(Options{Listen: listen, KeySource: "API_KEY"})
			c, err := p.Connect(t.Context(), &gateway{take: echo})
			missing, ok := errors.AsType[*adapter.CredentialsError](err)
			if c != nil || !ok || missing.Variable != "API_KEY" || !strings.Contains(err.Error(), listen) {
				t.Errorf("connected: %v, %v", c, err)
			}
			if p.Addr() != "" {
				t.Errorf("it listens on %s", p.Addr())
			}
		})
	}
	_, err := New(Options{Listen: "0.0.0.0:0"}).Connect(t.Context(), &gateway{take: echo})
	if err == nil || !strings.Contains(err.Error(), "adapters.api.key_env") {
		t.Errorf("where no variable is named the error names the setting, not: %v", err)
	}
}

func TestAnInvalidAddressIsAnErrorThatNamesIt(t *testing.T) {
	_, err := New(Options{Listen: "nonsense"}).Connect(t.Context(), &gateway{take: echo})
	if err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("connected: %v", err)
	}
}

func TestB3_APortThatIsTakenIsTriedAgainUntilItIsFree(t *testing.T) {
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	at := other.Addr().String()
	p := New(Options{Listen: at, Model: "agent"})

	_, err = p.Connect(t.Context(), &gateway{take: echo})
	if !errors.Is(err, syscall.EADDRINUSE) || strings.Count(err.Error(), at) != 1 {
		t.Fatalf("connect: %v; want one that names %s once", err, at)
	}
	if p.Addr() != "" {
		t.Errorf("it says that it listens on %s", p.Addr())
	}

	rows := make(chan ops.Adapter, 1024)
	s := adapter.NewSupervisor(adapter.Options{
		Receiver: &gateway{take: echo}, MinBackoff: 10 * time.Millisecond, MaxBackoff: 20 * time.Millisecond,
		OnState: func(r ops.Adapter) { rows <- r },
	})
	s.Add(p)
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { ended <- s.Run(ctx) }()
	until := func(state ops.AdapterState) ops.Adapter {
		for {
			if r := receive(t, "the state "+string(state), rows); r.State == state {
				return r
			}
		}
	}
	if r := until(ops.AdapterRetrying); !strings.Contains(r.LastError, at) || !strings.Contains(r.LastError, "in use") {
		t.Errorf("the row says %q", r.LastError)
	}
	other.Close()
	if r := until(ops.AdapterConnected); r.LastError != "" || p.Addr() != at {
		t.Errorf("connected on %q with the error %q", p.Addr(), r.LastError)
	}
	if err := s.Stop(t.Context(), "api"); err != nil {
		t.Error(err)
	}
	cancel()
	if err := receive(t, "the supervisor's end", ended); err != nil {
		t.Error(err)
	}
	// The port is free for the next life.
	next, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatalf("after the stop: %v", err)
	}
	next.Close()
}
