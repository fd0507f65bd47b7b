package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// claude is an endpoint of Anthropic's API that says which system prompt and key it got.
func claude(w http.ResponseWriter, r *http.Request) {
	var q struct {
		System []struct{ Text string }
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil || r.URL.Path != "/v1/messages" || len(q.System) != 1 {
		http.Error(w, `{"type":"error","error":{"type":"invalid_request_error","message":"wrong request"}}`, http.StatusBadRequest)
		return
	}
	text, _ := json.Marshal(fmt.Sprintf("claude with %s: %s", r.Header.Get("X-Api-Key"), q.System[0].Text))
	w.Header().Set("Content-Type", "text/event-stream")
	for _, data := range []string{
		`{"type":"message_start","message":{"usage":{"input_tokens":100,"cache_read_input_tokens":900,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + string(text) + `}}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":50}}`,
		`{"type":"message_stop"}`,
	} {
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
}

// CV3, CV5: models, agents and routes of a config, in the built program: a chain that moves on, a route and a request that give a
// session its agent, and a model that is chosen in a conversation, across a restart.
func TestCV5_ModelsAgentsAndRoutesWorkTogether(t *testing.T) {
	t.Parallel() // it mostly waits
	var down atomic.Int64
	broken := serve(t, endpoint(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		down.Add(1)
		w.Header().Set("Retry-After", "60")
		http.Error(w, `{"error":{"message":"overloaded"}}`, http.StatusServiceUnavailable)
	}))
	plain := serve(t, endpoint(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		completed(w, "plain with "+r.Header.Get("Authorization"), "stop")
	}))
	messages := serve(t, httptest.NewUnstartedServer(http.HandlerFunc(claude)))
	key := func(of string) string {
		file := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(file, []byte("key-of-"+of+"-0123\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	config := fmt.Sprintf(`
[models.broken]
provider = "openai"
base_url = "%s/v1"
name = "m"
api_key_env = ""
[models.claude]
provider = "anthropic"
base_url = "%s"
name = "c"
api_key_file = "%s"
price_in = 3.0
price_cached = 0.3
price_out = 15.0
[models.plain]
provider = "openai"
base_url = "%s/v1"
name = "p"
api_key_env = ""
api_key_file = "%s"
[agents.default]
models = ["broken", "claude"]
prompt = "Be brief in {{chat}}."
[agents.coder]
models = ["plain"]
tools = ["terminal"]
[[routes]]
match = "api:user:dev*"
agent = "coder"
[adapters.api]
listen = "127.0.0.1:0"
`, broken.URL, messages.URL, key("claude"), plain.URL, key("plain"))
	home := newHome(t)
	g := start(t, home, config)
	ask := func(key, model, text string) (status int, answer string) {
		t.Helper()
		body, _ := json.Marshal(map[string]any{"model": model, "messages": []any{map[string]string{"role": "user", "content": text}}})
		res, err := post(t.Context(), &http.Client{Timeout: patience}, g.api, key, body)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Choices []struct{ Message struct{ Content string } }
		}
		if err := json.Unmarshal(data, &got); err != nil || len(got.Choices) == 0 {
			return res.StatusCode, string(data)
		}
		return res.StatusCode, got.Choices[0].Message.Content
	}
	for _, c := range []struct{ key, model, text, want string }{
		{"alice", "any", "hi", "claude with key-of-claude-0123: Be brief in user:alice."},
		{"alice", "", "again", "claude with key-of-claude-0123: Be brief in user:alice."},
		{"dev1", "", "hi", "plain with Bearer key-of-plain-0123"},
		{"bob", "coder", "hi", "plain with Bearer key-of-plain-0123"},
	} {
		if status, got := ask(c.key, c.model, c.text); status != http.StatusOK || got != c.want {
			t.Errorf("%s asked %q: %d %q, want %q", c.key, c.model, status, got, c.want)
		}
	}
	if n := down.Load(); n != 1 {
		t.Errorf("the model that is down was asked %d times; its Retry-After is a minute", n)
	}
	if status, got := ask("bob", "gpt-9", "hi"); status != http.StatusNotFound || !strings.Contains(got, "model_not_found") {
		t.Errorf("an unknown agent: %d %s", status, got)
	}
	const each = 100*3e-6 + 900*0.3e-6 + 50*15e-6
	if r := g.session("api:user:alice"); r.Agent != "default" || r.Model != "claude" || r.Cost == nil || math.Abs(*r.Cost-2*each) > 1e-9 {
		t.Errorf("the row of alice is %+v, want a cost of %v", r, 2*each)
	}
	if r := g.session("api:user:dev1"); r.Agent != "coder" || r.Model != "plain" || r.Cost != nil {
		t.Errorf("the row of dev1 is %+v", r)
	}

	if status, got := ask("alice", "", "/model plain"); status != http.StatusOK || !strings.Contains(got, "uses plain") {
		t.Fatalf("the choice: %d %s", status, got)
	}
	g.stop()
	g = start(t, home, config)
	if _, got := ask("alice", "", "hi"); !strings.HasPrefix(got, "plain") {
		t.Errorf("after a restart %q answered", got)
	}
	if _, got := ask("alice", "", "/new"); got == "" {
		t.Error("no answer to /new")
	}
	if _, got := ask("alice", "", "hi"); !strings.HasPrefix(got, "claude") {
		t.Errorf("in a fresh conversation %q answered", got)
	}
	if strings.Contains(g.output(), "key-of-") {
		t.Error("a key is in the log")
	}
}
