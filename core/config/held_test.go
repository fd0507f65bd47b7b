package config

import (
	"slices"
	"strings"
	"testing"
)

func TestHeldResourcesAreConfigured(t *testing.T) {
	l, err := load(t, `
[servers.files]
command = ["mcp-server-filesystem", "."]
[servers.remote]
url = "https://tools.example/mcp"
headers_env = { Authorization = "REMOTE_AUTH", "X-Team" = "REMOTE_TEAM" }
[servers.dotted]
url = "https://tools.example/mcp"
headers_env.Authorization = "DOTTED_AUTH"
[agent]
servers = ["files", "remote"]
[agents.coder]
kind = "acp"
command = ["opencode", "acp"]
[jobs.morning]
schedule = "0 8 * * mon-fri"
zone = "Europe/Vienna"
prompt = "What is on today?"
deliver = "telegram:dm:4711"
[hooks.notify]
on = ["job.ended"]
command = ["notify-send", "job ended"]
[adapters.webhook]
enabled = true
[adapters.webhook.routes.deploy]
secret_env = "DEPLOY_SECRET"
prompt = "A deployment ended: {{.body}}"
`)
	if err != nil {
		t.Fatal(err)
	}
	c := l.Config
	if got := c.Servers["remote"].HeadersEnv; len(got) != 2 || got["X-Team"] != "REMOTE_TEAM" {
		t.Errorf("the headers are %v", got)
	}
	if got := c.Servers["dotted"].HeadersEnv["Authorization"]; got != "DOTTED_AUTH" {
		t.Errorf("the header with a dotted key is %q", got)
	}
	if r := c.Adapters.Webhook.Routes["deploy"]; r == nil || r.SecretEnv != "DEPLOY_SECRET" {
		t.Errorf("the route is %+v", r)
	}
	if got := strings.Join(c.SecretVariables(), " "); !strings.Contains(got, "DEPLOY_SECRET") || !strings.Contains(got, "REMOTE_AUTH") {
		t.Errorf("children may see secrets: only %s are kept from them", got)
	}
}

func TestAHeldResourceThatIsWrongIsRefusedWithItsKey(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"a server without a program", "[servers.a]\nscope = \"session\"\n", "servers.a.command must be set"},
		{"a server with a program and an address", "[servers.a]\ncommand = [\"x\"]\nurl = \"http://x\"\n", "servers.a.command and url are both set"},
		{"a secret where a variable belongs", "[servers.a]\nurl = \"http://x\"\nheaders_env = { Authorization = \"Bearer abc\" }\n", "servers.a.headers_env must hold the names of environment variables"},
		{"a number among the headers", "[servers.a]\nurl = \"http://x\"\nheaders_env = { A = 1 }\n", "a table of texts"},
		{"an agent with an unknown server", "[agent]\nservers = [\"files\"]\n", "names the server \"files\", which is not configured; there is none"},
		{"an external agent without a program", "[agents.a]\nkind = \"acp\"\n", "agents.a.command must be set"},
		{"an external agent with fewer turns than none", "[agents.a]\nkind = \"acp\"\ncommand = [\"x\"]\nturns_per_day = -1\n", "agents.a.turns_per_day must be 0 or more"},
		{"an external agent without time", "[agents.a]\nkind = \"acp\"\ncommand = [\"x\"]\nturn_timeout = \"0s\"\n", "agents.a.turn_timeout must be over 0"},
		{"a program without the kind", "[agents.a]\ncommand = [\"x\"]\n", "agents.a.command is for the kind \"acp\" alone"},
		{"a job of an unknown agent", "[jobs.a]\nschedule = \"every 1h\"\nprompt = \"x\"\nagent = \"b\"\n", "jobs.a.agent names the agent \"b\""},
		{"a job with a schedule that cannot be read", "[jobs.a]\nschedule = \"every morning\"\nprompt = \"x\"\n", "jobs.a.schedule cannot be read"},
		{"a job that counts from now", "[jobs.a]\nschedule = \"in 20m\"\nprompt = \"x\"\n", "jobs.a.schedule cannot be read"},
		{"a job that may run any command", "[jobs.a]\nschedule = \"every 1h\"\nprompt = \"x\"\nallow = [\"bash\"]\n", "jobs.a.allow"},
		{"a job in an unknown zone", "[jobs.a]\nschedule = \"every 1h\"\nprompt = \"x\"\nzone = \"Mars/Base\"\n", "jobs.a.zone must be a time zone"},
		{"a hook that does nothing", "[hooks.a]\non = [\"job.ended\"]\n", "hooks.a.command must be set"},
		{"a hook on an event that does not exist", "[hooks.a]\non = [\"job.endet\"]\ncommand = [\"x\"]\n", "hooks.a.on has \"job.endet\", which names no event; did you mean job.ended?"},
		{"a route of an unknown scheme", "[adapters.webhook.routes.a]\nsecret_env = \"A\"\nprompt = \"x\"\nscheme = \"md5\"\n", "adapters.webhook.routes.a.scheme must be gateway, github"},
		{"a route of Twilio without its address", "[adapters.webhook.routes.a]\nsecret_env = \"A\"\nprompt = \"x\"\nscheme = \"twilio\"\n", "adapters.webhook.routes.a.address must be set"},
		{"a prompt with code", "[adapters.webhook.routes.a]\nsecret_env = \"A\"\nprompt = \"{{range .body}}\"\n", "adapters.webhook.routes.a.prompt has \"{{range .body}}\""},
		{"a route without a rate", "[adapters.webhook.routes.a]\nsecret_env = \"A\"\nprompt = \"x\"\nper_minute = 0\n", "adapters.webhook.routes.a.per_minute must be from 1"},
		{"a webhook without a route", "[adapters.webhook]\nenabled = true\n", "adapters.webhook.enabled needs a route"},
		{"a route without a secret", "[adapters.webhook.routes.a]\nprompt = \"x\"\n", "adapters.webhook.routes.a.secret_env must name"},
		{"an unknown key of a route", "[adapters.webhook.routes.a]\nsecret = \"x\"\n", "unknown key adapters.webhook.routes.a.secret"},
		{"a route that is a value", "[adapters.webhook.routes]\na = 1\n", "adapters.webhook.routes.a"},
		{"a memory of an unknown server", "[memory]\nprovider = \"mem\"\n", "memory.provider must be"},
		{"a search without a place for the words", "[web]\nsearch_url = \"http://x/search\"\n", "web.search_url must have {query}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := load(t, tt.text)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v, and %q is promised", err, tt.want)
			}
		})
	}
}

func TestHR7_AnExternalAgentRunsWhereItsLoginIsAndReadsNoKeysOfModels(t *testing.T) {
	l, err := load(t, `
[agents.coder]
kind = "acp"
command = ["opencode", "acp"]
[agents.boxed]
kind = "acp"
command = ["opencode", "acp"]
environment = "auto"
prompt = "You write Go."
models = ["default"]
`)
	if err != nil {
		t.Fatal(err)
	}
	if got := l.Config.Agents["coder"].Environment; got != EnvironmentLocal {
		t.Errorf("without the key its environment is %q", got)
	}
	if got := l.Config.Agents["boxed"].Environment; got != EnvironmentAuto {
		t.Errorf("with the key its environment is %q", got)
	}
	var said []string
	for _, w := range l.Warnings {
		if w.Code == WarnExternalKeys {
			said = append(said, w.Message)
		}
	}
	if len(said) != 1 || !strings.Contains(said[0], "agents.boxed") || !strings.Contains(said[0], "models and prompt") {
		t.Errorf("the warnings are %q", said)
	}
}

func TestHF23_TheSecretsOfToolServersAreKnown(t *testing.T) {
	l, err := load(t, `
[servers.remote]
url = "https://tools.example/mcp"
headers_env = { Authorization = "REMOTE_AUTH", "X-Team" = "REMOTE_TEAM" }
[servers.local]
command = ["tools"]
env = ["TOOLS_TOKEN", "TOOLS_COLOUR"]
`)
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"REMOTE_AUTH": "Bearer the-words-alone", "REMOTE_TEAM": "the-team", "TOOLS_TOKEN": "tiny", "TOOLS_COLOUR": "always-blue"}
	secrets := l.Config.Credentials(func(name string) string { return env[name] })
	values := secrets.Values()
	for value, known := range map[string]bool{"Bearer the-words-alone": true, "the-words-alone": true, "the-team": true, "tiny": true, "always-blue": false} {
		if slices.Contains(values, value) != known {
			t.Errorf("%q is known: %v, want %v", value, !known, known)
		}
	}
	if short := secrets.Short(); !slices.Equal(short, []string{"TOOLS_TOKEN"}) {
		t.Errorf("too short to be masked are %q", short)
	}
}
