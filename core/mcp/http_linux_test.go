package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
	"gatewaytui/fixtures/eventually"
)

// web is a tool server over HTTP by the SDK.
type web struct {
	*httptest.Server
	mu      sync.Mutex
	headers []string // that came with each request
	hangs   chan struct{}
	sdk     *sdk.Server
}

func serveHTTP(t *testing.T) *web {
	t.Helper()
	w := &web{sdk: sdk.NewServer(&sdk.Implementation{Name: "web", Version: "1"}, nil), hangs: make(chan struct{})}
	type in struct {
		Text string `json:"text"`
	}
	say := func(text string) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
	}
	sdk.AddTool(w.sdk, &sdk.Tool{Name: "echo"}, func(_ context.Context, _ *sdk.CallToolRequest, a in) (*sdk.CallToolResult, any, error) {
		return say(a.Text), nil, nil
	})
	sdk.AddTool(w.sdk, &sdk.Tool{Name: "hang"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ in) (*sdk.CallToolResult, any, error) {
		select {
		case <-ctx.Done():
		case <-w.hangs:
		}
		return say("late"), nil, nil
	})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return w.sdk }, nil)
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.headers = append(w.headers, r.Header.Get("Authorization"))
		w.mu.Unlock()
		handler.ServeHTTP(rw, r)
	}))
	t.Cleanup(func() {
		close(w.hangs)
		w.CloseClientConnections()
		w.Close()
	})
	return w
}

func (w *web) definition() Definition {
	d := playing("web")
	d.Command, d.URL = nil, w.URL
	return d
}

// the SDK's server keeps goroutines of sessions until their clients leave.
func (s *stage) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), late)
	defer cancel()
	if err := s.set.CloseAll(ctx); err != nil {
		s.t.Error(err)
	}
}

func TestHR1_AServerOverHTTPGetsTheHeadersOfTheConfig(t *testing.T) {
	t.Setenv("MCP_TEST_TOKEN", "Bearer secret")
	w := serveHTTP(t)
	d := w.definition()
	d.Headers = map[string]string{"Authorization": "MCP_TEST_TOKEN"}
	s := newStage(t, nil, d)
	defer s.leave()
	if got := s.must("web", "a", "echo", `{"text":"hello"}`); got != "hello" {
		t.Errorf("echo says %q", got)
	}
	if row := s.row("web"); row.State != ops.ServerReady || row.Transport != "http" || row.PID != 0 {
		t.Errorf("its row is %+v", row)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, h := range w.headers {
		if h != "Bearer secret" {
			t.Errorf("request %d of %d has the header %q", i, len(w.headers), h)
		}
	}
}

func TestHR1_ARedirectCarriesNoHeaderToAnotherHost(t *testing.T) {
	t.Setenv("MCP_TEST_TOKEN", "Bearer secret")
	w := serveHTTP(t)
	var first atomic.Int64
	at := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer secret" {
			first.Add(1)
		}
		http.Redirect(rw, r, w.URL, http.StatusTemporaryRedirect)
	}))
	defer at.Close()
	d := w.definition()
	d.URL = at.URL
	d.Headers = map[string]string{"Authorization": "MCP_TEST_TOKEN"}
	s := newStage(t, nil, d)
	defer s.leave()
	_, err := s.perhaps("web", "a", "echo", `{"text":"hello"}`)
	if first.Load() == 0 {
		t.Errorf("the server of the config got no header (%v)", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range w.headers {
		if h != "" {
			t.Errorf("another host got the header %q", h)
		}
	}
}

func TestHF23_AServerThatRepeatsAHeaderShowsItToNoOne(t *testing.T) {
	const secret = "abracadabra-words-alone"
	t.Setenv("MCP_TEST_TOKEN", secret)
	at := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set(contentType, "application/json")
		var m struct {
			ID json.RawMessage `json:"id"`
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32001,"message":"no user has the key %s"}}`, m.ID, r.Header.Get("X-Key"))
	}))
	defer at.Close()
	d := playing("web")
	d.Command, d.URL, d.Headers = nil, at.URL, map[string]string{"X-Key": "MCP_TEST_TOKEN"}
	s := newStage(t, func(o *Options) { o.Redactor = term.NewRedactor(secret) }, d)
	defer s.leave()
	s.tools("web", "a")
	var row ops.Server
	eventually.True(t, "its row says why it does not run", func() bool {
		row = s.row("web")
		return row.LastError != ""
	})
	if !strings.Contains(row.LastError, "no user has the key "+term.Mask) || strings.Contains(s.log.String(), secret) {
		t.Errorf("its row says %q, and the log %q", row.LastError, s.log.String())
	}
}

// perhaps is call, where the tool may not be offered.
func (s *stage) perhaps(server, session, name, arguments string) (string, error) {
	one := s.tools(server, session)[name]
	if one == nil {
		return "", nil
	}
	return s.run(s.t.Context(), one, session, arguments)
}

func TestHR1_AServerOverHTTPThatHangsCostsItsCallsLimit(t *testing.T) {
	w := serveHTTP(t)
	d := w.definition()
	d.Timeout = 500 * time.Millisecond
	s := newStage(t, nil, d)
	defer s.leave()
	tools := s.tools("web", "a")
	if _, err := s.run(t.Context(), tools["hang"], "a", `{"text":""}`); err == nil || !strings.Contains(err.Error(), "did not answer within") {
		t.Errorf("the call: %v", err)
	}
	if got := s.must("web", "a", "echo", `{"text":"on"}`); got != "on" {
		t.Errorf("the next call says %q", got)
	}
}

func TestHR1_AServerOverHTTPThatIsNotThereIsSaid(t *testing.T) {
	w := serveHTTP(t)
	d := w.definition()
	w.Server.Close()
	s := newStage(t, nil, d)
	defer s.leave()
	s.tools("web", "a")
	eventually.True(t, "its row says why", func() bool {
		row := s.row("web")
		return row.State == ops.ServerBackoff && strings.Contains(row.LastError, "connection refused")
	})
	d.Name, d.Headers = "secret", map[string]string{"Authorization": "MCP_TEST_NOT_SET"}
	s.set.Use([]Definition{d})
	s.tools("secret", "a")
	if row := s.row("secret"); row.State != ops.ServerFailed || !strings.Contains(row.LastError, "MCP_TEST_NOT_SET") {
		t.Errorf("a header whose variable is not set: %+v", row)
	}
}
