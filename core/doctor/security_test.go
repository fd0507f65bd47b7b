package doctor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gatewaytui/core/config"
)

const longKey = "a-key-that-is-long-enough"

// user is who runs the gateway of these tests: he owns no file, but those of root are trusted.
const user = 4711

func TestEachDangerHasItsIDAndItsSeverity(t *testing.T) {
	file := func(t *testing.T, mode os.FileMode, text string) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tc := range []struct {
		name string
		set  func(*testing.T, *config.Config, *Facts)
		want []string // "severity id"
	}{
		{"nothing is set", func(*testing.T, *config.Config, *Facts) {}, nil},
		{"the API listens on every address", func(_ *testing.T, c *config.Config, f *Facts) {
			c.Adapters.API.Listen, c.Adapters.API.KeyEnv = "0.0.0.0:8642", "KEY"
			f.Getenv = env("KEY", longKey)
		}, []string{"high api.plain_http", "low secret.in_environment"}},
		{"the webhook listens on every address", func(_ *testing.T, c *config.Config, f *Facts) {
			c.Adapters.Webhook = config.Webhook{Enabled: true, Listen: "0.0.0.0:8643", Routes: map[string]*config.WebhookRoute{"a": {SecretEnv: "KEY"}}}
			f.Getenv = env("KEY", "short")
		}, []string{"high secret.short", "medium webhook.plain_http", "low secret.in_environment"}},
		{"a hook calls another machine without TLS", func(_ *testing.T, c *config.Config, _ *Facts) {
			c.Hooks = map[string]*config.Hook{"a": {URL: "http://example.net/hook"}, "b": {URL: "http://127.0.0.1/hook"}, "c": {URL: "https://example.net"}}
		}, []string{"low hook.plain_http"}},
		{"the API listens on IPv6 loopback", func(_ *testing.T, c *config.Config, _ *Facts) { c.Adapters.API.Listen = "[::1]:8642" }, nil},
		{"the API is off", func(_ *testing.T, c *config.Config, _ *Facts) {
			c.Adapters.API.Enabled, c.Adapters.API.Listen = false, "0.0.0.0:8642"
		}, nil},
		{"a key of one character", func(_ *testing.T, c *config.Config, f *Facts) {
			c.Adapters.API.KeyEnv, f.Getenv = "KEY", env("KEY", "x")
		}, []string{"high secret.short", "low secret.in_environment"}},
		{"a key of blanks", func(t *testing.T, c *config.Config, _ *Facts) {
			c.Adapters.API.KeyFile = file(t, 0o600, strings.Repeat(" ", 40))
		}, []string{"high secret.short"}},
		{"a key of seven characters", func(t *testing.T, c *config.Config, _ *Facts) {
			c.Model.APIKeyFile = file(t, 0o600, "1234567\n")
		}, []string{"high secret.short"}},
		{"a key in a private file", func(t *testing.T, c *config.Config, _ *Facts) { c.Model.APIKeyFile = file(t, 0o600, longKey) }, nil},
		{"a key in a file that others may read", func(t *testing.T, c *config.Config, _ *Facts) {
			c.Model.APIKeyFile = file(t, 0o644, longKey)
		}, []string{"high secret.file_open"}},
		{"a key in a file that the group may write", func(t *testing.T, c *config.Config, _ *Facts) {
			c.Adapters.Telegram.TokenFile = file(t, 0o620, longKey)
		}, []string{"high secret.file_open"}},
		{"a model on another machine without TLS", func(_ *testing.T, c *config.Config, _ *Facts) {
			c.Model.Provider, c.Model.BaseURL = "openai", "http://models.internal/v1"
		}, []string{"high model.plain_http"}},
		{"a model on this machine", func(_ *testing.T, c *config.Config, _ *Facts) {
			c.Model.Provider, c.Model.BaseURL = "openai", "http://127.0.0.1:11434/v1"
		}, nil},
		{"everyone may write to the bot", func(_ *testing.T, c *config.Config, _ *Facts) {
			c.Adapters.Telegram.Enabled, c.Adapters.Telegram.AllowAll = true, true
		}, []string{"high telegram.allow_all", "low access.no_owner"}},
		{"everyone may write to a bot without a shell", func(_ *testing.T, c *config.Config, _ *Facts) {
			c.Adapters.Telegram.Enabled, c.Adapters.Telegram.AllowAll, c.Tools.Enabled = true, true, []string{"delegate"}
		}, []string{"low access.no_owner"}},
		{"the Bot API in the clear", func(_ *testing.T, c *config.Config, _ *Facts) {
			c.Adapters.Telegram.Enabled, c.Adapters.Telegram.BaseURL = true, "http://bots.internal"
		}, []string{"high telegram.plain_http", "low access.no_owner"}},
		{"mails whose senders are not checked", func(_ *testing.T, c *config.Config, _ *Facts) { c.Adapters.Mail.Enabled = true }, []string{"high mail.unchecked", "low access.no_owner"}},
		{"mails whose senders are checked", func(_ *testing.T, c *config.Config, _ *Facts) {
			c.Adapters.Mail.Enabled, c.Adapters.Mail.AuthservID = true, "mx.example"
		}, []string{"low access.no_owner"}},
		{"a config that everyone may write", func(t *testing.T, _ *config.Config, f *Facts) { f.Config = file(t, 0o666, "") }, []string{"high config.writable"}},
		{"a config in a folder that everyone may write to", func(t *testing.T, _ *config.Config, f *Facts) {
			f.Config = file(t, 0o600, "")
			if err := os.Chmod(filepath.Dir(f.Config), 0o777); err != nil {
				t.Fatal(err)
			}
		}, []string{"high config.writable"}},
		{"a config in a shared folder with the sticky bit", func(t *testing.T, _ *config.Config, f *Facts) {
			f.Config = file(t, 0o600, "")
			if err := os.Chmod(filepath.Dir(f.Config), 0o777|os.ModeSticky); err != nil {
				t.Fatal(err)
			}
		}, nil},
		{"root without a chat platform", func(_ *testing.T, _ *config.Config, f *Facts) { f.UID = 0 }, []string{"medium root"}},
		{"root with a bot", func(_ *testing.T, c *config.Config, f *Facts) {
			c.Adapters.Telegram.Enabled, c.Adapters.Telegram.Allow, f.UID = true, []int64{1}, 0
		}, []string{"high root", "low access.no_owner"}},
		{"root without a shell", func(_ *testing.T, c *config.Config, f *Facts) { c.Tools.Enabled, f.UID = nil, 0 }, nil},
		{"metrics for the network", func(_ *testing.T, c *config.Config, _ *Facts) { c.Metrics.Listen = ":9090" }, []string{"medium metrics.plain_http"}},
		{"further host names without a key", func(_ *testing.T, c *config.Config, _ *Facts) {
			c.Adapters.API.AllowHosts = []string{"gateway.internal"}
		}, []string{"medium api.hosts_without_key"}},
		{"tools see what the linker loads", func(_ *testing.T, c *config.Config, _ *Facts) {
			c.Tools.EnvPass = append(c.Tools.EnvPass, "LD_PRELOAD")
		}, []string{"medium tools.environment"}},
		{"tools see what a shell and node run first", func(_ *testing.T, c *config.Config, _ *Facts) {
			c.Tools.EnvPass = []string{"PATH", "BASH_ENV", "NODE_OPTIONS"}
		}, []string{"medium tools.environment"}},
		{"tools see the agent of ssh", func(_ *testing.T, c *config.Config, _ *Facts) {
			c.Tools.EnvPass = []string{"SSH_AUTH_SOCK"}
		}, []string{"medium tools.environment"}},
		{"tools see a token by name", func(_ *testing.T, c *config.Config, _ *Facts) {
			c.Tools.EnvPass = []string{"GITHUB_TOKEN"}
		}, []string{"medium tools.environment"}},
		{"tools see all but secrets and what steers", func(_ *testing.T, c *config.Config, _ *Facts) {
			c.Tools.EnvPass = []string{"*", "TOKEN_*"}
		}, nil},
		{"no guardian", func(_ *testing.T, c *config.Config, _ *Facts) { c.Process.Guardian = false }, []string{"medium guardian.off"}},
		{"control groups without limits", func(_ *testing.T, _ *config.Config, f *Facts) { f.Unlimited = "no controller" }, []string{"low containment.no_limits"}},
		{"no control groups", func(_ *testing.T, _ *config.Config, f *Facts) { f.Groups = false }, []string{"low containment.no_groups"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, f := config.Default(), Facts{UID: user, Groups: true, Getenv: env("", "")}
			tc.set(t, &c, &f)
			if f.UID == user && os.Getuid() != 0 {
				f.UID = os.Getuid() // the files of the test belong to who runs it
			}
			var got []string
			for _, found := range Security(c, f) {
				got = append(got, string(found.Severity)+" "+found.ID)
				if found.Fix == "" || strings.Contains(found.Text+found.Fix, longKey) {
					t.Errorf("%s: text %q, fix %q", found.ID, found.Text, found.Fix)
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("found %q, want %q", got, tc.want)
			}
		})
	}
}

func env(name, value string) func(string) string {
	return func(asked string) string {
		if asked == name {
			return value
		}
		return ""
	}
}
