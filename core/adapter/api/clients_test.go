package api

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sashabaranov/go-openai"

	"gatewaytui/core/adapter"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/fixtures/npmtest"
)

// played answers by the text it receives: the programs of real clients talk to it.
func played(_ context.Context, m adapter.Inbound) error {
	r := m.Responder
	switch m.Text {
	case "refuse":
		return &ops.Error{Code: ops.CodeQueueFull, Message: "32 messages already wait"}
	case "drain":
		return &ops.Error{Code: ops.CodeDraining, Message: "the gateway takes no new work"}
	case "fail":
		r.Done("", &ops.Error{Code: ops.CodeUnavailable, Message: "the turn failed"})
	case "break off":
		r.Delta("It is ")
		// After a sign of life, which clients must not take for a part of the error.
		time.AfterFunc(headerPatience+100*time.Millisecond, func() {
			r.Done("", &ops.Error{Code: ops.CodeUnavailable, Message: "the model went away"})
		})
	case "break off late":
		time.AfterFunc(headerPatience+100*time.Millisecond, func() {
			r.Done("", &ops.Error{Code: ops.CodeUnavailable, Message: "the model went away"})
		})
	default:
		watch := r.(adapter.Watcher).Watch
		watch("turn1", "")
		watch("turn1", "terminal: ls")
		r.Ended(model.Outcome{Usage: model.Usage{In: 40, Out: 2}})
		r.Delta("Hel")
		r.Delta("lo " + m.Session)
		r.Done("Hello "+m.Session, nil)
	}
	return nil
}

func TestGoOpenAI(t *testing.T) {
	f := start(t, Options{Key: "the-key", Model: "my-agent", UserIsSession: true}, played)
	config := openai.DefaultConfig("the-key")
	config.BaseURL, config.HTTPClient = f.base+"/v1", f.client
	client := openai.NewClientWithConfig(config)
	ask := func(text string) openai.ChatCompletionRequest {
		return openai.ChatCompletionRequest{Model: "any", User: "alice", Messages: []openai.ChatCompletionMessage{{Role: "user", Content: text}}}
	}
	// listen reads a stream to its end.
	listen := func(t *testing.T, text string) (said string, u *openai.Usage, err error) {
		t.Helper()
		q := ask(text)
		q.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
		stream, err := client.CreateChatCompletionStream(t.Context(), q)
		if err != nil {
			return "", nil, err
		}
		defer stream.Close()
		for {
			chunk, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return said, u, nil
			}
			if err != nil {
				return said, u, err
			}
			for _, c := range chunk.Choices {
				said += c.Delta.Content
			}
			u = chunk.Usage
		}
	}
	is := func(t *testing.T, err error, status int, kind, code string) {
		t.Helper()
		e, ok := errors.AsType[*openai.APIError](err)
		if !ok || e.HTTPStatusCode != status || e.Type != kind || e.Code != code {
			t.Errorf("the error is %#v, want %d %s %s", err, status, kind, code)
		}
	}

	t.Run("plain", func(t *testing.T) {
		resp, err := client.CreateChatCompletion(t.Context(), ask("hello"))
		if err != nil || resp.Choices[0].Message.Content != "Hello api:user:alice" || resp.Choices[0].FinishReason != openai.FinishReasonStop || resp.Usage.TotalTokens != 42 {
			t.Errorf("%v, %+v", err, resp)
		}
	})
	t.Run("stream", func(t *testing.T) {
		said, u, err := listen(t, "hello")
		if err != nil || said != "Hello api:user:alice" || u == nil || u.TotalTokens != 42 {
			t.Errorf("said %q, %v, usage %v", said, err, u)
		}
	})
	t.Run("parts", func(t *testing.T) {
		q := ask("")
		q.Messages[0].MultiContent = []openai.ChatMessagePart{{Type: openai.ChatMessagePartTypeText, Text: "hello"}}
		if _, err := client.CreateChatCompletion(t.Context(), q); err != nil {
			t.Error(err)
		}
		q.Messages[0].MultiContent = []openai.ChatMessagePart{{Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{URL: "data:"}}}
		_, err := client.CreateChatCompletion(t.Context(), q)
		is(t, err, 400, "invalid_request_error", "invalid_request")
	})
	t.Run("models", func(t *testing.T) {
		list, err := client.ListModels(t.Context())
		if err != nil || len(list.Models) != 1 || list.Models[0].ID != "my-agent" {
			t.Errorf("%v, %+v", err, list)
		}
	})
	t.Run("refused", func(t *testing.T) {
		_, err := client.CreateChatCompletion(t.Context(), ask("refuse"))
		is(t, err, 429, "rate_limit_error", "queue_full")
		_, _, err = listen(t, "drain")
		is(t, err, 503, "server_error", "draining")
	})
	t.Run("failed", func(t *testing.T) {
		_, err := client.CreateChatCompletion(t.Context(), ask("fail"))
		is(t, err, 503, "server_error", "unavailable")
		_, _, err = listen(t, "fail")
		is(t, err, 503, "server_error", "unavailable")
	})
	t.Run("broken off", func(t *testing.T) {
		for text, want := range map[string]string{"break off": "It is ", "break off late": ""} {
			said, _, err := listen(t, text)
			e, ok := errors.AsType[*openai.APIError](err)
			if said != want || !ok || e.Code != "unavailable" || e.Message != "the model went away" {
				t.Errorf("%s: said %q, then %v", text, said, err)
			}
		}
	})
	t.Run("wrong key", func(t *testing.T) {
		other := openai.DefaultConfig("another-key")
		other.BaseURL, other.HTTPClient = config.BaseURL, config.HTTPClient
		_, err := openai.NewClientWithConfig(other).CreateChatCompletion(t.Context(), ask("hello"))
		is(t, err, 401, "authentication_error", "invalid_api_key")
	})
}

// npmOpenAI is the version of OpenAI's own client for node that the server is held against.
const npmOpenAI = "7.55.0"

//go:embed testdata/openai.mjs
var program []byte

func TestNpmOpenAI(t *testing.T) {
	dir := npmtest.Install(t, "openai", npmOpenAI)
	script := filepath.Join(t.TempDir(), "openai.mjs")
	// node looks for packages from the script's real folder up.
	if err := errors.Join(os.WriteFile(script, program, 0o600), os.Symlink(filepath.Join(dir, "node_modules"), filepath.Join(filepath.Dir(script), "node_modules"))); err != nil {
		t.Fatal(err)
	}
	f := start(t, Options{Key: "the-key", Model: "my-agent", UserIsSession: true}, played)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", script)
	cmd.Env = append(os.Environ(), "OPENAI_BASE_URL="+f.base+"/v1", "OPENAI_API_KEY=the-key", "NO_PROXY=127.0.0.1")
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr.Bytes())
	}

	type failure struct {
		Class, Type, Code, Message string
		Status                     int
	}
	var got struct {
		Plain  struct{ Text, Finish, Model string }
		Stream struct {
			Text, Finish string
			Total        int
		}
		Followed                          struct{ Text, Events string }
		Models                            []string
		Refused, Failed, BrokenOff, Wrong failure
		BrokenText                        string
	}
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, stdout.Bytes())
	}
	if p := got.Plain; p.Text != "Hello api:user:alice" || p.Finish != "stop" || p.Model != "my-agent" {
		t.Errorf("plain: %+v", p)
	}
	if s := got.Stream; s.Text != "Hello api:user:project" || s.Finish != "stop" || s.Total != 42 {
		t.Errorf("stream: %+v", s)
	}
	if f := got.Followed; f.Text != "Hello api:user:project" || f.Events != "gateway.turn turn1, gateway.progress terminal: ls" {
		t.Errorf("a stream with the gateway's events: %+v", f)
	}
	if len(got.Models) != 1 || got.Models[0] != "my-agent" {
		t.Errorf("models: %v", got.Models)
	}
	if e := got.Refused; e.Class != "RateLimitError" || e.Status != 429 || e.Code != "queue_full" {
		t.Errorf("refused: %+v", e)
	}
	if e := got.Failed; e.Class != "InternalServerError" || e.Status != 503 || e.Code != "unavailable" {
		t.Errorf("failed: %+v", e)
	}
	if e := got.Wrong; e.Class != "AuthenticationError" || e.Status != 401 || e.Code != "invalid_api_key" {
		t.Errorf("wrong key: %+v", e)
	}
	if e := got.BrokenOff; e.Class != "APIError" || e.Code != "unavailable" || !strings.Contains(e.Message, "the model went away") || got.BrokenText != "It is " {
		t.Errorf("broken off after %q: %+v", got.BrokenText, e)
	}
	// The client sends again what it may: a refusal, twice by default. A message that was taken it must not.
	sent := map[string]int{}
	for _, m := range f.gateway.messages() {
		sent[m.Text]++
	}
	if sent["refuse"] != 3 || sent["fail"] != 1 || sent["break off"] != 1 {
		t.Errorf("the gateway got %v", sent)
	}
}
