package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"gatewaytui/fixtures/eventually"
)

// recorder is a model endpoint that keeps what it was asked and answers "answer N".
type recorder struct {
	*httptest.Server
	mu    sync.Mutex
	calls []map[string]any
}

func record(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{}
	r.Server = serve(t, httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var body map[string]any
		if err := json.NewDecoder(q.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.mu.Lock()
		r.calls = append(r.calls, body)
		n := len(r.calls)
		r.mu.Unlock()
		completed(w, fmt.Sprint("answer ", n), "stop")
	})))
	return r
}

// last is the last call: its messages after the system prompt, and the prompt.
func (r *recorder) last() (messages []string, system string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.calls[len(r.calls)-1]["messages"].([]any) {
		m := m.(map[string]any)
		if m["role"] == "system" {
			system = m["content"].(string)
			continue
		}
		messages = append(messages, fmt.Sprint(m["role"], ": ", m["content"]))
	}
	return messages, system
}

// CV1: what Open WebUI sends for a first message, a second one, a regeneration, and an edit of the first. Its history is the whole
// context each time, and the chat is one session.
func TestCV1_OpenWebUIsHistoryIsTheContext(t *testing.T) {
	m := record(t)
	g := start(t, newHome(t), modelAt(m.URL, ""))
	const hello, more = `{"role":"user","content":"hello"}`, `{"role":"user","content":"more"}`
	for _, step := range []struct {
		name, messages string
		want           []string
	}{
		{"the first message", hello, []string{"user: hello"}},
		{"the second message", hello + `,{"role":"assistant","content":"answer 1"},` + more, []string{"user: hello", "assistant: answer 1", "user: more"}},
		{"a regeneration", hello + `,{"role":"assistant","content":"answer 1"},` + more, []string{"user: hello", "assistant: answer 1", "user: more"}},
		{"an edit of the first", `{"role":"user","content":"hi there"}`, []string{"user: hi there"}},
	} {
		body := `{"stream":true,"model":"default","messages":[{"role":"system","content":"Be kind."},` + step.messages + `],"temperature":0.7}`
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+g.api+"/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{
			"Content-Type": "application/json", "X-OpenWebUI-Chat-Id": "c1", "X-OpenWebUI-User-Name": "Maria", "X-OpenWebUI-User-Role": "user",
		} {
			req.Header.Set(name, value)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(text), "answer ") || !strings.HasSuffix(string(text), "data: [DONE]\n\n") {
			t.Fatalf("%s is answered %d %q, %v", step.name, res.StatusCode, text, err)
		}
		if got, system := m.last(); !slices.Equal(got, step.want) || !strings.HasSuffix(system, "Be kind.") {
			t.Errorf("%s: the model reads %q under %q", step.name, got, system)
		}
	}
	var page struct{ Items []struct{ Key string } }
	g.socket(http.MethodGet, "/v1/sessions", nil, &page)
	if len(page.Items) != 1 || page.Items[0].Key != "api:chat:c1" {
		t.Errorf("the sessions are %+v", page.Items)
	}
}

// CV1, TF3: a stateless request has no memory but its messages, and leaves no session, process or message.
func TestCV1_AStatelessRequestLeavesNothing(t *testing.T) {
	g := start(t, newHome(t), "")
	res, err := http.Post("http://"+g.api+"/v1/chat/completions", "application/json", strings.NewReader(string(asking("bg: sleep 1000"))))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	res.Body.Close()
	_, rest, started := strings.Cut(string(text), "pid ")
	pid, _, _ := strings.Cut(rest, ".")
	if err != nil || !started {
		t.Fatalf("answered %s, %v", text, err)
	}
	eventually.True(t, "the process that it started has ended", func() bool {
		_, err := os.Stat("/proc/" + pid)
		return errors.Is(err, fs.ErrNotExist)
	})
	eventually.True(t, "no session of it is left", func() bool {
		var sessions struct{ Items []any }
		g.socket(http.MethodGet, "/v1/sessions", nil, &sessions)
		return len(sessions.Items) == 0
	})
	if out, code := g.verb("search", "sleep"); code != 0 || strings.Contains(out, "1000") {
		t.Errorf("a search finds it, %d: %s", code, out)
	}
}

// CV2: a picture for a model that cannot see is refused, and one for a model that can reaches it.
func TestCV2_APictureNeedsAModelThatCanSee(t *testing.T) {
	m := record(t)
	const picture = `{"messages":[{"role":"user","content":[{"type":"text","text":"What is it?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}]}`
	for vision, want := range map[string]int{"false": http.StatusBadRequest, "true": http.StatusOK} {
		g := start(t, newHome(t), modelAt(m.URL, "vision = "+vision+"\n"))
		res, err := http.Post("http://"+g.api+"/v1/chat/completions", "application/json", strings.NewReader(picture))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("vision = %s: answered %d %s", vision, res.StatusCode, text)
		}
	}
	if len(m.calls) != 1 {
		t.Fatalf("the model was asked %d times", len(m.calls))
	}
	if sent, _ := json.Marshal(m.calls[0]["messages"]); !strings.Contains(string(sent), "data:image/png;base64,iVBORw0KGgo=") {
		t.Errorf("the model got %s", sent)
	}
}
