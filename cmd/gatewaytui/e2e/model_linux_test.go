package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// endpoint is a model endpoint that answers as answer does; last is the newest message of the request. A connection that is
// left open ends with the test.
func endpoint(t testing.TB, answer func(w http.ResponseWriter, r *http.Request, last string)) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Messages []struct{ Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.Messages) == 0 {
			http.Error(w, "no messages", http.StatusBadRequest)
			return
		}
		answer(w, r, body.Messages[len(body.Messages)-1].Content)
	}))
	return s
}

// serve starts s and ends it with the test, the calls that hang included.
func serve(t testing.TB, s *httptest.Server) *httptest.Server {
	t.Helper()
	s.Start()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// modelAt is the config of a gateway whose model is at url and has no price, and as many tokens as it wants; more is appended.
func modelAt(url, more string) string {
	return "[budgets.default]\ntokens_per_day = 0\n" + modelOf(url, more)
}

// modelOf is modelAt with the budgets of the standard.
func modelOf(url, more string) string {
	return fmt.Sprintf("[model]\nprovider = \"openai\"\nname = \"m\"\napi_key_env = \"\"\nbase_url = %q\n%s", url+"/v1", more)
}

// completed answers a call with text in one piece.
func completed(w http.ResponseWriter, text, finish string) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{
		"index": 0, "finish_reason": finish, "message": map[string]string{"role": "assistant", "content": text},
	}}})
}

// TF18: what went wrong at the model's endpoint has its own status and code on the API, plain and streamed, with nothing of
// the endpoint's address or words, which are in the log.
func TestTF18_ErrorsOfTheModelSayWhatTheyAre(t *testing.T) {
	t.Parallel() // it mostly waits
	kinds := map[string]struct {
		status     int
		body       string
		retryAfter string
		want       int
		code       string
	}{
		"long":     {400, `{"error":{"message":"Kilroy: maximum context length is 8192 tokens","code":"context_length_exceeded"}}`, "", 400, "context_length_exceeded"},
		"bad":      {400, `{"error":{"message":"Kilroy: bad request"}}`, "", 502, "upstream_rejected"},
		"key":      {401, `{"error":{"message":"Kilroy: wrong key"}}`, "", 502, "upstream_auth_error"},
		"forbid":   {403, `{"error":{"message":"Kilroy: forbidden"}}`, "", 502, "upstream_auth_error"},
		"model":    {404, `{"error":{"message":"Kilroy: no such model"}}`, "", 502, "upstream_model_not_found"},
		"rate":     {429, `{"error":{"message":"Kilroy: slow down"}}`, "17", 429, "rate_limit_exceeded"},
		"quota":    {429, `{"error":{"message":"Kilroy: pay","type":"insufficient_quota"}}`, "", 429, "insufficient_quota"},
		"broken":   {500, `{"error":{"message":"Kilroy: oops"}}`, "", 502, "upstream_error"},
		"overload": {503, `Kilroy`, "", 502, "upstream_error"},
		"hang":     {0, "", "", 504, "upstream_timeout"},
		"later":    {429, `{"error":{"message":"Kilroy: come back tomorrow"}}`, "86400", 429, "rate_limit_exceeded"},
	}
	s := serve(t, endpoint(t, func(w http.ResponseWriter, r *http.Request, last string) {
		switch k, fails := kinds[last]; {
		case last == "cut":
			completed(w, "half an ans", "length")
		case last == "filtered":
			completed(w, "", "content_filter")
		case !fails:
			completed(w, "fine", "stop")
		case k.status == 0:
			<-r.Context().Done()
		default:
			if k.retryAfter != "" {
				w.Header().Set("Retry-After", k.retryAfter)
			}
			http.Error(w, k.body, k.status)
		}
	}))
	g := start(t, newHome(t), modelAt(s.URL, "timeout = \"1s\"\n"))
	ask := func(t *testing.T, text string, stream bool) (*http.Response, string) {
		t.Helper()
		body, _ := json.Marshal(map[string]any{"stream": stream, "messages": []any{map[string]string{"role": "user", "content": text}}})
		client := http.Client{Timeout: patience}
		res, err := post(t.Context(), &client, g.api, t.Name(), body)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, string(answer)
	}
	for _, stream := range []bool{false, true} {
		for name, k := range kinds {
			t.Run(fmt.Sprintf("%s stream=%v", name, stream), func(t *testing.T) {
				res, answer := ask(t, name, stream)
				var e struct {
					Error struct{ Message, Type, Code string }
				}
				text := answer
				if data, begun := strings.CutPrefix(answer, "data: "); begun { // the stream had begun: the error is an event
					events := strings.Split(strings.TrimSpace(data), "\n\n")
					text = strings.TrimPrefix(events[len(events)-1], "data: ")
				} else if res.StatusCode != k.want || res.Header.Get("X-Should-Retry") != "false" || res.Header.Get("Retry-After") != k.retryAfter {
					t.Errorf("answered %s %v, want %d, not to be repeated, Retry-After %q", res.Status, res.Header, k.want, k.retryAfter)
				}
				if err := json.Unmarshal([]byte(text), &e); err != nil || e.Error.Code != k.code || e.Error.Message == "" || e.Error.Type == "" {
					t.Errorf("answered %s (%v), want an error with code %s", answer, err, k.code)
				}
				if strings.Contains(answer, "Kilroy") || strings.Contains(answer, s.Listener.Addr().String()) {
					t.Errorf("the answer tells of the endpoint: %s", answer)
				}
				l := g.await("the turn's end in the log", func(l line) bool {
					return l.text("msg") == "turn ended" && strings.HasSuffix(l.text("session"), t.Name())
				})
				if !strings.Contains(l.text("error"), s.Listener.Addr().String()) || k.status != 0 && !strings.Contains(l.text("error"), "Kilroy") {
					t.Errorf("the log has no details: %v", l)
				}
			})
		}
		for text, want := range map[string]string{"hello": "stop", "cut": "length", "filtered": "content_filter"} {
			t.Run(fmt.Sprintf("finish_reason %s stream=%v", want, stream), func(t *testing.T) {
				if res, answer := ask(t, text, stream); res.StatusCode != http.StatusOK || !strings.Contains(answer, `"finish_reason":"`+want+`"`) {
					t.Errorf("answered %s %s, want the finish reason %s", res.Status, answer, want)
				}
			})
		}
	}
}

// HF27: a web page at model.base_url is named as one, in the log with what to do, after one request.
func TestHF27_AWebPageIsNotAModel(t *testing.T) {
	var asked atomic.Int32
	s := serve(t, endpoint(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		asked.Add(1)
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!doctype html><title>Welcome</title>\n")
	}))
	g := start(t, newHome(t), modelAt(s.URL, "timeout = \"20s\"\n"))
	reply, status := g.chat("a", "hello")
	if status != http.StatusBadGateway || !strings.Contains(reply, "no model answers at the configured address") {
		t.Errorf("answered %d %s", status, reply)
	}
	ended := g.await("the end of the turn", func(l line) bool { return l.text("msg") == "turn ended" })
	if want := "answered with a web page, not with a model's answer; check model.base_url"; !strings.Contains(ended.text("error"), want) {
		t.Errorf("the log says %v, want %q", ended, want)
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the endpoint was asked %d times, want once", n)
	}
}
