package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/telegram"
	"gatewaytui/core/config"
	"gatewaytui/core/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// person answers questions in order. An answer "…" waits until ctx ends; after the last one the person leaves.
type person struct {
	answers []string
	screen  strings.Builder
	leave   context.CancelFunc
}

func (p *person) Say(line string)      { fmt.Fprintln(&p.screen, line) }
func (p *person) Prompt(prompt string) { p.screen.WriteString(prompt) }

func (p *person) Ask(ctx context.Context, prompt string) (string, error) {
	p.Prompt(prompt)
	if len(p.answers) == 0 {
		p.leave()
	}
	if len(p.answers) == 0 || p.answers[0] == "…" {
		p.answers = p.answers[min(1, len(p.answers)):]
		<-ctx.Done()
		return "", ctx.Err()
	}
	answer := p.answers[0]
	p.answers = p.answers[1:]
	if answer == "EOF" {
		return "", io.EOF
	}
	p.screen.WriteString("\n")
	return answer, nil
}

func (p *person) AskSecret(ctx context.Context, prompt string) (string, error) {
	return p.Ask(ctx, prompt)
}

// world is what the checks find.
type world struct {
	models         []string
	modelErr, box  error
	botErr, waits  error
	taken          string
	asked, knocked []string // models with keys, tokens
	examined       []string // platforms with their credentials
}

func (w *world) Examine(_ context.Context, a config.Adapters, name string, secrets map[string]config.Credential) ([]adapter.Finding, error) {
	b, known := a.Bot(name)
	said := name
	for _, place := range b.Secrets {
		said += " " + secrets[place.Key].Value
		if secrets[place.Key].Value == "wrong" {
			return nil, errors.New("the credential is refused")
		}
	}
	w.examined = append(w.examined, said)
	if !known || !b.Enabled {
		return nil, errors.New("the config does not enable " + name)
	}
	return []adapter.Finding{{Text: "it is the bot x\x1b[2J"}, {Text: "it may not read", Fix: "let it read"}}, nil
}

func (w *world) Models(context.Context, string, string) ([]string, error) {
	return w.models, w.modelErr
}

func (w *world) Ask(_ context.Context, m config.Model, key string) (string, time.Duration, error) {
	w.asked = append(w.asked, m.Name+" "+m.BaseURL+" "+key)
	if m.BaseURL == "http://wrong/v1" {
		return "", 0, errors.New("no answer from http://wrong/v1")
	}
	return "ready\x1b[2J", 1200 * time.Millisecond, nil
}

func (w *world) Bot(_ context.Context, _, token string) (string, error) {
	w.knocked = append(w.knocked, token)
	if token == "1:wrong" {
		return "", errors.New("the Bot API does not know this bot")
	}
	return "testbot", w.botErr
}

func (w *world) AwaitSender(ctx context.Context, _, _, text string) (telegram.Sender, error) {
	if w.waits != nil {
		<-ctx.Done()
		return telegram.Sender{}, ctx.Err()
	}
	if !strings.HasPrefix(text, "hello ") || len(text) != len("hello 1234") {
		return telegram.Sender{}, fmt.Errorf("the text is %q", text)
	}
	return telegram.Sender{ID: 4711, Name: "Alice"}, nil
}

func (w *world) Sandbox(context.Context) error { return w.box }

func (w *world) Listen(at string) error {
	if at == w.taken {
		return errors.New("in use")
	}
	return nil
}

// run is a setup with these answers in a folder.
func run(t *testing.T, dir string, w *world, env map[string]string, answers ...string) (Result, *person, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p := &person{answers: answers, leave: cancel}
	r, err := Run(ctx, Options{
		Home: filepath.Join(dir, "home"), Config: filepath.Join(dir, "etc", "config.toml"),
		Getenv: func(name string) string { return env[name] }, Talk: p, Checks: w,
	})
	return r, p, err
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "etc", name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

func has(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %q:\n%s", what, part, text)
		}
	}
}

func TestOP5_EnterAloneMakesAConfigThatAnswers(t *testing.T) {
	dir := t.TempDir()
	r, p, err := run(t, dir, &world{}, nil, "", "", "", "")
	if err != nil || !r.Changed || !r.Scripted || len(p.answers) > 0 {
		t.Fatalf("%+v %v\n%s", r, err, &p.screen)
	}
	loaded, err := config.Load(config.Options{Path: filepath.Join(dir, "etc", "config.toml")})
	if err != nil || loaded.Config.Model.Provider != config.Scripted {
		t.Errorf("%v %+v", err, loaded.Config.Model)
	}
	if r, _, err := run(t, dir, &world{}, nil, "", "", "", ""); err != nil || r.Changed {
		t.Errorf("the same answers change the config: %+v %v", r, err)
	}
	if left := read(t, dir, "config.toml.setup") + read(t, dir, "config.toml.old"); left != "" {
		t.Errorf("left behind: %q", left)
	}
}

func TestOP5_AKeyIsInAFileOfItsOwnAndNowhereElse(t *testing.T) {
	dir := t.TempDir()
	const key = "sk-canary-0123456789"
	w := &world{models: []string{"big", "small"}}
	_, p, err := run(t, dir, w, nil, "2", "http://127.0.0.1:1/v1/", key, "2", "", "", "2.50", "")
	if err != nil {
		t.Fatalf("%v\n%s", err, &p.screen)
	}
	if len(w.asked) != 1 || w.asked[0] != "small http://127.0.0.1:1/v1 "+key {
		t.Errorf("asked %q", w.asked)
	}
	text := read(t, dir, "config.toml")
	has(t, "the config", text, `provider = "openai"`, `base_url = "http://127.0.0.1:1/v1"`, `name = "small"`, `api_key_env = ""`, `per_day = 2.5`)
	has(t, "the screen", p.screen.String(), "big", "answered in 1.2s: ready")
	for name, text := range map[string]string{"config": text, "screen": p.screen.String()} {
		if strings.Contains(text, key) || strings.Contains(text, "\x1b") {
			t.Errorf("the %s shows a secret or a control sequence:\n%s", name, text)
		}
	}
	loaded, err := config.Load(config.Options{Path: filepath.Join(dir, "etc", "config.toml")})
	if err != nil || loaded.Config.Credentials(func(string) string { return "" }).Models["default"].Value != key {
		t.Errorf("the gateway does not find the key: %v", err)
	}
	for _, name := range []string{"config.toml", "model.key"} {
		if fi, err := os.Stat(filepath.Join(dir, "etc", name)); err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, fi.Mode(), err)
		}
	}
	// The second time enter keeps all of it.
	r, p, err := run(t, dir, w, nil, "", "", "", "", "", "", "", "")
	if err != nil || r.Changed {
		t.Errorf("%+v %v\n%s", r, err, &p.screen)
	}
}

func TestOP5_AVariableIsNamedAndNotCopied(t *testing.T) {
	dir := t.TempDir()
	w := &world{}
	r, p, err := run(t, dir, w, map[string]string{"MY_KEY": "secret-of-mine-12"}, "3", "$MY_KEY", "claude-x", "", "", "", "")
	if err != nil {
		t.Fatalf("%v\n%s", err, &p.screen)
	}
	text := read(t, dir, "config.toml")
	has(t, "the config", text, `provider = "anthropic"`, `api_key_env = "MY_KEY"`)
	if strings.Contains(text, "secret-of-mine") || len(r.Variables) != 1 || w.asked[0] != "claude-x  secret-of-mine-12" {
		t.Errorf("%v %q\n%s", r.Variables, w.asked, text)
	}
}

func TestOP5_AKeyOfOpenAIIsNotOfferedToAnotherEndpoint(t *testing.T) {
	dir := t.TempDir()
	w := &world{}
	env := map[string]string{"OPENAI_API_KEY": "key-of-openai-123"}
	if _, p, err := run(t, dir, w, env, "2", "http://127.0.0.1:1/v1", "", "m", "", "", "", ""); err != nil {
		t.Fatalf("%v\n%s", err, &p.screen)
	}
	has(t, "the config", read(t, dir, "config.toml"), `api_key_env = ""`)
	if w.asked[0] != "m http://127.0.0.1:1/v1 " {
		t.Errorf("asked %q", w.asked)
	}
}

func TestOP5_AWrongAddressIsAskedForAgain(t *testing.T) {
	dir := t.TempDir()
	w := &world{modelErr: &model.ListError{At: "http://wrong/v1", Status: 404}}
	_, p, err := run(t, dir, w, nil, "2", "localhost:11434", "http://wrong/v1", "k-0123456789", "m", "1", "http://right/v1", "", "", "", "", "", "")
	if err != nil {
		t.Fatalf("%v\n%s", err, &p.screen)
	}
	has(t, "the screen", p.screen.String(), "begins with http://", "HTTP 404", "the one that you typed", "no answer from http://wrong/v1")
	has(t, "the config", read(t, dir, "config.toml"), `base_url = "http://right/v1"`)
	if last := w.asked[len(w.asked)-1]; last != "m http://right/v1 k-0123456789" {
		t.Errorf("the key has to be typed again: %q", last)
	}
}

func TestOP5_AnEndpointThatCannotBeReachedIsKeptIfThePersonSaysSo(t *testing.T) {
	dir := t.TempDir()
	w := &world{modelErr: errors.New("no such host")}
	_, p, err := run(t, dir, w, nil, "2", "http://wrong/v1", "", "1", "http://wrong/v1", "", "2", "m", "2", "", "", "", "")
	if err != nil {
		t.Fatalf("%v\n%s", err, &p.screen)
	}
	has(t, "the config", read(t, dir, "config.toml"), `base_url = "http://wrong/v1"`, `name = "m"`)
}

func TestOP5_TheOwnerOfABotIsWhoWritesTheNumber(t *testing.T) {
	dir := t.TempDir()
	w := &world{}
	r, p, err := run(t, dir, w, nil, "", "2", "1:wrong", "1", "1:right-token-0123", "…", "", "")
	if err != nil || r.Bot != "testbot" {
		t.Fatalf("%+v %v\n%s", r, err, &p.screen)
	}
	has(t, "the config", read(t, dir, "config.toml"), "enabled = true", "allow = [4711]", `home = "4711"`, `owners = ["telegram:4711"]`, `token_env = ""`, "telegram.token\"")
	has(t, "the screen", p.screen.String(), "does not know this bot", "@testbot", "Alice (id 4711)")
	if read(t, dir, "telegram.token") != "1:right-token-0123\n" || len(w.knocked) != 2 {
		t.Errorf("%q", w.knocked)
	}
	// The second time the owner is known.
	if r, p, err := run(t, dir, w, nil, "", "", "", "", ""); err != nil || r.Changed {
		t.Errorf("%+v %v\n%s", r, err, &p.screen)
	}
}

func TestOP5_AnOwnerCanBeTyped(t *testing.T) {
	dir := t.TempDir()
	_, p, err := run(t, dir, &world{waits: errors.New("no message comes")}, nil, "", "2", "1:right-token-0123", "me", "4712", "", "")
	if err != nil {
		t.Fatalf("%v\n%s", err, &p.screen)
	}
	has(t, "the config", read(t, dir, "config.toml"), `owners = ["telegram:4712"]`)
}

func TestOP5_AnInterruptionAtEachQuestionWritesNothingAndTheNextRunGoesOn(t *testing.T) {
	const before = "# mine\n[model] # m\nprovider = \"scripted\"\n\n[log]\nlevel = \"warn\" # quiet\n"
	const key, token = "sk-canary-0123456789", "1:token-0123456789"
	answers := []string{"2", "http://127.0.0.1:1/v1", key, "m", "2", token, "4711", "2", "3", "y"}
	w := &world{waits: errors.New("no message comes")}
	for n := range answers {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "etc"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "etc", "config.toml"), []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		_, p, err := run(t, dir, w, nil, answers[:n]...)
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("after %d answers: %v\n%s", n, err, &p.screen)
		}
		if got := read(t, dir, "config.toml"); got != before {
			t.Fatalf("after %d answers the config is\n%s", n, got)
		}
		draft := read(t, dir, "config.toml.setup")
		if all := draft + read(t, dir, "model.key") + read(t, dir, "telegram.token") + p.screen.String(); strings.Contains(all, key) || strings.Contains(all, token) {
			t.Errorf("after %d answers a secret is written or shown:\n%s", n, all)
		}
		if (n > 0) != (draft != "") {
			t.Errorf("after %d answers the draft is %q", n, draft)
		}
		next := slices.Clone(answers)
		if n > 6 {
			next = slices.Delete(next, 6, 7) // the draft has the owner, who is not asked for again
		}
		_, p, err = run(t, dir, w, nil, next...)
		if err != nil {
			t.Fatalf("the run after %d answers: %v\n%s", n, err, &p.screen)
		}
		has(t, "the config", read(t, dir, "config.toml"), "# mine\n[model] # m\nprovider = \"openai\"", "level = \"warn\" # quiet", `owners = ["telegram:4711"]`, `environment = "local"`, "per_day = 3.0")
		if read(t, dir, "config.toml.old") != before || read(t, dir, "config.toml.setup") != "" {
			t.Errorf("the file before is %q, the draft %q", read(t, dir, "config.toml.old"), read(t, dir, "config.toml.setup"))
		}
	}
}

func TestOP5_AKeyThatWasTypedBeforeAnInterruptionIsNotNamedWithoutIt(t *testing.T) {
	dir := t.TempDir()
	_, _, _ = run(t, dir, &world{}, nil, "2", "http://127.0.0.1:1/v1", "k-0123456789", "m")
	if _, p, err := run(t, dir, &world{}, nil, "", "", "", "", "", "", "", ""); err != nil {
		t.Fatalf("%v\n%s", err, &p.screen)
	}
	if text := read(t, dir, "config.toml"); strings.Contains(text, "model.key") {
		t.Errorf("it names a file that does not exist:\n%s", text)
	}
}

func TestOP5_NoWritesNothing(t *testing.T) {
	for _, answer := range []string{"n", "EOF"} {
		dir := t.TempDir()
		_, p, err := run(t, dir, &world{}, nil, "", "", "3", answer)
		if err == nil || read(t, dir, "config.toml") != "" {
			t.Errorf("%v\n%s", err, &p.screen)
		}
	}
}

func TestOP5_APortThatIsTakenIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	if _, p, err := run(t, dir, &world{taken: "127.0.0.1:8642", box: errors.New("bubblewrap is not installed")}, nil, "", "", "3", ""); err != nil {
		t.Fatalf("%v\n%s", err, &p.screen)
	}
	has(t, "the config", read(t, dir, "config.toml"), `listen = "127.0.0.1:8643"`, `enabled = ["delegate", "files", "send_file", "web", "memory", "ask_user", "jobs"]`)
}

func TestOP5_AConfigThatIsWrongIsNotTouched(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "etc"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "etc", "config.toml"), []byte("[model]\nprovder = \"x\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := run(t, dir, &world{}, nil)
	if _, is := errors.AsType[*config.Error](err); !is {
		t.Errorf("it returned %v", err)
	}
}
