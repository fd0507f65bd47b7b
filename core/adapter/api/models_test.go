package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"gatewaytui/core/adapter"
)

// CV3: agents are the models of the API, and a request chooses one by its model.
func TestCV3_TheModelOfARequestNamesTheAgent(t *testing.T) {
	var named []string
	f := start(t, Options{Model: "default", Agents: []string{"default", "coder"}}, func(ctx context.Context, m adapter.Inbound) error {
		named = append(named, m.Agent)
		return echo(ctx, m)
	})
	for _, c := range []struct{ model, agent, called string }{
		{"", "", "default"},
		{"any", "", "default"},
		{"default", "", "default"},
		{"coder", "coder", "coder"},
	} {
		named = nil
		a := f.chat(`{"model":"` + c.model + `","messages":[{"role":"user","content":"hi"}]}`)
		var got struct {
			Model string `json:"model"`
		}
		if err := json.Unmarshal(a.body, &got); err != nil || a.status != http.StatusOK || len(named) != 1 || named[0] != c.agent || got.Model != c.called {
			t.Errorf("model %q: %d, agents %q, the answer is of %q; want %q and %q", c.model, a.status, named, got.Model, c.agent, c.called)
		}
	}
	named = nil
	a := f.chat(`{"model":"gpt-9","messages":[{"role":"user","content":"hi"}]}`)
	if a.status != http.StatusNotFound || len(named) != 0 {
		t.Errorf("an unknown model: %d, %q", a.status, named)
	}
	for _, want := range []string{`"code":"model_not_found"`, `"param":"model"`, `"type":"invalid_request_error"`, "default, coder"} {
		if !strings.Contains(string(a.body), want) {
			t.Errorf("%s does not say %s", a.body, want)
		}
	}
	for path, want := range map[string]string{
		"/v1/models":         `{"object":"list","data":[{"id":"default","object":"model","created":0,"owned_by":"gatewaytui"},{"id":"coder","object":"model","created":0,"owned_by":"gatewaytui"}]}`,
		"/v1/models/coder":   `{"id":"coder","object":"model","created":0,"owned_by":"gatewaytui"}`,
		"/v1/models/default": `{"id":"default","object":"model","created":0,"owned_by":"gatewaytui"}`,
	} {
		if a := f.do(f.request(http.MethodGet, path, "")); a.status != http.StatusOK || strings.TrimSpace(string(a.body)) != want {
			t.Errorf("%s: %d %s, want %s", path, a.status, a.body, want)
		}
	}
	if a := f.do(f.request(http.MethodGet, "/v1/models/gpt-9", "")); a.status != http.StatusNotFound || !strings.Contains(string(a.body), "model_not_found") {
		t.Errorf("an unknown model: %d %s", a.status, a.body)
	}
}
