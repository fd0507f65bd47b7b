package setup

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gatewaytui/core/config"
)

func TestOP5_EachPlatformIsOfferedAndAskedForWhatOnlyItsOperatorKnows(t *testing.T) {
	const secret = "c4nary-c4nary-c4nary"
	answers := map[string][]string{
		"discord": {secret, "4711"},
		"feishu":  {"cli_1", secret, "ou_1"},
		"irc":     {"127.0.0.1:6667", "bot", secret, "alice"},
		"matrix":  {"https://matrix.example", "", secret, "@alice:example.org"},
		"mail":    {"imap.example:993", "smtp.example:587", "bot@example.org", "", "mx.example", secret, "alice@example.org"},
		"slack":   {secret, secret, "U1"},
	}
	for i, b := range config.Default().Adapters.Bots() {
		if b.Name == "telegram" {
			continue
		}
		t.Run(b.Name, func(t *testing.T) {
			dir, w := t.TempDir(), &world{}
			own := answers[b.Name]
			if own == nil {
				t.Fatal("the test has no answers for it")
			}
			all := append(append([]string{"", strconv.Itoa(i + 2)}, own...), "", "")
			_, p, err := run(t, dir, w, nil, all...)
			if err != nil || len(p.answers) > 0 {
				t.Fatalf("%v, %d answers are left\n%s", err, len(p.answers), &p.screen)
			}
			text, screen := read(t, dir, "config.toml"), p.screen.String()
			loaded, err := config.Load(config.Options{Path: filepath.Join(dir, "etc", "config.toml")})
			if err != nil {
				t.Fatal(err)
			}
			now, _ := loaded.Config.Adapters.Bot(b.Name)
			missing, lacks := loaded.Config.Credentials(func(string) string { return "" }).Missing(now)
			if !now.Enabled || lacks {
				t.Errorf("enabled %v, the credential %q is missing: %v", now.Enabled, missing.Source, lacks)
			}
			has(t, "the config", text, "["+"adapters."+b.Name+"]", `owners = ["`+b.Name+":"+own[len(own)-1]+`"]`)
			has(t, "the screen", screen, "on this machine, and in "+b.Title, "core/platforms/"+b.Name+".md", "it is the bot x", "let it read")
			if strings.Contains(text+screen, secret) || strings.Contains(screen, "\x1b") {
				t.Errorf("a secret or a control sequence is shown:\n%s\n%s", text, screen)
			}
			if len(w.examined) != 1 || !strings.Contains(w.examined[0], secret) {
				t.Errorf("asked about %q", w.examined)
			}
			// The second time enter keeps all of it, and the first choice switches it off.
			again := make([]string, len(all)-1) // the owner is known
			if r, p, err := run(t, dir, w, nil, again...); err != nil || r.Changed {
				t.Errorf("%+v %v\n%s", r, err, &p.screen)
			}
			if _, p, err := run(t, dir, w, nil, "", "1", "", ""); err != nil {
				t.Errorf("%v\n%s", err, &p.screen)
			}
			has(t, "the config", read(t, dir, "config.toml"), "enabled = false")
		})
	}
}

func TestOP5_AnAnswerThatIsNotValidAndACredentialThatIsRefusedAreAskedForAgain(t *testing.T) {
	dir, w := t.TempDir(), &world{}
	irc := 2
	for _, b := range config.Default().Adapters.Bots() {
		if b.Name == "irc" {
			break
		}
		irc++
	}
	_, p, err := run(t, dir, w, nil, "", strconv.Itoa(irc), "no port", "bot", "wrong", "", "127.0.0.1:6667", "", "", "", "1", "", "", "right-0123456789", "", "", "")
	if err != nil || len(p.answers) > 0 {
		t.Fatalf("%v, %d answers are left\n%s", err, len(p.answers), &p.screen)
	}
	has(t, "the screen", p.screen.String(), "must be host:port", "the credential is refused")
	has(t, "the config", read(t, dir, "config.toml"), `server = "127.0.0.1:6667"`, `nick = "bot"`)
	if read(t, dir, "irc.password") != "right-0123456789\n" {
		t.Errorf("the file has %q", read(t, dir, "irc.password"))
	}
}
