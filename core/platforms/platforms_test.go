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
		if p := m.New(slog.New(slog.DiscardHandler)); p.Name() != m.Name {
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
