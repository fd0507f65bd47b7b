package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTheEnvironmentWins(t *testing.T) {
	const file = "[shutdown]\nadapter_timeout = \"9s\"\nnotify_users = true\n"
	l, err := load(t, file,
		"GATEWAYTUI_SHUTDOWN_ADAPTER_TIMEOUT=2s", "GATEWAYTUI_SHUTDOWN_ADAPTER_TIMEOUT=3s", "GATEWAYTUI_SHUTDOWN_NOTIFY_USERS=0",
		"GATEWAYTUI_AGENT_CACHE_MEMORY=1MiB", "GATEWAYTUI_SESSION_QUEUE_LIMIT=7", "GATEWAYTUI_TOOLS_ENABLED=terminal, process",
		"GATEWAYTUI_ADAPTERS_TELEGRAM_ALLOW=4711,12", "GATEWAYTUI_LOG_LEVEL=debug", "GATEWAYTUI_MODEL_API_KEY_ENV=")
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Shutdown.AdapterTimeout = Duration{2 * time.Second}
	want.Shutdown.NotifyUsers = false
	want.Agent.CacheMemory = 1 << 20
	want.Session.QueueLimit = 7
	want.Tools.Enabled = []string{"terminal", "process"}
	want.Adapters.Telegram.Allow = []int64{4711, 12}
	want.Log.Level = "debug"
	want.Model.APIKeyEnv = ""
	if diff := cmp.Diff(want, l.Config); diff != "" {
		t.Errorf("not as the environment says (-want +got):\n%s", diff)
	}
	if len(l.Warnings) > 0 {
		t.Errorf("warnings %v, want none", l.Warnings)
	}
}

func TestEveryKeyHasOneVariable(t *testing.T) {
	seen := map[string]string{}
	for _, name := range reserved {
		seen[name] = "a reserved variable"
	}
	c := Default()
	for _, k := range keys {
		if other, taken := seen[k.env]; taken {
			t.Errorf("%s and %s are both set by %s", k.name, other, k.env)
		}
		seen[k.env] = k.name
		text := strings.Trim(strings.ReplaceAll(literal(k.field(&c)), `"`, ""), "[]")
		got := Default()
		if want := assign(k.field(&got), fromText(k.field(&got), text)); want != "" || !cmp.Equal(got, c) {
			t.Errorf("%s=%s: %q, want the default", k.env, text, want)
		}
	}
}

func TestABadVariableIsNamed(t *testing.T) {
	for _, c := range []struct{ name, environ, says string }{
		{"a bad duration", "GATEWAYTUI_SHUTDOWN_ADAPTER_TIMEOUT=soon", "shutdown.adapter_timeout must be a duration such as 90s, not"},
		{"an empty duration", "GATEWAYTUI_SHUTDOWN_ADAPTER_TIMEOUT=", "must be a duration"},
		{"a bad list", "GATEWAYTUI_ADAPTERS_TELEGRAM_ALLOW=alice", "a list of whole numbers such as 4711,4712"},
		{"a bad switch", "GATEWAYTUI_PROCESS_GUARDIAN=maybe", "true or false"},
		{"a value out of bounds", "GATEWAYTUI_SESSION_QUEUE_LIMIT=0", "at least 1"},
		{"a secret in the wrong place", "GATEWAYTUI_MODEL_API_KEY_ENV=sk-c4nary", "name of an environment variable"},
		{"a control character", "GATEWAYTUI_MODEL_SCRIPT=a\x1b[31m", "control characters"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(t, "", c.environ)
			e := refusal(t, err)
			variable, _, _ := strings.Cut(c.environ, "=")
			if e.Variable != variable || !strings.HasPrefix(e.Error(), variable+": ") || !strings.Contains(e.Error(), c.says) {
				t.Errorf("%q, want it to begin with %s and to say %q", e, variable, c.says)
			}
			if strings.Contains(e.Error(), "c4nary") {
				t.Errorf("%q repeats a secret", e)
			}
		})
	}
}

func TestAnUnknownVariableIsAWarning(t *testing.T) {
	l, err := load(t, "", "GATEWAYTUI_SHUTDOWN_ADAPTER_TIMOUT=c4nary", "GATEWAYTUI_HOM\x1b[31m=x", "GATEWAYTUI_HOME=/h", "GATEWAYTUI_CONFIG=",
		"GATEWAYTUI_STOP_BUDGET=90", "GATEWAYTUI_LIFE=l", "GATEWAYTUI_SESSION=s", "GATEWAYTUI_HOME_ID=i", "OTHER=x")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range l.Warnings {
		if w.Code != WarnUnknownVariable || w.Since.IsZero() {
			t.Errorf("warning %+v, want the code %s and a time", w, WarnUnknownVariable)
		}
		got = append(got, w.Message)
	}
	want := []string{
		"unknown environment variable GATEWAYTUI_HOM␛[31m; did you mean GATEWAYTUI_HOME?",
		"unknown environment variable GATEWAYTUI_SHUTDOWN_ADAPTER_TIMOUT; did you mean GATEWAYTUI_SHUTDOWN_ADAPTER_TIMEOUT?",
	}
	if !slices.Equal(got, want) {
		t.Errorf("warnings\n%q, want\n%q", got, want)
	}
}

func TestABotThatAnswersNoUserIsAWarning(t *testing.T) {
	for _, c := range []struct {
		text string
		want bool
	}{
		{"enabled = true", true},
		{"enabled = true\nallow = [1]", false},
		{"enabled = true\nallow_all = true", false},
		{"enabled = false", false},
	} {
		l, err := load(t, "[adapters.telegram]\n"+c.text)
		if err != nil {
			t.Fatal(err)
		}
		if warned := len(l.Warnings) == 1 && l.Warnings[0].Code == WarnNobodyAllowed; warned != c.want {
			t.Errorf("%q: warnings %v, want one: %v", c.text, l.Warnings, c.want)
		}
	}
}

func TestSecret(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	getenv := func(name string) string {
		return map[string]string{"SET": "from-env", "LINE": "from-env\n", "BROKEN": "c4nary\r\nX-Header: 1"}[name]
	}
	for _, c := range []struct{ name, env, file, want, says string }{
		{"the variable is read", "SET", "", "from-env", ""},
		{"the variable wins over the file", "SET", file("a", "from-file"), "from-env", ""},
		{"the file stands in for an unset variable", "UNSET", file("b", "from-file\n"), "from-file", ""},
		{"the file alone is read", "", file("c", "from-file\r\n"), "from-file", ""},
		{"a newline of the variable goes", "LINE", "", "from-env", ""},
		{"an empty file gives no secret", "", file("d", "\n"), "", ""},
		{"nothing named gives no secret", "", "", "", ""},
		{"an unset variable gives no secret", "UNSET", "", "", ""},
		{"a missing file is an error that names it", "", filepath.Join(dir, "missing"), "", "missing"},
		{"a directory is an error", "", dir, "", "not a regular file"},
		{"a file of two lines is an error", "", file("e", "c4nary\nc4nary\n"), "", "more than one line"},
		{"a variable of two lines is an error", "BROKEN", "", "", "BROKEN"},
		{"a huge file is an error", "", file("f", strings.Repeat("c4nary", maxSecret)), "", "larger than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Secret(c.env, c.file, getenv)
			if got != c.want || (err == nil) != (c.says == "") {
				t.Fatalf("%q, %v; want %q", got, err, c.want)
			}
			if err != nil && (!strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "c4nary")) {
				t.Errorf("%q, want %q and no secret", err, c.says)
			}
		})
	}
}

func TestI1_SecretVariablesAreKnown(t *testing.T) {
	c := Default()
	c.Adapters.API.KeyEnv = "API_KEY"
	c.Model.APIKeyEnv = "API_KEY"
	want := []string{"API_KEY", "DISCORD_TOKEN", "FEISHU_SECRET", "MAIL_PASSWORD", "MATRIX_TOKEN", "SLACK_APP_TOKEN", "SLACK_BOT_TOKEN", "TELEGRAM_BOT_TOKEN"}
	if got := c.SecretVariables(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
