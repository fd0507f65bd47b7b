package acp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/tool"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/npmtest"
	"gatewaytui/fixtures/soak"
)

// The peers are agents by other authors, which ask a model by other authors. They are too large for make test.
const (
	codex           = "@zed-industries/codex-acp"
	codexVersion    = "0.16.0"
	claude          = "@zed-industries/claude-code-acp"
	claudeVersion   = "0.16.2"
	opencode        = "opencode-ai"
	opencodeVersion = "1.18.33"
	gemini          = "@google/gemini-cli"
	geminiVersion   = "0.61.0"
	aimock          = "@copilotkit/aimock"
	aimockVersion   = "1.43.0"
)

// serveAimock is the model of the peers: it answers, and has commands run with the tool that is named.
const serveAimock = `
const {LLMock} = require('@copilotkit/aimock');
const server = new LLMock({host: '127.0.0.1', port: 0, chunkSize: 4, logLevel: 'silent'});
const tool = process.argv[1];
server.onToolResult('call_make', {content: 'It is made.'});
server.onMessage('make the file', {toolCalls: [{id: 'call_make', name: tool, arguments: JSON.stringify({command: 'touch made-by-the-agent', description: 'makes it'})}]});
server.onMessage('sleep long', {toolCalls: [{id: 'call_sleep', name: tool, arguments: JSON.stringify({command: 'touch asleep; sleep 977', description: 'sleeps'})}]});
server.onMessage('hello', {content: 'Hello to you.'});
server.onMessage(/./, {content: 'Something else.'});
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
server.start().then((url) => console.log(url), (e) => { console.error(String(e)); process.exit(1); });
`

// peer makes the room's agent one of another author.
type peer struct {
	name, tool string
	// setUp installs it, and tells it where its model is.
	setUp func(r *room, home, url string)
}

var peers = []peer{
	{"codex", "shell_command", func(r *room, home, url string) {
		r.def.Command = []string{filepath.Join(npmtest.Install(r, codex, codexVersion), "node_modules", codex+"-linux-x64", "bin", "codex-acp")}
		r.env["CODEX_HOME"], r.env["PEER_KEY"] = home, "k"
		config := fmt.Sprintf(`model = "some-model"
model_provider = "peer"
approval_policy = "untrusted"
sandbox_mode = "danger-full-access"
[model_providers.peer]
name = "peer"
base_url = "%s/v1"
wire_api = "responses"
env_key = "PEER_KEY"
`, url)
		if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o600); err != nil {
			r.Fatal(err)
		}
	}},
	{"claude", "Bash", func(r *room, home, url string) {
		dir := npmtest.Install(r, claude, claudeVersion)
		r.def.Command = []string{"node", filepath.Join(dir, "node_modules", claude, "dist", "index.js")}
		r.env["HOME"], r.env["ANTHROPIC_BASE_URL"], r.env["ANTHROPIC_API_KEY"], r.env["DISABLE_AUTOUPDATER"] = home, url, "k", "1"
		r.env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] = "1"
	}},
	{"opencode", "bash", func(r *room, _, url string) {
		r.def.Command = []string{filepath.Join(npmtest.Install(r, opencode, opencodeVersion), "node_modules", "opencode-linux-x64", "bin", "opencode"), "acp"}
		r.env["OPENCODE_DISABLE_AUTOUPDATE"], r.env["OPENCODE_DISABLE_MODELS_FETCH"], r.env["OPENCODE_DISABLE_LSP_DOWNLOAD"] = "1", "1", "1"
		r.env["OPENCODE_CONFIG_CONTENT"] = fmt.Sprintf(`{
			"model": "peer/some-model", "small_model": "peer/some-model", "autoupdate": false, "share": "disabled",
			"permission": {"bash": "ask", "edit": "ask"},
			"provider": {"peer": {
				"npm": "@ai-sdk/openai-compatible", "name": "peer", "options": {"baseURL": "%s/v1", "apiKey": "k"},
				"models": {"some-model": {"name": "some", "tool_call": true, "limit": {"context": 100000, "output": 4000}}}
			}}
		}`, url)
	}},
	{"gemini", "run_shell_command", func(r *room, home, url string) {
		dir := npmtest.Install(r, gemini, geminiVersion)
		r.def.Command = []string{"node", filepath.Join(dir, "node_modules", gemini, "bundle", "gemini.js"), "--experimental-acp", "--model", "gemini-2.5-flash"}
		r.env["GEMINI_API_KEY"], r.env["GOOGLE_GEMINI_BASE_URL"], r.env["GEMINI_CLI_TRUST_WORKSPACE"] = "k", url, "true"
		settings := `{
			"security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}},
			"general": {"disableAutoUpdate": true, "enableAutoUpdate": false}, "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false}
		}`
		if err := os.MkdirAll(filepath.Join(home, ".gemini"), 0o700); err != nil {
			r.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, ".gemini", "settings.json"), []byte(settings), 0o600); err != nil {
			r.Fatal(err)
		}
	}},
}

func TestHR7_AgentsOfOtherAuthorsWorkOnTurns(t *testing.T) {
	if !soak.On() || runtime.GOARCH != "amd64" {
		t.Skipf("runs with %s=1 on amd64: the agents are over 300 MB", soak.Variable)
	}
	for _, p := range peers {
		t.Run(p.name, func(t *testing.T) {
			r := newRoom(t)
			home := t.TempDir()
			url := npmtest.Serve(t, npmtest.Install(t, aimock, aimockVersion), serveAimock, p.tool)
			r.env["HOME"] = home
			p.setUp(r, home, url)
			a := r.agent()
			began := time.Now()
			if got := r.says(a, "hello"); !strings.HasSuffix(got, "Hello to you.") {
				t.Errorf("it answers %q", got)
			}
			t.Logf("from the start to the first answer: %v", time.Since(began).Round(time.Millisecond))
			began = time.Now()
			r.says(a, "hello")
			t.Logf("the second answer: %v", time.Since(began).Round(time.Millisecond))

			if got := r.says(a, "make the file"); !strings.Contains(got, "It is made.") {
				t.Errorf("with a command it answers %q", got)
			}
			if _, err := os.Stat(filepath.Join(r.work, "work", "made-by-the-agent")); err != nil {
				t.Errorf("the command did not run: %v", err)
			}
			if len(r.steps) == 0 || !strings.Contains(r.steps[0].Text, "touch made-by-the-agent") {
				t.Errorf("the gate was asked for %+v", r.steps)
			}
			t.Logf("the gate saw %+v", r.steps)

			stop := errors.New("enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := a.Prompt(ctx, r.turn("sleep long"))
				done <- err
			}()
			eventually.True(t, "its command runs", func() bool {
				_, err := os.Stat(filepath.Join(r.work, "work", "asleep"))
				return err == nil
			})
			began = time.Now()
			cancel(stop)
			if err := <-done; !errors.Is(err, stop) {
				t.Errorf("the interrupted turn ended with %v", err)
			}
			t.Logf("the interrupt took %v", time.Since(began).Round(time.Millisecond))
			r.ask = func(context.Context, tool.Call, tool.Step) error { return &tool.WithheldError{Text: "no"} }
			_ = os.Remove(filepath.Join(r.work, "work", "made-by-the-agent"))
			_, _ = a.Prompt(t.Context(), r.turn("make the file")) // some end their turn with a refusal
			if _, err := os.Stat(filepath.Join(r.work, "work", "made-by-the-agent")); err == nil {
				t.Error("a command ran that the gate refused")
			}
			began = time.Now()
			r.close(a)
			t.Logf("the close took %v", time.Since(began).Round(time.Millisecond))
			r.nothingRuns()

			r.ask = nil
			began = time.Now()
			if got := r.says(r.agent(), "hello"); !strings.HasSuffix(got, "Hello to you.") {
				t.Errorf("the next program answers %q", got)
			}
			t.Logf("from the start to the first answer of a resumed session: %v", time.Since(began).Round(time.Millisecond))
		})
	}
}
