package model

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestCV4_TheWindowIsInWhatEndpointsSayOfARequestThatIsTooLong(t *testing.T) {
	for said, want := range map[string]int{
		"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.":               8192,
		"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages)":     4096,
		"prompt is too long: 208310 tokens > 200000 maximum":                                                                200_000,
		"input length and `max_tokens` exceed context limit: 198000 + 8192 > 200000":                                        200_000,
		"Trying to keep the first 4500 tokens when context overflows. The model is loaded with context length of only 4096": 4096,
		"the request exceeds the available context size (n_ctx = 2048)":                                                     2048,
		"The input exceeds the 32,768 token limit":                                                                          32_768,
		"the request exceeds the available context size":                                                                    0,
		"maximum context length is 3":                                                                                       0,
	} {
		if got := windowIn(said); got != want {
			t.Errorf("%q names %d, want %d", said, got, want)
		}
	}
}

func TestCV4_AWindowThatTheConfigDoesNotNameIsLearned(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			asked++
			fmt.Fprint(w, `{"data":[{"id":"other","context_length":1000},{"id":"m","max_model_len":16384}]}`)
			return
		}
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_ctx":2048}}`)
	}))
	defer s.Close()
	p, err := NewOpenAI(OpenAIOptions{BaseURL: s.URL + "/v1", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	if p.Window() != 0 {
		t.Errorf("the window is %d before anything is known", p.Window())
	}
	for range 2 {
		p.(Discoverer).Discover(t.Context())
	}
	if p.Window() != 16_384 || asked != 1 {
		t.Errorf("the list of models says %d, it was asked %d times", p.Window(), asked)
	}
	c := p.New()
	defer c.Close()
	if _, err := c.Complete(t.Context(), Request{Messages: []Message{{Role: RoleUser, Content: "hi"}}}, nil); err == nil {
		t.Error("the call did not fail")
	}
	if p.Window() != 2048 {
		t.Errorf("the refusal says %d", p.Window())
	}
	told, err := NewOpenAI(OpenAIOptions{BaseURL: s.URL + "/v1", Model: "m", Window: 1024, MaxOutput: 100})
	if err != nil {
		t.Fatal(err)
	}
	told.(Discoverer).Discover(t.Context())
	if told.Window() != 1024 || told.(Limited).MaxOutput() != 100 || asked != 1 {
		t.Errorf("a window of the config became %d, asked %d times", told.Window(), asked)
	}
}
