package control

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
)

// scraped is a listener that serves until the test ends.
type scraped struct {
	*Scrape
	stop  context.CancelFunc
	ended chan struct{}
}

func scrape(t *testing.T, opt ScrapeOptions) *scraped {
	t.Helper()
	if opt.Console == nil {
		opt.Console = newFake()
	}
	if opt.OwnHost == nil {
		opt.OwnHost = func(host string) bool { return host == "127.0.0.1" || strings.HasPrefix(host, "127.0.0.1:") }
	}
	s := &scraped{Scrape: NewScrape(opt), ended: make(chan struct{})}
	s.retry = 10 * time.Millisecond
	var ctx context.Context
	ctx, s.stop = context.WithCancel(t.Context())
	go func() {
		defer close(s.ended)
		s.Run(ctx)
	}()
	t.Cleanup(func() {
		s.stop()
		<-s.ended // the test's own deadline bounds it
	})
	return s
}

// ask asks the listener on port for path with headers, which are names and values in turn.
func (s *scraped) ask(t *testing.T, method, path string, headers ...string) (int, string) {
	t.Helper()
	eventually.True(t, "the listener listens", func() bool { return s.Addr() != "" })
	_, port, _ := net.SplitHostPort(s.Addr())
	r, err := http.NewRequestWithContext(t.Context(), method, "http://127.0.0.1:"+port+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for pair := range slices.Chunk(headers, 2) {
		if pair[0] == "Host" {
			r.Host = pair[1]
		}
		r.Header.Set(pair[0], pair[1])
	}
	r.Close = true
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(body)
}

func TestAScraperOfThisMachineIsServedAndNoWebPageIs(t *testing.T) {
	s := scrape(t, ScrapeOptions{Listen: "127.0.0.1:0"})
	for _, c := range []struct {
		name, method, path string
		headers            []string
		status             int
		says               string
	}{
		{"a scraper", "GET", "/metrics", nil, 200, "gatewaytui_up 1\n"},
		{"a scraper that sends a key all the same", "GET", "/metrics", []string{"Authorization", "Bearer x"}, 200, "gatewaytui_up 1\n"},
		{"a page", "GET", "/metrics", []string{"Origin", "https://evil.example"}, 403, "web pages"},
		{"a page whose name was made to point here", "GET", "/metrics", []string{"Host", "evil.example"}, 403, "Host header"},
		{"another path", "GET", "/debug/pprof/", nil, 404, "only /metrics"},
		{"the control socket's calls", "GET", "/v1/snapshot", nil, 404, "only /metrics"},
		{"an order", "POST", "/v1/stop", nil, 404, "only /metrics"},
		{"another method", "POST", "/metrics", nil, 405, "use GET"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if status, body := s.ask(t, c.method, c.path, c.headers...); status != c.status || !strings.Contains(body, c.says) {
				t.Errorf("answered %d %.200s", status, body)
			}
		})
	}
}

func TestAnAddressThatOthersReachNeedsTheKey(t *testing.T) {
	s := scrape(t, ScrapeOptions{Listen: "0.0.0.0:0", Key: "the-key"})
	for name, c := range map[string]struct {
		headers []string
		status  int
	}{
		"no key":            {nil, 401},
		"a wrong key":       {[]string{"Authorization", "Bearer another"}, 401},
		"another scheme":    {[]string{"Authorization", "Basic the-key"}, 401},
		"the key":           {[]string{"Authorization", "Bearer the-key"}, 200},
		"the key, any host": {[]string{"Authorization", "bearer the-key", "Host", "gw.example"}, 200},
	} {
		t.Run(name, func(t *testing.T) {
			if status, body := s.ask(t, "GET", "/metrics", c.headers...); status != c.status || strings.Contains(body, "the-key") {
				t.Errorf("answered %d %.200s", status, body)
			}
		})
	}
}

// HF17: the key is that of the API, and its guesses count there.
func TestHF17_GuessingAtTheKeyOfTheMetricsIsSlow(t *testing.T) {
	var asked []string
	locked := false
	slow := func(from, key string, right bool) time.Duration {
		asked = append(asked, fmt.Sprint(strings.HasPrefix(from, "127.0.0.1:"), " ", key, " ", right))
		if locked {
			return 90 * time.Second
		}
		return 0
	}
	s := scrape(t, ScrapeOptions{Listen: "0.0.0.0:0", Key: "the-key", Slow: slow})
	ask := func(status int, headers ...string) {
		t.Helper()
		if got, body := s.ask(t, "GET", "/metrics", headers...); got != status {
			t.Errorf("%q is answered %d %.200s", headers, got, body)
		}
	}
	ask(401)
	ask(401, "Authorization", "Bearer a-guess")
	ask(200, "Authorization", "Bearer the-key")
	locked = true
	ask(429, "Authorization", "Bearer a-guess")
	ask(429, "Authorization", "Bearer the-key")
	ask(401)
	want := []string{"true a-guess false", "true the-key true", "true a-guess false", "true the-key true"}
	if !slices.Equal(asked, want) {
		t.Errorf("it was asked about %q, want %q", asked, want)
	}
}

func TestAScraperThatNeedsNoKeyMaySendAnyAndIsNeverLockedOut(t *testing.T) {
	slow := func(string, string, bool) time.Duration { return time.Minute }
	s := scrape(t, ScrapeOptions{Listen: "127.0.0.1:0", Key: "the-key", Slow: slow})
	for _, key := range []string{"the-key", "another"} {
		if status, body := s.ask(t, "GET", "/metrics", "Authorization", "Bearer "+key); status != 200 {
			t.Errorf("with %s: answered %d %.200s", key, status, body)
		}
		if status, body := s.ask(t, "GET", "/metrics", "Authorization", "Bearer "+key, "Host", "evil.example"); status != 429 {
			t.Errorf("a page with %s: answered %d %.200s", key, status, body)
		}
	}
}

func TestWithoutAKeyAnAddressThatOthersReachIsNotServed(t *testing.T) {
	s := scrape(t, ScrapeOptions{Listen: "0.0.0.0:0"})
	var w ops.Warning
	eventually.True(t, "the warning", func() (found bool) { w, found = s.Warning(); return found })
	if w.Code != WarnMetrics || !strings.Contains(w.Message, "not loopback") || s.Addr() != "" {
		t.Errorf("the warning is %+v, and it listens on %q", w, s.Addr())
	}
}

func TestAMetricsPortThatIsTakenIsTriedAgainUntilItIsFree(t *testing.T) {
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	at := other.Addr().String()
	s := scrape(t, ScrapeOptions{Listen: at})
	var w ops.Warning
	eventually.True(t, "the warning", func() (found bool) { w, found = s.Warning(); return found })
	if w.Code != WarnMetrics || !strings.Contains(w.Message, at) || !strings.Contains(w.Message, "in use") || w.Since.IsZero() {
		t.Errorf("the warning is %+v", w)
	}
	other.Close()
	if status, _ := s.ask(t, "GET", "/metrics"); status != 200 {
		t.Errorf("answered %d", status)
	}
	if w, found := s.Warning(); found {
		t.Errorf("it listens, and warns: %+v", w)
	}
	s.stop()
	<-s.ended
	next, err := net.Listen("tcp", at) // the port is free for the next life
	if err != nil {
		t.Fatalf("after the end: %v", err)
	}
	next.Close()
}

// A client that connects and is silent, or does not read, holds up neither a scrape nor the end.
func TestSilentClientsHoldNothingUp(t *testing.T) {
	s := scrape(t, ScrapeOptions{Listen: "127.0.0.1:0"})
	eventually.True(t, "the listener listens", func() bool { return s.Addr() != "" })
	for i := range 4 {
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if i%2 == 0 {
			fmt.Fprintf(c, "GET /metrics HTTP/1.1\r\nHost: %s\r\n", s.Addr())
		}
	}
	if status, _ := s.ask(t, "GET", "/metrics"); status != 200 {
		t.Errorf("a scrape next to them: %d", status)
	}
	s.stop()
	select {
	case <-s.ended:
	case <-time.After(20 * time.Second): // net/http alone gives a new connection 5 s, and a header that does not end as well
		t.Fatal("it did not end")
	}
}

// More connections than are served are closed, and one that leaves makes room.
func TestConnectionsAreBounded(t *testing.T) {
	s := scrape(t, ScrapeOptions{Listen: "127.0.0.1:0"})
	eventually.True(t, "the listener listens", func() bool { return s.Addr() != "" })
	var held []net.Conn
	defer func() {
		for _, c := range held {
			c.Close()
		}
	}()
	for range maxScrapeConns {
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
		fmt.Fprintf(c, "GET /metrics HTTP/1.1\r\nHost: %s\r\n\r\n", s.Addr())
		if _, err := c.Read(make([]byte, 1)); err != nil { // it is served, and kept
			t.Fatal(err)
		}
	}
	more, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer more.Close()
	if err := more.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := more.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("connection %d was answered", maxScrapeConns+1)
	}
	held[0].Close()
	eventually.True(t, "the one that left made room", func() bool {
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			return false
		}
		defer c.Close()
		fmt.Fprintf(c, "GET /metrics HTTP/1.1\r\nHost: %s\r\n\r\n", s.Addr())
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		n, _ := c.Read(make([]byte, 1))
		return n == 1
	})
}
