package platforms

import (
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"

	"gatewaytui/core/adapter"
	"gatewaytui/core/config"
)

// both are a config with two platforms, and their credentials.
func both() (config.Adapters, config.Credentials) {
	a := config.Default().Adapters
	a.Telegram.Enabled, a.Discord.Enabled = true, true
	return a, config.Credentials{Bots: map[string]map[string]config.Credential{
		"telegram": {"token": {Value: "4711:abc", Source: "T"}}, "discord": {"token": {Value: "abc", Source: "D"}},
	}}
}

func TestEachEnabledPlatformIsMadeFromItsTable(t *testing.T) {
	a, s := both()
	all := Of(a, s)
	if len(all) != 2 || all[0].Name != "telegram" || all[1].Name != "discord" {
		t.Fatalf("the platforms are %+v", all)
	}
	for _, m := range all {
		if m.Err != nil {
			t.Fatalf("%s: %v", m.Name, m.Err)
		}
		if p := m.New(Host{Log: slog.New(slog.DiscardHandler)}); p.Name() != m.Name {
			t.Errorf("%s makes the platform %s", m.Name, p.Name())
		}
	}
	a.Discord.Enabled = false
	if all := Of(a, s); len(all) != 1 {
		t.Errorf("a disabled platform is made: %+v", all)
	}
}

func TestAPlatformThatCannotBeMadeSaysWhatIsMissing(t *testing.T) {
	a, s := both()
	s.Bots["discord"] = map[string]config.Credential{"token": {Source: "DISCORD_TOKEN"}}
	if m := Of(a, s)[1]; !credentials(m.Err, "DISCORD_TOKEN") {
		t.Errorf("without its token it says %v", m.Err)
	}
	kept := kinds["discord"]
	delete(kinds, "discord")
	t.Cleanup(func() { kinds["discord"] = kept })
	if m := Of(a, s)[1]; m.Err == nil || !strings.Contains(m.Err.Error(), "no_discord") {
		t.Errorf("left out of the build it says %v", m.Err)
	}
}

func credentials(err error, variable string) bool {
	c, is := errors.AsType[*adapter.CredentialsError](err)
	return is && c.Variable == variable
}

func TestAConnectionIsKeptWhereNothingThatItFollowsFromChanged(t *testing.T) {
	a, s := both()
	was := Of(a, s)[0]
	a.Telegram.Allow, a.Telegram.Home = []int64{4711}, "4711"
	if !was.Same(Of(a, s)[0]) {
		t.Error("other people need another connection")
	}
	a.Telegram.Groups = []int64{-100}
	if was.Same(Of(a, s)[0]) {
		t.Error("other groups need no other connection")
	}
	delete(s.Bots, "telegram")
	if missing := Of(a, s)[0]; was.Same(missing) || !missing.Same(missing) {
		t.Error("a missing token is not told from one that is there")
	}
}

func TestEachPlatformOfTheConfigIsInTheProgramAndHasAPage(t *testing.T) {
	for _, b := range config.Default().Adapters.Bots() {
		if _, is := kinds[b.Name]; !is {
			t.Errorf("%s is in the config and not in the program", b.Name)
		}
		page, err := os.ReadFile(b.Name + ".md")
		if err != nil {
			t.Errorf("%s has no page: %v", b.Name, err)
			continue
		}
		for _, part := range []string{"# " + b.Title, "\n## Create", "\n## Configure", "\n## Test", "\n## Limits", "[adapters." + b.Name + "]"} {
			if !strings.Contains(string(page), part) {
				t.Errorf("the page of %s lacks %q", b.Name, part)
			}
		}
	}
}

// mattermost is a config with an external adapter, which change changes.
func mattermost(change func(e *config.External)) config.Adapters {
	a := config.Default().Adapters
	e := &config.External{Enabled: true, Command: []string{"mm"}, EnvPass: []string{"MM_TOKEN"}, Settings: config.Settings{"rooms": []any{"a"}}}
	change(e)
	a.External = map[string]*config.External{"mattermost": e}
	return a
}

func TestPL4_AnExternalAdapterIsMadeFromItsTable(t *testing.T) {
	all := Of(mattermost(func(*config.External) {}), config.Credentials{})
	if len(all) != 1 || all[0].Name != "mattermost" || all[0].Err != nil {
		t.Fatalf("the platforms are %+v", all)
	}
	if p := all[0].New(Host{}); p.Name() != "mattermost" {
		t.Errorf("it makes the platform %s", p.Name())
	}
	if all := Of(mattermost(func(e *config.External) { e.Enabled = false }), config.Credentials{}); len(all) != 0 {
		t.Errorf("a disabled one is made: %+v", all)
	}
	kept := program
	program = nil
	t.Cleanup(func() { program = kept })
	if m := Of(mattermost(func(*config.External) {}), config.Credentials{})[0]; m.Err == nil || !strings.Contains(m.Err.Error(), "without external adapters (the build tag no_external)") {
		t.Errorf("left out of the build it says %v", m.Err)
	}
}

func TestPL4_AChangedProgramNeedsAnotherConnection(t *testing.T) {
	was := Of(mattermost(func(*config.External) {}), config.Credentials{})[0]
	for name, tc := range map[string]struct {
		change func(e *config.External)
		same   bool
	}{
		"nothing": {func(*config.External) {}, true},
		"people": {func(e *config.External) {
			e.Allow, e.AllowAll, e.Home, e.Mention = config.IDs{"u1"}, true, "u1", config.MentionNever
		}, true},
		"teardown": {func(e *config.External) { e.Teardown.Duration = 1 }, true},
		"command":  {func(e *config.External) { e.Command = []string{"mm", "-v"} }, false},
		"env_pass": {func(e *config.External) { e.EnvPass = nil }, false},
		"settings": {func(e *config.External) { e.Settings = config.Settings{"rooms": []any{"b"}} }, false},
		"groups":   {func(e *config.External) { e.Groups = config.IDs{"c1"} }, false},
	} {
		if now := Of(mattermost(tc.change), config.Credentials{})[0]; now.Same(was) != tc.same {
			t.Errorf("with another %s a connection serves as well: %t, want %t", name, now.Same(was), tc.same)
		}
	}
}

func TestPL4_ThePageOfExternalAdaptersSaysWhatTheOthersSay(t *testing.T) {
	page, err := os.ReadFile("external.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"# External adapters", "\n## Create", "\n## Configure", "\n## Test", "\n## Limits", "[adapters.mattermost.settings]", "PROTOCOL.md"} {
		if !strings.Contains(string(page), part) {
			t.Errorf("it lacks %q", part)
		}
	}
}
