package api

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/model"
	"gatewaytui/fixtures/npmtest"
	"gatewaytui/fixtures/soak"
)

// contextual answers "context" with what its turn has before it, and "weather" with a call of the client's function, whose result
// it then repeats.
func contextual(_ context.Context, m adapter.Inbound) error {
	r, in := m.Responder, m.Input
	r.Ended(model.Outcome{Usage: model.Usage{In: 40, Out: 2}})
	switch {
	case len(in.Results) > 0:
		r.Delta("It is ")
		r.Done("It is "+in.Results[0].Content, nil)
	case m.Text == "weather":
		r.Ended(model.Outcome{Finish: model.FinishToolCalls, Calls: []model.ToolCall{{ID: "call_1", Name: in.Tools[0].Name, Arguments: `{"place":"Vienna"}`}}})
		r.Done("", nil)
	default:
		var said []string
		for _, h := range in.History {
			said = append(said, string(h.Role)+": "+h.Content)
		}
		r.Done(fmt.Sprintf("%s [%s] [%s] %v", m.Session[:9], in.System, strings.Join(said, ", "), in.Given), nil)
	}
	return nil
}

// node runs a script next to the packages that dir has, and reads the JSON that it prints.
func node(t *testing.T, dir, base string, program []byte, into any) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "client.mjs")
	// node looks for packages from the script's real folder up.
	if err := errors.Join(os.WriteFile(script, program, 0o600), os.Symlink(filepath.Join(dir, "node_modules"), filepath.Join(filepath.Dir(script), "node_modules"))); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", script)
	cmd.Env = append(os.Environ(), "OPENAI_BASE_URL="+base+"/v1", "OPENAI_API_KEY=the-key", "NO_PROXY=127.0.0.1")
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr.Bytes())
	}
	if err := json.Unmarshal(stdout.Bytes(), into); err != nil {
		t.Fatalf("%v: %s", err, stdout.Bytes())
	}
}

//go:embed testdata/responses.mjs
var responsesProgram []byte

func TestCV2_OpenAIsOwnClientHasResponsesThatContinueEachOther(t *testing.T) {
	dir := npmtest.Install(t, "openai", npmOpenAI)
	f := start(t, Options{Key: "the-key", Model: "my-agent"}, contextual)
	var got struct {
		Second, Status, Streamed, Call, Arguments, Told, Kept, Conversation string
		Events                                                              []string
		Gone                                                                int
		Refused                                                             struct {
			Status int
			Param  string
		}
	}
	node(t, dir, f.base, responsesProgram, &got)
	chain := "api:reque [] [user: My name is Bob., assistant: api:reque [Be brief.] [] true] true"
	if got.Second != chain || got.Kept != chain || got.Status != "completed" || got.Gone != 404 {
		t.Errorf("the second answer is %q (%s), kept %q, then %d", got.Second, got.Status, got.Kept, got.Gone)
	}
	if got.Streamed != "api:reque [] [] true" {
		t.Errorf("streamed %q", got.Streamed)
	}
	want := []string{
		"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added", "response.output_text.delta",
		"response.output_text.done", "response.content_part.done", "response.output_item.done", "response.completed",
	}
	if !slices.Equal(got.Events, want) {
		t.Errorf("the events are %q", got.Events)
	}
	if got.Call != "weather" || got.Arguments != `{"place":"Vienna"}` || got.Told != "It is sunny" {
		t.Errorf("the function: %q %q, then %q", got.Call, got.Arguments, got.Told)
	}
	if got.Conversation != "api:chat: [] [] false" {
		t.Errorf("the conversation: %q", got.Conversation)
	}
	if got.Refused.Status != 400 || got.Refused.Param != "background" {
		t.Errorf("refused: %+v", got.Refused)
	}
}

//go:embed testdata/vercel.mjs
var vercelProgram []byte

func TestCV2_TheVercelAISDKWorks(t *testing.T) {
	dir := npmtest.Install(t, "ai", "7.0.173", "@ai-sdk/openai@4.0.118")
	f := start(t, Options{Key: "the-key", Model: "my-agent"}, contextual)
	var got map[string]struct {
		Plain, Finish, Streamed, Tool, ToolStreamed string
		Steps                                       int
	}
	node(t, dir, f.base, vercelProgram, &got)
	for _, form := range []string{"chat", "responses"} {
		g := got[form]
		if g.Plain != "api:reque [Be brief.] [user: My name is Bob., assistant: Ahoy.] true" || g.Finish != "stop" || g.Streamed != "api:reque [] [] true" {
			t.Errorf("%s: %+v", form, g)
		}
		if g.Tool != "It is sunny in Vienna" || g.Steps != 2 || g.ToolStreamed != "It is sunny in Vienna" {
			t.Errorf("%s with a tool: %+v", form, g)
		}
	}
}

//go:embed testdata/langchain.mjs
var langchainProgram []byte

func TestCV2_LangChainWorks(t *testing.T) {
	if !soak.On() {
		t.Skip("runs in make soak: its packages have 90 MB")
	}
	dir := npmtest.Install(t, "@langchain/openai", "1.6.0")
	f := start(t, Options{Key: "the-key", Model: "my-agent"}, contextual)
	var got struct{ Plain, Streamed, Call, Place, Told string }
	node(t, dir, f.base, langchainProgram, &got)
	want := "api:reque [Be brief.] [user: My name is Bob., assistant: Ahoy.] true"
	if got.Plain != want || got.Streamed != want || got.Call != "weather" || got.Place != "Vienna" || got.Told != "It is sunny" {
		t.Errorf("%+v", got)
	}
}
