package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"gatewaytui/core/adapter"
)

// followed is a turn of two steps.
func followed(_ context.Context, m adapter.Inbound) error {
	watch := m.Responder.(adapter.Watcher).Watch
	watch("turn1", "")
	watch("turn1", "model call")
	watch("turn1", "model call")
	watch("turn1", "terminal: ls")
	m.Responder.Delta("Hel")
	m.Responder.Done("Hello", nil)
	return nil
}

// A client gets the gateway's own events where it asks for them in a stream, and nothing of them elsewhere.
func TestTheGatewaysEventsComeWhereTheyAreAskedForAndNeverInTheStandardData(t *testing.T) {
	for _, c := range []struct {
		name, path, header string
		stream             bool
		want               string // the events
	}{
		{"a chat completion", "/v1/chat/completions", "1", true, "gateway.turn turn1, gateway.progress model call, gateway.progress terminal: ls"},
		{"a response", "/v1/responses", "1", true, "gateway.turn turn1, gateway.progress model call, gateway.progress terminal: ls"},
		{"without the header", "/v1/chat/completions", "", true, ""},
		{"with another value", "/v1/chat/completions", "0", true, ""},
		{"a plain request", "/v1/chat/completions", "1", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, Options{Model: "my-agent"}, followed)
			content := `{"model":"any","stream":false,"messages":[{"role":"user","content":"hello"}]}`
			if strings.HasSuffix(c.path, "responses") {
				content = `{"model":"any","stream":false,"input":"hello","store":false}`
			}
			if c.stream {
				content = strings.Replace(content, "false", "true", 1)
			}
			a := f.do(f.request(http.MethodPost, c.path, content, "X-Gateway-Events", c.header, "X-Session-Key", "s"))
			if a.status != http.StatusOK {
				t.Fatalf("answered %d %s", a.status, a.body)
			}
			var own []string
			for block := range strings.SplitSeq(string(a.body), "\n\n") {
				name, data, _ := strings.Cut(block, "\n")
				name = strings.TrimPrefix(name, "event: ")
				if !strings.HasPrefix(name, "gateway.") {
					if strings.Contains(block, "turn1") || strings.Contains(block, "terminal") {
						t.Errorf("the standard data has %s", block)
					}
					continue
				}
				var h happening
				if err := json.Unmarshal([]byte(strings.TrimPrefix(data, "data: ")), &h); err != nil || h.Type != name || h.Turn != "turn1" || h.At.IsZero() || h.Choices == nil {
					t.Errorf("%v in %s", err, block)
				}
				if name == turnEvent && h.Session != "api:user:s" {
					t.Errorf("the turn is of %q", h.Session)
				}
				what := h.Doing
				if what == "" {
					what = h.Turn
				}
				own = append(own, name+" "+what)
			}
			if got := strings.Join(own, ", "); got != c.want {
				t.Errorf("the events are %q, want %q", got, c.want)
			}
		})
	}
}
