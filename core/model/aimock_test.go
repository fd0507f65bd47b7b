package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"gatewaytui/fixtures/npmtest"
)

// The tests of this file talk to an OpenAI-compatible server by other authors.
const (
	aimock        = "@copilotkit/aimock"
	aimockVersion = "1.43.0"
)

// serveAimock runs the server until its standard input ends, so that it cannot outlive this process. Text and arguments
// come in pieces of four characters.
const serveAimock = `
const {LLMock} = require('@copilotkit/aimock');
const server = new LLMock({host: '127.0.0.1', port: 0, chunkSize: 4, logLevel: 'silent'});
server.onMessage('hello', {content: 'Hello – and welcome, 世界!'});
server.onToolResult('call_disk', {content: 'It is half full.'});
server.onMessage('disk', {toolCalls: [
	{id: 'call_disk', name: 'terminal', arguments: '{"command":"df -h /"}'},
	{id: 'call_list', name: 'process', arguments: '{"action":"list"}'},
]});
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
server.start().then((url) => console.log(url), (e) => { console.error(String(e)); process.exit(1); });
`

// startAimock returns the server's URL.
func startAimock(t *testing.T) string {
	t.Helper()
	url := npmtest.Serve(t, npmtest.Install(t, aimock, aimockVersion), serveAimock)
	if !strings.HasPrefix(url, "http://") {
		t.Fatalf("the server said %q", url)
	}
	return url
}

// chaos makes the server fail as its member of this name says, always; an empty name ends that.
func chaos(t *testing.T, url, name string) {
	t.Helper()
	method, body := http.MethodDelete, ""
	if name != "" {
		method, body = http.MethodPost, `{"`+name+`":1}`
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url+"/__aimock/chaos", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	if said, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		t.Fatalf("set chaos %q: %s: %s", name, resp.Status, said)
	}
}

// onRetry calls f whenever a call is about to wait for its next attempt.
type onRetry struct {
	slog.Handler
	f func()
}

func (onRetry) Enabled(context.Context, slog.Level) bool { return true }

func (h onRetry) Handle(context.Context, slog.Record) error {
	h.f()
	return nil
}

func TestAnotherAuthorsServerIsUnderstood(t *testing.T) {
	url := startAimock(t)
	provider := func(t *testing.T, log *slog.Logger) *openAI {
		t.Helper()
		p, err := NewOpenAI(OpenAIOptions{BaseURL: url + "/v1", Model: "some-model", APIKey: "k", Timeout: time.Minute, Log: log})
		if err != nil {
			t.Fatal(err)
		}
		return p.(*openAI)
	}
	user := func(text string) Request {
		return Request{
			Messages: []Message{{Role: RoleSystem, Content: "be brief"}, {Role: RoleUser, Content: text}},
			Tools:    []ToolSpec{{Name: "terminal", Description: "runs a command", Schema: json.RawMessage(`{"type":"object"}`)}},
		}
	}
	const welcome = "Hello – and welcome, 世界!"

	t.Run("text comes in pieces and whole", func(t *testing.T) {
		c := provider(t, nil).New()
		defer c.Close()
		var pieces []string
		got, err := c.Complete(t.Context(), user("hello"), func(s string) { pieces = append(pieces, s) })
		if err != nil || got.Message.Content != welcome || strings.Join(pieces, "") != welcome || len(pieces) < 2 {
			t.Errorf("answer %+v in pieces %q, %v", got.Message, pieces, err)
		}
		if got.Usage.In == 0 || got.Usage.Out == 0 {
			t.Errorf("usage %+v: the server counts", got.Usage)
		}
	})
	t.Run("an answer in one piece", func(t *testing.T) {
		p := provider(t, nil)
		network := p.http.Transport
		p.http.Transport = roundTripFunc(func(req *http.Request) (*http.Response, error) {
			// The client always asks for a stream; this is an endpoint that has none.
			body, err := io.ReadAll(req.Body)
			if err != nil {
				return nil, err
			}
			var asked map[string]any
			if err := json.Unmarshal(body, &asked); err != nil {
				return nil, err
			}
			delete(asked, "stream")
			delete(asked, "stream_options")
			if body, err = json.Marshal(asked); err != nil {
				return nil, err
			}
			req = req.Clone(req.Context())
			req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			return network.RoundTrip(req)
		})
		defer network.(*http.Transport).CloseIdleConnections()
		c := p.New()
		defer c.Close()
		var streamed strings.Builder
		got, err := c.Complete(t.Context(), user("hello"), func(s string) { streamed.WriteString(s) })
		if err != nil || got.Message.Content != welcome || streamed.String() != welcome || got.Usage.Out == 0 {
			t.Errorf("answer %+v, streamed %q, %v", got, &streamed, err)
		}
		if got, err = c.Complete(t.Context(), user("disk"), nil); err != nil || len(got.Message.ToolCalls) != 2 {
			t.Errorf("answer %+v, %v; want two calls", got, err)
		}
	})
	t.Run("tool calls and their results", func(t *testing.T) {
		c := provider(t, nil).New()
		defer c.Close()
		req := user("disk")
		got, err := c.Complete(t.Context(), req, nil)
		if err != nil || len(got.Message.ToolCalls) != 2 {
			t.Fatalf("answer %+v, %v; want two calls", got, err)
		}
		disk, list := got.Message.ToolCalls[0], got.Message.ToolCalls[1]
		if disk != (ToolCall{"call_disk", "terminal", `{"command":"df -h /"}`}) || list != (ToolCall{"call_list", "process", `{"action":"list"}`}) {
			t.Fatalf("calls %+v and %+v", disk, list)
		}
		req.Messages = append(req.Messages, got.Message,
			Message{Role: RoleTool, ToolCallID: list.ID, Content: "[]"}, Message{Role: RoleTool, ToolCallID: disk.ID, Content: "50%"})
		if got, err = c.Complete(t.Context(), req, nil); err != nil || got.Message.Content != "It is half full." {
			t.Errorf("after the results: %+v, %v", got, err)
		}
	})
	t.Run("what it does not know is said", func(t *testing.T) {
		c := provider(t, nil).New()
		defer c.Close()
		_, err := c.Complete(t.Context(), user("nothing that it knows"), nil)
		if e, ok := errors.AsType[*Error](err); !ok || e.Status != http.StatusNotFound || !strings.Contains(e.Message, "No fixture matched") {
			t.Errorf("got %v, want its 404 and its words", err)
		}
	})
	for name, member := range map[string]string{
		"a 429 with Retry-After is waited out": "rateLimitRate", "a dropped request is tried again": "dropRate",
		"a cut connection is tried again": "disconnectRate",
	} {
		t.Run(name, func(t *testing.T) {
			retried := 0
			fix := func() {
				retried++
				chaos(t, url, "")
			}
			c := provider(t, slog.New(onRetry{slog.DiscardHandler, fix})).New()
			defer c.Close()
			chaos(t, url, member)
			got, err := c.Complete(t.Context(), user("hello"), nil)
			if err != nil || got.Message.Content != welcome || retried != 1 {
				t.Errorf("after %d retries: %+v, %v", retried, got, err)
			}
		})
	}
	t.Run("a malformed answer is the endpoint's fault", func(t *testing.T) {
		chaos(t, url, "malformedRate")
		defer chaos(t, url, "")
		c := provider(t, nil).New()
		defer c.Close()
		_, err := c.Complete(t.Context(), user("hello"), nil)
		if e, ok := errors.AsType[*Error](err); !ok || e.Kind != KindBroken {
			t.Errorf("got %v, want %s", err, KindBroken)
		}
	})
}

type roundTripFunc func(*http.Request) (*http.Response, error)

func (t roundTripFunc) RoundTrip(req *http.Request) (*http.Response, error) { return t(req) }
