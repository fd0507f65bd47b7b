package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// write puts text into a config file and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// load loads text with an environment of its own.
func load(t *testing.T, text string, environ ...string) (Loaded, error) {
	t.Helper()
	return Load(Options{Path: write(t, text), Environ: append([]string{"A=b"}, environ...)})
}

// refusal is the *Error that loading must end with.
func refusal(t *testing.T, err error) *Error {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("got error %v, want an *Error", err)
	}
	return e
}

func TestWithoutAFileTheEmbeddedDefaultIsInForce(t *testing.T) {
	l, err := Load(Options{Environ: []string{"HOME=" + t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Default(), l.Config); diff != "" {
		t.Errorf("not the default (-want +got):\n%s", diff)
	}
	if l.Source != Embedded || len(l.Warnings) > 0 {
		t.Errorf("source %q, warnings %v; want %q and none", l.Source, l.Warnings, Embedded)
	}
	c := l.Config
	if c.Model.Provider != "scripted" || !c.Adapters.API.Enabled || c.Adapters.API.Listen != "127.0.0.1:8642" {
		t.Errorf("provider %q, api %+v; want scripted, and the api adapter on 127.0.0.1:8642", c.Model.Provider, c.Adapters.API)
	}
}

// The sum is what CONTRACT.md, 3 states; the phases mark, sweep's and reap's own second, and surrender are fixed.
func TestTheDefaultBudgetsAddUpTo28Seconds(t *testing.T) {
	s, grace := Default().Shutdown, Default().Process.KillGrace.Duration
	sum := 2*time.Second + s.NotifyTimeout.Duration + s.InterruptGrace.Duration + (grace + time.Second) + s.AgentTimeout.Duration +
		s.AdapterTimeout.Duration + s.BackgroundTimeout.Duration + (grace + time.Second) + s.StoreTimeout.Duration + 500*time.Millisecond
	if sum != 28*time.Second || s.DrainTimeout.Duration != 60*time.Second {
		t.Errorf("budgets add up to %v, drain %v; want 28s and 60s", sum, s.DrainTimeout)
	}
}

func TestTheExampleIsTheDefault(t *testing.T) {
	l, err := load(t, Example())
	if err != nil {
		t.Fatalf("%v in\n%s", err, Example())
	}
	if diff := cmp.Diff(Default(), l.Config); diff != "" {
		t.Errorf("the example is not the default (-want +got):\n%s", diff)
	}
	for _, k := range keys {
		if k.doc == "" || !strings.Contains(Example(), "# "+k.doc) {
			t.Errorf("the example does not say what %s does", k.name)
		}
	}
}

// contractExample is the file that CONTRACT.md, 3 shows.
const contractExample = `
[model]
provider    = "openai"
base_url    = "http://127.0.0.1:11434/v1"
name        = "some-model"
api_key_env = "OPENAI_API_KEY"
timeout     = "10m"
script      = ""

[agent]
max_iterations = 60
cache_size     = 128
cache_idle     = "1h"
cache_memory   = "256MiB"
stall_warn     = "15m"
stall_after    = "30m"

[session]
idle_reset   = "0"
daily_reset  = ""
queue_limit  = 32

[tools]
enabled        = ["terminal", "process", "delegate", "files", "send_file", "web", "memory", "ask_user", "jobs"]
workdir        = ""
timeout        = "3m"
output_limit   = "64KiB"

[process]
kill_grace = "2s"
guardian   = true

[shutdown]
drain_timeout     = "60s"
notify_timeout    = "3s"
interrupt_grace   = "4.5s"
agent_timeout     = "3s"
adapter_timeout   = "5s"
background_timeout= "1s"
store_timeout     = "3s"
supervisor_budget = "auto"
notify_users      = true

[adapters.api]
enabled  = true
listen   = "127.0.0.1:8642"
key_env  = ""

[adapters.telegram]
enabled   = false
token_env = "TELEGRAM_BOT_TOKEN"
base_url  = "https://api.telegram.org"
allow     = []
allow_all = false

[console]
on_hangup = "detach"
theme     = "auto"

[log]
level = "info"
`

func TestTheContractsExampleIsUnderstood(t *testing.T) {
	l, err := load(t, contractExample)
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Model.Provider, want.Model.BaseURL, want.Model.Name = "openai", "http://127.0.0.1:11434/v1", "some-model"
	if diff := cmp.Diff(want, l.Config); diff != "" {
		t.Errorf("not as written (-want +got):\n%s", diff)
	}
}

func TestEveryShapeOfTOMLMeansTheSame(t *testing.T) {
	want := Default()
	want.Shutdown.AdapterTimeout = Duration{2 * time.Second}
	want.Adapters.Telegram.Allow = []int64{4711, 12}
	for _, c := range []struct{ name, text string }{
		{"tables", "[shutdown]\nadapter_timeout = \"2s\"\n[adapters.telegram]\nallow = [4711, 12]\n"},
		{"dotted keys", "shutdown.adapter_timeout = '2s'\nadapters.telegram.allow = [4711, 12]\n"},
		{"inline tables", "shutdown = {adapter_timeout = \"2s\"}\nadapters = {telegram = {allow = [4711, 12]}}\n"},
		{"ids as texts", "[shutdown]\nadapter_timeout = \"2s\"\n[adapters.telegram]\nallow = [\"4711\", 12]\n"},
		{"quoted keys", "[\"shutdown\"]\n\"adapter_timeout\" = \"2s\"\n[adapters]\n'telegram'.allow = [4711, 12]\n"},
		{"Windows line ends and a byte order mark", "\ufeff[shutdown]\r\nadapter_timeout = \"2s\"\r\n[adapters.telegram]\r\nallow = [4711, 12]\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := load(t, c.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, l.Config); diff != "" {
				t.Errorf("not as written (-want +got):\n%s", diff)
			}
		})
	}
}

// TestJ15_AWrongFileIsRefused: an unknown key or a bad value never becomes a default (J15).
func TestJ15_AWrongFileIsRefused(t *testing.T) {
	for _, c := range []struct {
		name, text   string
		line, column int
		key, nearest string
		says         string
	}{
		{"an unknown key", "\n[shutdown]\nadapter_timout = \"5s\"\n", 3, 1, "shutdown.adapter_timout", "shutdown.adapter_timeout", "unknown key"},
		{"an unknown key in the wrong table", "[session]\ndrain_timeout = \"5s\"\n", 2, 1, "session.drain_timeout", "shutdown.drain_timeout", "unknown key"},
		{"a key without its table", "drain_timeout = \"5s\"\n", 1, 1, "drain_timeout", "shutdown.drain_timeout", "unknown key"},
		{"an unknown key after valid ones", "[log]\nlevel = \"info\"\n  lever = true\n", 3, 3, "log.lever", "log.level", "unknown key"},
		{"an unknown key in an inline table", "log = {level = \"info\", levle = \"x\"}\n", 1, 24, "log.levle", "log.level", "unknown key"},
		{"an unknown table", "[shutdwn]\n", 1, 2, "shutdwn", "shutdown", "unknown table"},
		{"an unknown adapter", "[adapters.telegramm]\nenabled = true\n", 1, 2, "adapters.telegramm", "adapters.telegram", "unknown table"},
		{"an unknown adapter in an inline table", "[adapters]\ntelegrm = {enabled = true}\n", 2, 1, "adapters.telegrm", "adapters.telegram", "unknown table"},
		{"the key of a secret", "[model]\napi_key = \"sk-c4nary-0123456789abcdef\"\n", 2, 1, "model.api_key", "model.api_key_env", "unknown key"},
		{"a quoted key with a dot", "\"shutdown.drain_timeout\" = \"5s\"\n", 1, 1, `"shutdown.drain_timeout"`, "shutdown.drain_timeout", "unknown key"},
		{"a key with control characters", "\"a\\u001b[31m\" = 1\n", 1, 1, `"a␛[31m"`, "", "unknown key"},
		{"a key that is set twice", "[log]\nlevel = \"info\"\nlevel = \"warn\"\n", 3, 1, "log.level", "", "set twice, first in line 2"},
		{"a table that is there twice", "[log]\n[process]\n[log]\n", 3, 2, "log", "", "set twice, first in line 1"},
		{"a number for a duration", "[shutdown]\ndrain_timeout = 60\n", 2, 1, "shutdown.drain_timeout", "", `a duration such as "90s", not 60`},
		{"a duration without a unit", "[shutdown]\ndrain_timeout = \"60\"\n", 2, 1, "shutdown.drain_timeout", "", `not "60"`},
		{"a duration that would overflow", "[shutdown]\ndrain_timeout = \"2000000h\"\n", 2, 1, "shutdown.drain_timeout", "", "a duration"},
		{"a text for a number", "[agent]\ncache_size = \"many\"\n", 2, 1, "agent.cache_size", "", "a whole number"},
		{"a fraction for a number", "[agent]\ncache_size = 1.5\n", 2, 1, "agent.cache_size", "", "not 1.5"},
		{"a number for a text", "[log]\nlevel = 3\n", 2, 1, "log.level", "", "a text in quotes"},
		{"a text for a switch", "[process]\nguardian = \"yes\"\n", 2, 1, "process.guardian", "", "true or false"},
		{"an invalid size", "[agent]\ncache_memory = \"lots\"\n", 2, 1, "agent.cache_memory", "", "a size such as"},
		{"a negative size", "[agent]\ncache_memory = \"-1MiB\"\n", 2, 1, "agent.cache_memory", "", "a size such as"},
		{"a size of nothing", "[agent]\ncache_memory = \"0\"\n", 2, 1, "agent.cache_memory", "", "at least 1B"},
		{"a date for a text", "[log]\nlevel = 2026-01-01\n", 2, 1, "log.level", "", "not a date or time"},
		{"a table for a value", "[log.level]\n", 1, 2, "log.level", "", "a text in quotes, not a table"},
		{"a table below a value", "[log.level.x]\n", 1, 2, "log.level", "", "not a table"},
		{"a value for a table", "shutdown = 5\n", 1, 1, "shutdown", "", "a table, written [shutdown]"},
		{"a list of tables for a table", "[[shutdown]]\ndrain_timeout = \"1s\"\n", 1, 3, "shutdown", "", "a table, written [shutdown]"},
		{"user names for user ids", "[adapters.telegram]\nallow = [\"alice\"]\n", 2, 1, "adapters.telegram.allow", "", "whole numbers"},
		{"no TOML", "[shutdown\n", 1, 10, "", "", "not TOML"},
		{"a value left out", "[log]\nlevel =\n", 2, 8, "", "", "not TOML"},
		{"a NUL", "[log]\nlevel = \"info\"\x00\n", 2, 15, "", "", "not TOML"},
		{"a column after letters of two bytes", "[log] # é\n\"é\" = 1\n", 2, 1, `log."é"`, "", "unknown key"},

		{"an unknown provider", "[model]\nprovider = \"gpt\"\n", 2, 1, "model.provider", "", `"openai", "anthropic" or "scripted"`},
		{"a real model without an address", "[model]\nprovider = \"openai\"\nname = \"m\"\n", 2, 1, "model.base_url", "", "must be set"},
		{"a real model without a name", "[model]\nbase_url = \"http://h/v1\"\nprovider = \"openai\"\n", 3, 1, "model.name", "", "must be set"},
		{"an address without a scheme", "[model]\nbase_url = \"localhost:11434/v1\"\n", 2, 1, "model.base_url", "", "http://"},
		{"a password in an address", "[model]\nbase_url = \"http://u:c4nary@h/v1\"\n", 2, 1, "model.base_url", "", "never written in the file"},
		{"a secret for the name of its variable", "[adapters.telegram]\ntoken_env = \"12345:c4nary\"\n", 2, 1, "adapters.telegram.token_env", "", "name of an environment variable"},
		{"a model call of no time", "[model]\ntimeout = \"0\"\n", 2, 1, "model.timeout", "", "over 0"},
		{"a negative age of processes", "[process]\nmax_age = \"-1h\"\n", 2, 1, "process.max_age", "", "must not be negative"},
		{"a negative drain", "[shutdown]\ndrain_timeout = \"-1s\"\n", 2, 1, "shutdown.drain_timeout", "", "must not be negative"},
		{"stalled before it is warned of", "[agent]\nstall_after = \"1m\"\n", 2, 1, "agent.stall_after", "", "stall_warn"},
		{"warned of after it has stalled", "[agent]\nstall_warn = \"1h\"\n", 2, 1, "agent.stall_after", "", "stall_warn"},
		{"a queue of nothing", "[session]\nqueue_limit = 0\n", 2, 1, "session.queue_limit", "", "at least 1, not 0"},
		{"an invalid time of day", "[session]\ndaily_reset = \"25:00\"\n", 2, 1, "session.daily_reset", "", "04:00"},
		{"a time of day cut short", "[session]\ndaily_reset = \"4:00\"\n", 2, 1, "session.daily_reset", "", "04:00"},
		{"an unknown tool", "[tools]\nenabled = [\"browser\"]\n", 2, 1, "tools.enabled", "", "terminal, process, delegate, files, send_file, web, memory, ask_user and jobs"},
		{"a tool named twice", "[tools]\nenabled = [\"process\", \"process\"]\n", 2, 1, "tools.enabled", "", "twice"},
		{"tools that may perhaps stop", "[tools]\nmay_stop = \"perhaps\"\n", 2, 1, "tools.may_stop", "", `"yes", "ask" or "no"`},
		{"a relative workdir", "[tools]\nworkdir = \"work\"\n", 2, 1, "tools.workdir", "", "absolute"},
		{"an invalid supervisor budget", "[shutdown]\nsupervisor_budget = \"long\"\n", 2, 1, "shutdown.supervisor_budget", "", `"auto"`},
		{"a supervisor budget of nothing", "[shutdown]\nsupervisor_budget = \"0s\"\n", 2, 1, "shutdown.supervisor_budget", "", `"auto"`},
		{"an address without a port", "[adapters.api]\nlisten = \"127.0.0.1\"\n", 2, 1, "adapters.api.listen", "", "host:port"},
		{"an invalid port", "[adapters.api]\nlisten = \"127.0.0.1:99999\"\n", 2, 1, "adapters.api.listen", "", "host:port"},
		{"an open api without a key", "[adapters.api]\nlisten = \"0.0.0.0:80\"\n", 2, 1, "adapters.api.listen", "", "set adapters.api.key_env"},
		{"open metrics without a key", "[metrics]\nlisten = \"0.0.0.0:9642\"\n", 2, 1, "metrics.listen", "", "set adapters.api.key_env"},
		{"metrics at no address", "[metrics]\nlisten = \"9642\"\n", 2, 1, "metrics.listen", "", "host:port"},
		{"an open api on every address", "[adapters.api]\nlisten = \":80\"\n", 2, 1, "adapters.api.listen", "", "set adapters.api.key_env"},
		{"a bot without a token", "[adapters.telegram]\nenabled = true\ntoken_env = \"\"\n", 3, 1, "adapters.telegram.token_env", "", "token_file"},
		{"a group for a user", "[adapters.telegram]\nallow = [-100]\n", 2, 1, "adapters.telegram.allow", "", "-100"},
		{"an unknown hangup", "[console]\non_hangup = \"die\"\n", 2, 1, "console.on_hangup", "", `"detach" or "stop"`},
		{"an unknown theme", "[console]\ntheme = \"blue\"\n", 2, 1, "console.theme", "", `"dark"`},
		{"an unknown log level", "[log]\nlevel = \"loud\"\n", 2, 1, "log.level", "", `"debug"`},
		{"a control character in a path", "[model]\nscript = \"a\\u0000b\"\n", 2, 1, "model.script", "", "control characters"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(t, c.text)
			e := refusal(t, err)
			if e.Line != c.line || e.Column != c.column || e.Key != c.key || filepath.Base(e.File) != "config.toml" {
				t.Errorf("%v: blames %q at %s:%d:%d, want %q at %d:%d", e, e.Key, e.File, e.Line, e.Column, c.key, c.line, c.column)
			}
			if c.nearest != "" && e.Nearest != c.nearest {
				t.Errorf("%v: nearest is %q, want %q", e, e.Nearest, c.nearest)
			}
			if !strings.Contains(e.Error(), c.says) {
				t.Errorf("%q does not say %q", e.Error(), c.says)
			}
			if strings.Contains(e.Error(), "c4nary") {
				t.Errorf("%q repeats a secret", e.Error())
			}
			if strings.ContainsFunc(e.Error(), unicode.IsControl) {
				t.Errorf("%q has control characters", e.Error())
			}
		})
	}
}

func TestTheErrorIsOneSentence(t *testing.T) {
	e := &Error{File: "config.toml", Line: 12, Column: 1, Message: "unknown key shutdown.adapter_timout", Nearest: "shutdown.adapter_timeout"}
	const want = "config.toml:12:1: unknown key shutdown.adapter_timout; did you mean shutdown.adapter_timeout?"
	if e.Error() != want {
		t.Errorf("%q, want %q", e.Error(), want)
	}
}

func TestWhatIsOddButMeantIsAccepted(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"an empty file", ""},
		{"no drain", "[shutdown]\ndrain_timeout = \"0\"\n"},
		{"an adapter bound opted out of", "[shutdown]\nadapter_timeout = \"0\"\n"},
		{"an adapter bound below zero", "[shutdown]\nadapter_timeout = \"-1s\"\n"},
		{"no limit to a process's age", "[process]\nmax_age = \"0\"\n"},
		{"no idle reset", "[session]\nidle_reset = \"0\"\n"},
		{"any port", "[adapters.api]\nlisten = \"127.0.0.1:0\"\n"},
		{"loopback of version 6", "[adapters.api]\nlisten = \"[::1]:80\"\n"},
		{"loopback by name", "[adapters.api]\nlisten = \"localhost:80\"\n"},
		{"metrics on loopback", "[metrics]\nlisten = \"localhost:9642\"\n"},
		{"open metrics with the api's key", "[metrics]\nlisten = \":9642\"\n[adapters.api]\nkey_env = \"API_KEY\"\n"},
		{"an open api with a key", "[adapters.api]\nlisten = \"0.0.0.0:80\"\nkey_env = \"API_KEY\"\n"},
		{"an open api with a key file", "[adapters.api]\nlisten = \"0.0.0.0:80\"\nkey_file = \"/run/key\"\n"},
		{"an open api that is off", "[adapters.api]\nlisten = \"0.0.0.0:80\"\nenabled = false\n"},
		{"a supervisor budget", "[shutdown]\nsupervisor_budget = \"90s\"\n"},
		{"no tools", "[tools]\nenabled = []\n"},
		{"a size in plain bytes", "[tools]\noutput_limit = \"1000\"\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := load(t, c.text); err != nil {
				t.Errorf("%v, want it accepted", err)
			}
		})
	}
}

func TestEveryValueSaysWhereItIsFrom(t *testing.T) {
	l, err := load(t, "[log]\nlevel = \"warn\"\n", "GATEWAYTUI_SHUTDOWN_DRAIN_TIMEOUT=90m")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][2]string{}
	for _, v := range l.Values() {
		got[v.Key] = [2]string{v.Value, v.Origin.String()}
	}
	for k, want := range map[string][2]string{
		"log.level":              {`"warn"`, l.Source + ":2"},
		"shutdown.drain_timeout": {`"1h30m"`, "GATEWAYTUI_SHUTDOWN_DRAIN_TIMEOUT"},
		"agent.cache_memory":     {`"256MiB"`, "default"},
		"tools.enabled":          {`["terminal", "process", "delegate", "files", "send_file", "web", "memory", "ask_user", "jobs"]`, "default"},
	} {
		if got[k] != want {
			t.Errorf("%s is %q, want %q", k, got[k], want)
		}
	}
	if len(got) != len(keys) {
		t.Errorf("%d values, want %d", len(got), len(keys))
	}
}

func TestTheSupervisorsLimit(t *testing.T) {
	if d, ok := Default().Shutdown.SupervisorLimit(); ok {
		t.Errorf("auto is %v, want no limit of its own", d)
	}
	if d, ok := (Shutdown{SupervisorBudget: "1m30s"}).SupervisorLimit(); !ok || d != 90*time.Second {
		t.Errorf("1m30s is %v, %v", d, ok)
	}
}

func TestEveryRuleIsOfKnownKeys(t *testing.T) {
	for _, r := range rules {
		for _, name := range r.keys {
			if _, known := keyByName[name]; !known {
				t.Errorf("a rule names %s, which is not a key", name)
			}
		}
	}
}

func TestSizesAndDurationsReadBackAsWritten(t *testing.T) {
	for _, n := range []Size{0, 1, 1000, 1024, 1536, 64 << 10, 256 << 20, 1 << 40, 1<<62 + 1} {
		if got, ok := parseSize(n.String()); !ok || got != n {
			t.Errorf("%d is written %s and read %d", int64(n), n, int64(got))
		}
	}
	for _, d := range []time.Duration{0, time.Millisecond, 10 * time.Second, time.Minute, 90 * time.Minute, 24 * time.Hour, -time.Hour, 70 * time.Second} {
		if got, ok := parseDuration(Duration{d}.String()); !ok || got.Duration != d {
			t.Errorf("%v is written %s and read %v", d, Duration{d}, got)
		}
	}
}

func FuzzLoad(f *testing.F) {
	for _, s := range []string{
		Example(), contractExample, namedExample, externalExample, "routes = [{match = \"a:*\"}, [1], {agent.b = 1}]", "[[routes]]\n[[routes.match]]\n[routes.x.y]", "[models.\"[1]\".\"[2]\"]\nname.x = 1", "[shutdown]\nadapter_timout = 1", "a.b.c.d.e=1", "[[adapters.api]]", "log={level={a=1}}", "\ufeff[log]\nlevel=\"\\u001b\"",
		"\"\\u0000\".\"\\u202e\" = 1\n", "[log]\nlevel=\"a\"\nlevel=\"b\"", "x = [[[[", "\xff\xfe", "[model]\nbase_url=\"http://\\n\"",
	} {
		f.Add([]byte(s))
	}
	path := filepath.Join(f.TempDir(), "config.toml")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := Load(Options{Path: path, Environ: []string{}})
		if err == nil {
			if l.Source != path || len(l.Values()) < len(keys) { // tables with chosen names have more
				t.Fatalf("source %q, %d values", l.Source, len(l.Values()))
			}
			return
		}
		e := refusal(t, err)
		if e.Message == "" || strings.ContainsFunc(e.Message, unicode.IsControl) || strings.ContainsFunc(e.Error(), unicode.IsControl) {
			t.Fatalf("message %q, text %q", e.Message, e.Error())
		}
		if e.Line < 0 || e.Line > strings.Count(string(data), "\n")+1 {
			t.Fatalf("%q is in line %d", e, e.Line)
		}
	})
}

func TestABoundOfZeroOrLessIsRefused(t *testing.T) {
	for _, k := range keys {
		if k.section() != "limits" || slices.Contains([]string{"limits.tree_memory", "limits.tools_memory", "limits.tools_processes"}, k.name) {
			continue
		}
		for _, value := range []string{"0", "-1"} {
			want := k.name + " must be at least 1"
			if _, is := k.field(&Config{}).Interface().(Size); is {
				if value == "-1" {
					continue // no size at all
				}
				value = strconv.Quote(value)
				want = k.name + " must be at least "
			}
			_, err := load(t, "[limits]\n"+strings.TrimPrefix(k.name, "limits.")+" = "+value+"\n")
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s = %s: %v, want %q", k.name, value, err, want)
			}
		}
	}
}

// A 0 leaves a bound of the control groups to the machine; what no shell could run in is refused.
func TestABoundOfControlGroupsMayBeLeftToTheMachine(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{`tree_memory = "0B"`, ""},
		{`tools_memory = "0B"`, ""},
		{`tools_memory = "8MiB"`, ""},
		{`tools_processes = 0`, ""},
		{`tree_memory = "1MiB"`, `limits.tree_memory must be "0B", or at least "8MiB"`},
		{`tools_memory = "1B"`, `limits.tools_memory must be "0B", or at least "8MiB"`},
		{`tools_processes = -1`, "limits.tools_processes must be from 0 to 4194304"},
	} {
		_, err := load(t, "[limits]\n"+tt.line+"\n")
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.line, err, tt.want)
		}
	}
}
