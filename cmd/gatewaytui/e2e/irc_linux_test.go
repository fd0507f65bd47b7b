package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gatewaytui/core/adapter/irc/irctest"
	"gatewaytui/fixtures/eventually"
)

// ircModel runs a command, answers with code, and else repeats what it hears.
const ircModel = `
[[rule]]
match = '^code$'
reply = "**Done**\n\n~~~go\nx := 1\n~~~"
[[rule]]
match = '^sh:\s*(.+)$'
call  = [{ tool = "terminal", arguments = { command = "$1" } }]
then  = [{ reply = "it ran" }]
[[rule]]
reply = "heard {{input}}"
`

// PL3, TR4: on IRC a command waits for an approval by text, and no one without the account is heard. After a restart a line in a channel is answered
// in the channel, and one to the bot alone is answered there.
func TestPL3_AConversationOnIRCOverARestart(t *testing.T) {
	const secret, channel = "c4naryc4naryc4nary", "#help"
	server := irctest.New(irctest.Options{Caps: irctest.Modern, Password: secret})
	t.Cleanup(server.Close)
	alice := irctest.Person{Nick: "Alice", Host: "people.example", Account: "alice"}
	home, dir := newHome(t), t.TempDir()
	victim := filepath.Join(dir, "victim")
	for name, content := range map[string]string{"secret": secret, "model.toml": ircModel, "victim": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config := quick + fmt.Sprintf(`
[model]
script = %q
[agent]
environment = "local"
approvals = "fence"
[access]
owners = ["irc:alice"]
[adapters.irc]
enabled = true
server = %q
tls = false
nick = "bot"
channels = [%q]
password_file = %q
allow = ["alice"]
`, filepath.Join(dir, "model.toml"), server.Addr, channel, filepath.Join(dir, "secret"))
	has := func(to, text string) {
		t.Helper()
		eventually.True(t, fmt.Sprintf("%s has %q", to, text), func() bool {
			for _, m := range server.Sent() {
				if m.To == to && strings.Contains(m.Text, text) {
					return true
				}
			}
			return false
		})
	}

	g := start(t, home, config)
	eventually.True(t, "the bot is in the channel", func() bool { return server.In(channel) })
	server.Say(irctest.Person{Nick: "Alice", Host: "evil.example"}, channel, "bot: sh: rm "+victim)
	server.Say(alice, "bot", "sh: rm "+victim)
	has("Alice", "rm "+victim)
	has("Alice", "!approve ")
	if _, err := os.Stat(victim); err != nil {
		t.Fatalf("the command ran before its answer: %v", err)
	}
	var asked string
	for _, m := range server.Sent() {
		if id := regexp.MustCompile(`!approve (\w+)`).FindStringSubmatch(m.Text); id != nil {
			asked = id[1]
		}
	}
	server.Say(alice, "bot", "!approve "+asked)
	has("Alice", "it ran")
	if _, err := os.Stat(victim); err == nil {
		t.Error("the command did not run")
	}
	if code, _ := g.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}

	next := start(t, home, config)
	eventually.True(t, "the bot is in the channel again", func() bool { return server.In(channel) })
	server.Say(alice, "bot", "!nothing")
	has("Alice", "There is no command !nothing. !help lists them all.")
	server.Say(alice, "bot", "are you there?")
	has("Alice", "heard are you there?")
	server.Say(alice, channel, "bot: code")
	has(channel, "Alice: \x02Done\x02")
	has(channel, "x := 1")
	var page struct{ Items []struct{ Key string } }
	next.socket(http.MethodGet, "/v1/sessions", nil, &page)
	var keys []string
	for _, item := range page.Items {
		keys = append(keys, item.Key)
	}
	if all := strings.Join(keys, " "); len(keys) != 2 || !strings.Contains(all, "irc:dm:alice") || !strings.Contains(all, "irc:group:#help:user:alice") {
		t.Errorf("the sessions are %q", keys)
	}
	if code, _ := next.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}
