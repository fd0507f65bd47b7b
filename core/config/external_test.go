package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

const externalExample = `
[adapters.mattermost]
command = ["gatewaytui-mattermost", "-v"]
env_pass = ["MATTERMOST_TOKEN", "MATTERMOST_CA"]
allow = ["u4711", 12]
groups = ["c1"]
home = "mattermost:group:c#9:user:u1"
mention = "always"
teardown = "2s"

[adapters.mattermost.settings]
url = "https://mattermost.example"
depth = 3
ratio = 0.5
on = true
rooms = ["a", ["b", 1]]
proxy = { host = "h", password = "c4nary-of-proxy" }
"a key" = "a value"

[[adapters.mattermost.settings.teams]]
name = "one"
api_token = "c4nary-of-team"

[adapters.xmpp]
enabled = false
command = ["/usr/bin/xmpp"]
settings.resource.name = "bot"
`

func TestPL4_AnExternalAdapterIsATableWithACommand(t *testing.T) {
	l, err := load(t, externalExample)
	if err != nil {
		t.Fatal(err)
	}
	c := l.Config
	want := map[string]*External{
		"mattermost": {
			Enabled: true, Command: []string{"gatewaytui-mattermost", "-v"}, EnvPass: []string{"MATTERMOST_TOKEN", "MATTERMOST_CA"},
			ChatKeys: ChatKeys{Allow: IDs{"u4711", "12"}, Groups: IDs{"c1"}, Home: "mattermost:group:c#9:user:u1", Mention: MentionAlways, Teardown: Duration{2 * time.Second}},
			Settings: Settings{
				"url": "https://mattermost.example", "depth": int64(3), "ratio": 0.5, "on": true, "rooms": []any{"a", []any{"b", int64(1)}},
				"proxy": map[string]any{"host": "h", "password": "c4nary-of-proxy"}, "a key": "a value",
				"teams": []any{map[string]any{"name": "one", "api_token": "c4nary-of-team"}},
			},
		},
		"xmpp": {
			Command: []string{"/usr/bin/xmpp"}, EnvPass: []string{}, ChatKeys: ChatKeys{Allow: IDs{}, Groups: IDs{}, Mention: MentionRequired},
			Settings: Settings{"resource": map[string]any{"name": "bot"}},
		},
	}
	if !reflect.DeepEqual(c.Adapters.External, want) {
		t.Errorf("they are %+v and %+v", c.Adapters.External["mattermost"], c.Adapters.External["xmpp"])
	}
	b, is := c.Adapters.Bot("mattermost")
	if !is || !b.Enabled || b.Numbers || !slices.Equal(b.Allow, []string{"u4711", "12"}) || b.Teardown != 2*time.Second {
		t.Errorf("the bot is %+v", b)
	}
	if h := c.Homes(); !maps.Equal(h, map[string]Home{"mattermost": {"mattermost:group:c#9:user:u1", "c%239"}}) {
		t.Errorf("the home chats are %v", h)
	}
	if chat := c.ChatOf("mattermost:group:c1:user:u2", "member"); chat.Mention != MentionAlways {
		t.Errorf("its groups have the mention %q", chat.Mention)
	}
	if on := c.Adapters.EnabledBots(); len(on) != 1 || on[0].Name != "mattermost" {
		t.Errorf("enabled are %+v", on)
	}
	if on := c.Adapters.OnlyEnabled(); len(on.External) != 1 || len(c.Adapters.External) != 2 {
		t.Errorf("without those that are disabled there are %v, the config has %v", on.External, c.Adapters.External)
	}
}

func TestPL4_SecretsOfAnExternalAdapterAreMaskedAndNotShown(t *testing.T) {
	l, err := load(t, externalExample)
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Warnings) != 1 || l.Warnings[0].Code != WarnSecretSetting || !strings.Contains(l.Warnings[0].Message, "adapters.mattermost.settings: proxy.password, teams[1].api_token look like a secret") || !strings.Contains(l.Warnings[0].Message, "adapters.mattermost.env_pass") {
		t.Errorf("the warnings are %v", l.Warnings)
	}
	env := map[string]string{"MATTERMOST_TOKEN": "token-of-mattermost", "MATTERMOST_CA": "/etc/ca.pem"}
	masked := l.Config.Credentials(func(name string) string { return env[name] }).Values()
	for _, secret := range []string{"token-of-mattermost", "c4nary-of-proxy", "c4nary-of-team"} {
		if !slices.Contains(masked, secret) {
			t.Errorf("%q is not masked", secret)
		}
	}
	if slices.Contains(masked, "/etc/ca.pem") {
		t.Error("a variable that is not a secret is masked")
	}
	var shown string
	for _, v := range l.Values() {
		if v.Key == "adapters.mattermost.settings" {
			shown = v.Value
		}
	}
	const want = `{ "a key" = "a value", depth = 3, on = true, proxy = { host = "h", password = "(not shown)" }, ratio = 0.5, rooms = ["a", ["b", 1]], teams = [{ api_token = "(not shown)", name = "one" }], url = "https://mattermost.example" }`
	if shown != want {
		t.Errorf("the settings are shown as %s, want %s", shown, want)
	}
	again, err := load(t, strings.Replace(externalExample, "c4nary-of-team", "c4nary-of-them", 1))
	if err != nil {
		t.Fatal(err)
	}
	if all := Differences(&l, &again); len(all) != 1 || all[0].Form != "adapters.NAME.settings" || strings.Contains(all[0].Old+all[0].New, "c4nary") {
		t.Errorf("the differences are %+v", all)
	}
}

func TestPL4_AnExternalAdapterThatIsWrongIsRefusedWithItsKey(t *testing.T) {
	const a, program = "[adapters.a]\n", "command = [\"x\"]\n"
	for _, tc := range []struct {
		name, text   string
		line         int
		key, nearest string
		says         string
	}{
		{"a misspelled platform", "[adapters.discrod]\nenabled = true\ntoken_env = \"X\"\n", 1, "adapters.discrod", "adapters.discord", "unknown table"},
		{"a misspelled platform with a dotted key", "[adapters]\ntelegarm.enabled = true\ntelegarm.token_env = \"X\"\n", 2, "adapters.telegarm", "adapters.telegram", "unknown table"},
		{"a platform in capitals", "[adapters.Slack]\n", 1, "adapters.Slack", "adapters.slack", "unknown table"},
		{"a platform that the gateway does not have", "[adapters.mattermost]\nallow = [\"u1\"]\n", 1, "adapters.mattermost", "", "must have the key command: it is none of the gateway's platforms (api, telegram,"},
		{"a table inside of one without a command", "[adapters.mattermost.settings]\nurl = \"x\"\n", 1, "adapters.mattermost", "", "must have the key command"},
		{"an empty command", a + "command = []\n", 2, "adapters.a.command", "", "must begin with the program"},
		{"a text for a command", a + "command = \"x\"\n", 2, "adapters.a.command", "", "a list of texts"},
		{"a relative path", a + "command = [\"bin/x\"]\n", 2, "adapters.a.command", "", "an absolute path"},
		{"a name with capitals", "[adapters.Xmpp]\n" + program, 1, "adapters.Xmpp", "", "small letters"},
		{"a name with a colon", "[adapters.\"a:b\"]\n" + program, 1, `adapters."a:b"`, "", "letters"},
		{"a name that is too long", "[adapters.a" + strings.Repeat("b", 32) + "]\n" + program, 1, "adapters.a" + strings.Repeat("b", 32), "", "1 to 32"},
		{"the name of the command line", "[adapters.cli]\n" + program, 1, "adapters.cli", "", "none of cli and job"},
		{"an unknown key", a + program + "comand = 1\n", 3, "adapters.a.comand", "adapters.a.command", "unknown key"},
		{"a credential in place of its variable", a + program + "token_env = \"X\"\n", 3, "adapters.a.token_env", "", "unknown key"},
		{"a pattern of variables", a + program + "env_pass = [\"MM_*\"]\n", 3, "adapters.a.env_pass", "", "names of variables"},
		{"a variable of this program", a + program + "env_pass = [\"GATEWAYTUI_HOME\"]\n", 3, "adapters.a.env_pass", "", "names of variables"},
		{"a secret of the gateway", a + program + "env_pass = [\"TELEGRAM_BOT_TOKEN\"]\n", 3, "adapters.a.env_pass", "", "a secret of the gateway"},
		{"a home on another platform", a + program + "home = \"telegram:dm:4711\"\n", 3, "adapters.a.home", "", "must be the id of a chat"},
		{"an unknown mention", a + program + "mention = \"often\"\n", 3, "adapters.a.mention", "", "must be \"required\""},
		{"a date among the settings", a + program + "[adapters.a.settings]\nb = 1\nwhen = 2026-01-02\n", 5, "adapters.a.settings.when", "", "a date or time"},
		{"a date in a table of settings", a + program + "settings.b.c.when = [2026-01-02]\n", 3, "adapters.a.settings.b.c.when", "", "a date or time"},
		{"a number that JSON does not have", a + program + "settings.n = nan\n", 3, "adapters.a.settings.n", "", "JSON"},
		{"settings without end", a + program + "settings.n = " + strings.Repeat("[", 20) + strings.Repeat("]", 20) + "\n", 3, "adapters.a.settings.n", "", "nested too deeply"},
		{"a text for the settings", a + program + "settings = \"x\"\n", 3, "adapters.a.settings", "", "a table of settings"},
		{"settings that are too long", a + program + "[adapters.a.settings]\nn = \"" + strings.Repeat("x", maxSettings) + "\"\n", 3, "adapters.a.settings", "", "is longer than 64KiB"},
		{"a value for an adapter", "[adapters]\na = 1\n", 2, "adapters.a", "", "a table, written [adapters.NAME]"},
		{"a value for all adapters", "adapters = 1\n", 1, "adapters", "", "a table, written [adapters.NAME]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := load(t, tc.text)
			e := refusal(t, err)
			if e.Line != tc.line || e.Key != tc.key || tc.nearest != "" && e.Nearest != tc.nearest || !strings.Contains(e.Error(), tc.says) || strings.Count(err.Error(), "\n") > 0 {
				t.Errorf("%v: blames %q in line %d, nearest %q; want %q in line %d, nearest %q, with %q", err, e.Key, e.Line, e.Nearest, tc.key, tc.line, tc.nearest, tc.says)
			}
		})
	}
}

func TestPL4_TheHomeChatOfAnExternalAdapterIsItsIDOrTheKeyOfASession(t *testing.T) {
	for home, want := range map[string]Home{
		"d1":                       {"mm:group:d1", "d1"},
		"room@conf.example/#1%":    {"mm:group:room@conf.example/#1%", "room@conf.example/%231%25"},
		"a:b":                      {"mm:group:a:b", "a:b"},
		"mm:dm:u1":                 {"mm:dm:u1", ""}, // where they last spoke
		"mm:dm:u:1:thread:c#1":     {"mm:dm:u:1:thread:c#1", "c%231"},
		"mm:thread:c1:7":           {"mm:thread:c1:7", "c1:7"},
		"mm:group:c1":              {"mm:group:c1", "c1"},
		"mm:group:c1:7:user:a:b":   {"mm:group:c1:7:user:a:b", "c1:7"},
		"mm:channel:c1":            {},
		"mm:dm:":                   {},
		"telegram:dm:4711":         {},
		"mattermost:group:c1":      {},
		"mattermost:thread:c1:t:1": {},
	} {
		if got, is := externalHome("mm", home); got != want || is != (want != Home{}) {
			t.Errorf("%q is %+v, %t; want %+v", home, got, is, want)
		}
	}
	for key, want := range map[string]string{
		"mm:group:c#1:user:u1": "c%231", "mm:thread:t1": "t1", "mm:dm:u1": "", "mm:channel:c1": "", "cli:dm:local": "", "job:dm:a": "", "webhook:dm:a": "", "telegram:dm:4711": "4711",
	} {
		if got, said := TargetOf(key); got != want || said != (want != "") {
			t.Errorf("the chat of %s is %q, %t; want %q", key, got, said, want)
		}
	}
}

func TestPL4_WhatSettingsAreWrittenAsIsReadBack(t *testing.T) {
	l, err := load(t, externalExample)
	if err != nil {
		t.Fatal(err)
	}
	settings := l.Config.Adapters.External["mattermost"].Settings
	again, err := load(t, fmt.Sprintf("[adapters.mattermost]\ncommand = [\"x\"]\nsettings = %s\n", settings.written()))
	if err != nil || !reflect.DeepEqual(again.Config.Adapters.External["mattermost"].Settings, settings) {
		t.Errorf("%v: written as %s they are %v", err, settings.written(), again.Config.Adapters.External)
	}
}
