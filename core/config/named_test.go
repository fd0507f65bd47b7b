package config

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const namedExample = `
[model]
provider = "openai"
base_url = "http://127.0.0.1:1/v1"
name = "first"

[models.second]
provider = "openai"
base_url = "http://127.0.0.1:2/v1"
name = "other"
api_key_env = "SECOND_KEY"

[agent]
prompt = "Be brief.\nToday is {{date}}."

[agents.coder]
models = ["second", "default"]
tools = ["terminal"]

[[routes]]
match = "telegram:dm:*"
agent = "coder"
chat = { progress = "full", stream = "edit", busy = "interrupt", join = "0", mention = "never", sessions = "shared" }

[[routes]]
match = "api:user:?"
`

func TestCV3_ModelsAgentsAndRoutesHaveNamesOfTheOperatorsChoice(t *testing.T) {
	l, err := load(t, namedExample)
	if err != nil {
		t.Fatal(err)
	}
	c := l.Config
	models, agents := c.ModelsByName(), c.AgentsByName()
	if got := Names(models); !slices.Equal(got, []string{"default", "second"}) {
		t.Errorf("models %q", got)
	}
	if m := models["second"]; m.Name != "other" || m.APIKeyEnv != "SECOND_KEY" || m.Timeout != Default().Model.Timeout {
		t.Errorf("the second model is %+v", m)
	}
	if d := agents["default"]; d.Text != "Be brief.\nToday is {{date}}." || !slices.Equal(d.Models, []string{"default"}) || !slices.Equal(c.Callable(d), c.Tools.Enabled) {
		t.Errorf("the agent default is %+v", d)
	}
	if d := agents["coder"]; !slices.Equal(d.Models, []string{"second", "default"}) || !slices.Equal(c.Callable(d), []string{"terminal"}) || d.Text != "" {
		t.Errorf("the agent coder is %+v", d)
	}
	coder := Chat{Progress: ProgressFull, Stream: StreamEdit, Busy: BusyInterrupt, Mention: MentionNever, Sessions: SessionsShared}
	if r := c.Routes; len(r) != 2 || *r[0] != (Route{Match: "telegram:dm:*", Agent: "coder", Chat: coder}) || *r[1] != (Route{Match: "api:user:?", Agent: "default", Chat: defaultChat}) {
		t.Errorf("the routes are %+v", r)
	}
	if got := c.SecretVariables(); !slices.Contains(got, "SECOND_KEY") {
		t.Errorf("the variables of secrets are %q", got)
	}
	env := map[string]string{"SECOND_KEY": "key-of-the-second", "OPENAI_API_KEY": "key-of-the-first"}
	secrets := c.Credentials(func(name string) string { return env[name] })
	for _, value := range env {
		if !slices.Contains(secrets.Values(), value) {
			t.Errorf("the secret %q is not masked", value)
		}
	}
	values := map[string]string{}
	for _, v := range l.Values() {
		values[v.Key] = v.Value + " " + v.Origin.String()
	}
	for k, want := range map[string]string{
		"models.second.name":    `"other" ` + l.Source + ":10",
		"agents.coder.tools":    `["terminal"] ` + l.Source + ":18",
		"routes[1].agent":       `"coder" ` + l.Source + ":22",
		"routes[2].agent":       `"default" default`,
		"models.second.timeout": `"10m" default`,
	} {
		if values[k] != want {
			t.Errorf("%s is %s, want %s", k, values[k], want)
		}
	}
}

func TestCV3_TheTablesNamedDefaultAreModelAndAgent(t *testing.T) {
	want, err := load(t, "[model]\nprovider = \"openai\"\nbase_url = \"http://h/v1\"\nname = \"m\"\n[agent]\ncache_size = 7\nprompt = \"Be kind.\"\n")
	if err != nil {
		t.Fatal(err)
	}
	got, err := load(t, "[models.default]\nprovider = \"openai\"\nbase_url = \"http://h/v1\"\nname = \"m\"\n[agent]\ncache_size = 7\n[agents.default]\nprompt = \"Be kind.\"\n")
	if err != nil {
		t.Fatal(err)
	}
	if !maps.EqualFunc(want.Config.ModelsByName(), got.Config.ModelsByName(), func(a, b Model) bool { return a == b }) {
		t.Errorf("models %+v, want %+v", got.Config.ModelsByName(), want.Config.ModelsByName())
	}
	if d, w := got.Config.AgentsByName()["default"], want.Config.AgentsByName()["default"]; d.Text != w.Text || got.Config.Agent.CacheSize != 7 {
		t.Errorf("the agent default is %+v, want %+v", d, w)
	}
	for _, v := range got.Values() {
		if v.Key == "model.name" && (v.Value != `"m"` || v.Origin.Line != 4) {
			t.Errorf("model.name is %s from %s", v.Value, v.Origin)
		}
	}
}

func TestCV3_WhatIsWrongWithANamedTableIsSaidWithItsLine(t *testing.T) {
	const real = "provider = \"openai\"\nbase_url = \"http://h/v1\"\nname = \"m\"\n"
	for _, c := range []struct {
		name, text   string
		line         int
		key, nearest string
		says         string
	}{
		{"an unknown key", "[models.a]\nbase_ulr = \"x\"\n", 2, "models.a.base_ulr", "models.a.base_url", "unknown key"},
		{"an unknown key of a route", "[[routes]]\nmatch = \"a:*\"\n[[routes]]\nmatch = \"b:*\"\nagnet = \"default\"\n", 5, "routes[2].agnet", "routes[2].agent", "unknown key"},
		{"a key of an inline route", "routes = [{match = \"a:*\"}, {match = \"b:*\", agnet = \"x\"}]\n", 1, "routes[2].agnet", "routes[2].agent", "unknown key"},
		{"an unknown table", "[modls.a]\n", 1, "modls.a", "models.a", "unknown table"},
		{"a table in a table", "[models.a.b]\nc = 1\n", 1, "models.a.b", "", "unknown key"},
		{"a table below a value", "[models.a.name.x]\n", 1, "models.a.name", "", "not a table"},
		{"a value for a model", "[models]\na = 1\n", 2, "models.a", "", "a table, written [models.NAME], not 1"},
		{"a value for all models", "models = 1\n", 1, "models", "", "a table, written [models.NAME]"},
		{"a table for the routes", "[routes]\nmatch = \"a:*\"\n", 1, "routes", "", "a list of tables, written [[routes]]"},
		{"a table with the name of a place", "[routes.\"[999999999]\"]\nmatch = \"a:*\"\n", 1, "routes", "", "a list of tables"},
		{"texts for the routes", "routes = [\"a:*\"]\n", 1, "routes", "", "a list of tables"},
		{"an unknown table below a route", "[[routes]]\nmatch = \"a:*\"\n[routes.room]\nbusy = \"queue\"\n", 3, "routes[1].room", "", "unknown key"},
		{"an unknown key of a chat", "[[routes]]\nmatch = \"a:*\"\n[routes.chat]\nprogres = \"full\"\n", 4, "routes[1].chat.progres", "routes[1].chat.progress", "unknown key"},
		{"a chat that is not a table", "[[routes]]\nmatch = \"a:*\"\nchat = \"full\"\n", 3, "routes[1].chat", "", "a table"},
		{"CV11: an unknown mode of a message during a turn", "[[routes]]\nmatch = \"a:*\"\nchat = { busy = \"wait\" }\n", 3, "routes[1].chat.busy", "", "queue, steer or interrupt"},
		{"CV11: a wait for more of a message that is too long", "[[routes]]\nmatch = \"a:*\"\nchat = { join = \"11s\" }\n", 3, "routes[1].chat.join", "", "from 0 to 10s"},
		{"CV6: an unknown progress", "[[routes]]\nmatch = \"a:*\"\nchat = { progress = \"long\" }\n", 3, "routes[1].chat.progress", "", "off, short or full"},
		{"CV10: an unknown rule of a group", "[[routes]]\nmatch = \"a:*\"\nchat = { mention = \"often\" }\n", 3, "routes[1].chat.mention", "", "required, always or never"},
		{"CV10: an unknown owner of a conversation", "[[routes]]\nmatch = \"a:*\"\nchat = { sessions = \"mine\" }\n", 3, "routes[1].chat.sessions", "", "auto, shared or per_user"},
		{"a wrong type", "[agents.a]\nmodels = \"default\"\n", 2, "agents.a.models", "", "a list of texts"},
		{"a name with a space", "[models.\"a b\"]\n", 1, `models."a b"`, "", "letters, digits"},
		{"an agent named any", "[agents.any]\n", 1, "agents.any", "", `"any" means the agent default`},
		{"an unknown provider", "[models.a]\nprovider = \"gpt\"\n", 2, "models.a.provider", "", `must be "openai"`},
		{"a prompt that fills the window", "[models.a]\n" + real + "context_window = 1000\n[agents.b]\nmodels = [\"a\"]\nprompt = \"" + strings.Repeat("word ", 500) + "\"\n", 8, "agents.b.prompt", "", "more than half of the context_window"},
		{"a window below zero", "[models.a]\ncontext_window = -1\n", 2, "models.a.context_window", "", "must be from 0"},
		{"an answer as long as the window", "[models.a]\nmax_output = 9\ncontext_window = 9\n", 2, "models.a.max_output", "", "less than context_window"},
		{"an unknown effort", "[models.a]\nreasoning = \"max\"\n", 2, "models.a.reasoning", "", `"low", "medium", "high"`},
		{"a text for a price", "[models.a]\nprice_in = \"3\"\n", 2, "models.a.price_in", "", `a number, not "3"`},
		{"a price that is not a number", "[models.a]\nprice_in = nan\n", 2, "models.a.price_in", "", "a number, not NaN"},
		{"a price below zero", "[models.a]\nprice_out = -0.5\n", 2, "models.a.price_out", "", "must be from 0"},
		{"a model named auto", "[models.auto]\n", 1, "models.auto", "", `"/model auto" means`},
		{"an endpoint without an address", "[models.a]\nprovider = \"openai\"\nname = \"m\"\n", 2, "models.a.base_url", "", "must be set"},
		{"a secret for the name of its variable", "[models.a]\napi_key_env = \"sk:c4nary\"\n", 2, "models.a.api_key_env", "", "name of an environment variable"},
		{"model and models.default", "[model]\n" + real + "[models.default]\n" + real, 5, "models.default", "", "model (line 1) are the same"},
		{"an empty model and models.default", "[model]\n[models.default]\n" + real, 2, "models.default", "", "(line 1) are the same"},
		{"a key in agent and in agents.default", "[agent]\nprompt = \"a\"\n[agents.default]\nprompt = \"b\"\n", 4, "agents.default.prompt", "", "agent.prompt (line 2) are the same"},
		{"a wrong value in models.default", "[models.default]\ntimeout = \"0s\"\n", 2, "models.default.timeout", "", "over 0"},
		{"an unknown model", "[agents.a]\nmodels = [\"main\"]\n", 2, "agents.a.models", "", `names the model "main", which is not configured; there is default`},
		{"an unknown model of the agent default", "[agent]\nmodels = [\"main\"]\n[models.b]\n", 2, "agent.models", "", `there is b`},
		{"no model", "[agents.a]\nmodels = []\n", 2, "agents.a.models", "", "at least one"},
		{"a model named twice", "[agents.a]\nmodels = [\"default\", \"default\"]\n", 2, "agents.a.models", "", "twice"},
		{"an unknown agent", "[[routes]]\nmatch = \"a:*\"\nagent = \"coder\"\n", 3, "routes[1].agent", "", `names the agent "coder", which is not configured`},
		{"a route without a match", "[[routes]]\nagent = \"default\"\n", 1, "routes[1].match", "", "must be set"},
		{"a match with brackets", "[[routes]]\nmatch = \"a:[bc]\"\n", 2, "routes[1].match", "", "only * and ?"},
		{"a match that no key has", "[[routes]]\nmatch = \"telegram\"\n", 2, "routes[1].match", "", "telegram:*"},
		{"an unknown tool", "[agents.a]\ntools = [\"browser\"]\n", 2, "agents.a.tools", "", "terminal, process, delegate, files, send_file, web, memory, ask_user and jobs"},
		{"two prompts", "[agents.a]\nprompt = \"x\"\nprompt_file = \"y\"\n", 3, "agents.a.prompt_file", "", "both set"},
		{"a prompt file that is not there", "[agents.a]\nprompt_file = \"nowhere.md\"\n", 2, "agents.a.prompt_file", "", "cannot be read: no such file"},
		{"an unknown variable", "[agents.a]\nprompt = \"It is {{dat}}.\"\n", 2, "agents.a.prompt", "", "did you mean date?"},
		{"a control character in a prompt", "[agents.a]\nprompt = \"\\u001b[31m\"\n", 2, "agents.a.prompt", "", "control characters"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(t, c.text)
			e := refusal(t, err)
			if e.Line != c.line || e.Key != c.key || c.nearest != "" && e.Nearest != c.nearest || !strings.Contains(e.Error(), c.says) || strings.Contains(e.Error(), "c4nary") {
				t.Errorf("%v: blames %q in line %d, nearest %q; want %q in line %d, nearest %q, with %q", e, e.Key, e.Line, e.Nearest, c.key, c.line, c.nearest, c.says)
			}
		})
	}
}

func TestCV3_APromptFileIsReadFromTheFolderOfTheConfig(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "config.toml")
	for name, text := range map[string]string{"config.toml": "[agents.a]\nprompt_file = \"a.md\"\n", "a.md": "You are a pirate.\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := Load(Options{Path: config, Environ: []string{"A=b"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := l.Config.Agents["a"].Text; got != "You are a pirate." {
		t.Errorf("the prompt is %q", got)
	}
}

func TestCV3_ToolsEnabledBoundsEveryAgentWhereItIsSet(t *testing.T) {
	l, err := load(t, "[tools]\nenabled = [\"terminal\"]\n[agents.a]\ntools = [\"terminal\", \"process\"]\n[agents.b]\n")
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range l.Config.AgentsByName() {
		if got := l.Config.Callable(d); !slices.Equal(got, []string{"terminal"}) {
			t.Errorf("the agent %s can call %q", name, got)
		}
	}
	if len(l.Warnings) != 1 || l.Warnings[0].Code != WarnToolsBounded || !strings.Contains(l.Warnings[0].Message, "agents.a.tools names process") {
		t.Errorf("warnings %v", l.Warnings)
	}
}

func TestCV5_AModelThatNoAgentNamesIsToldOfWhileTheScriptedOneAnswers(t *testing.T) {
	l, err := load(t, "[models.main]\nprovider = \"openai\"\nbase_url = \"http://h/v1\"\nname = \"m\"\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Warnings) != 1 || l.Warnings[0].Code != WarnScripted || !strings.Contains(l.Warnings[0].Message, "main") {
		t.Errorf("warnings %v", l.Warnings)
	}
}

func TestCV3_TheExampleShowsTheNamedTablesAsComments(t *testing.T) {
	for _, s := range sections {
		if s.family == nil {
			continue
		}
		if !strings.Contains(Example(), "\n# "+s.family.written()+"\n") {
			t.Errorf("the example does not show %s", s.family.written())
		}
		for _, k := range s.family.keys {
			if k.doc == "" || !strings.Contains(Example(), "# # "+k.doc+"\n# "+k.name+" = ") {
				t.Errorf("the example does not explain %s of %s", k.name, s.family.written())
			}
		}
	}
}

// CV4.
func TestCV4_ThePartsOfAContextFitTogether(t *testing.T) {
	for name, c := range map[string]struct{ text, key, says string }{
		"an unknown summariser":         {"[context]\nmodel = \"big\"\n", "context.model", "not configured"},
		"a part above the whole":        {"[context]\nprune_at = 1.5\n", "context.prune_at", "from 0.05 to 1"},
		"pruning after compacting":      {"[context]\nprune_at = 0.9\n", "context.prune_at", "context.compact_at"},
		"compacting to where it began":  {"[context]\ncompact_to = 0.7\n", "context.compact_to", "less than context.compact_at"},
		"keeping more than there is to": {"[context]\nkeep = 0.35\n", "context.keep", "three quarters"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, c.text)
			if e := refusal(t, err); e.Key != c.key || !strings.Contains(e.Error(), c.says) {
				t.Errorf("%v: blames %q", e, e.Key)
			}
		})
	}
}

func TestCV10_TheMentionOfARouteCountsBeforeThatOfThePlatform(t *testing.T) {
	c := Default()
	c.Adapters.Telegram.Mention = MentionAlways
	c.Routes = []*Route{
		{Match: "telegram:group:-1:*", Agent: "default", Chat: Chat{Mention: MentionNever, Sessions: SessionsShared}},
		{Match: "discord:*", Agent: "default", Chat: Chat{Sessions: SessionsAuto}},
	}
	for key, want := range map[string]string{
		"telegram:group:-1:user:7": "never shared", "telegram:group:-1": "never shared", "telegram:group:-2:user:7": "always auto",
		"discord:guild:1:channel:2:user:3": "required auto", "slack:group:1": "required auto",
	} {
		if chat := c.ChatOf(key, "member"); chat.Mention+" "+chat.Sessions != want {
			t.Errorf("%s has %s %s, want %s", key, chat.Mention, chat.Sessions, want)
		}
	}
}
