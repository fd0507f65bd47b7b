package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gatewaytui/core/adapter/slack/slacktest"
	"gatewaytui/fixtures/eventually"
)

// PL3: a message in a channel is answered in its thread with a block of code, its owner presses an approval, a file comes, and the
// thread is the same session after a restart. CV7: an answer that Slack took before a SIGKILL exists once.
func TestPL3_AThreadOfSlackIsOneSessionOverRestarts(t *testing.T) {
	t.Parallel()
	const (
		appToken, botToken = "xapp-1-A1-4711-c4narycanarycanary", "xoxb-4711-4712-c4narycanarycanary"
		owner              = "U4711"
	)
	bot := slacktest.New(appToken, botToken)
	t.Cleanup(bot.Close)
	dir := t.TempDir()
	for name, token := range map[string]string{"app": appToken, "bot": botToken} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	home := newHome(t)
	config := quick + fmt.Sprintf(`
[agent]
environment = "local"
approvals = "fence"
[access]
owners = ["slack:%[1]s"]
[adapters.slack]
enabled = true
app_token_env = ""
app_token_file = "%[2]s/app"
bot_token_env = ""
bot_token_file = "%[2]s/bot"
base_url = %[3]q
allow = [%[1]q]
groups = [%[4]q]
`, owner, dir, bot.URL, slacktest.Channel)
	g := start(t, home, config)
	connected := func() {
		t.Helper()
		eventually.True(t, "the bot is there", func() bool { return bot.Connections() == 1 })
	}
	connected()

	bot.Say(slacktest.Says{User: owner, Text: "echo alone"}) // where approvals are asked from then on
	eventually.True(t, "the direct message is answered", func() bool { return len(bot.Sent()) == 1 })
	root := bot.Say(slacktest.Says{User: owner, Channel: slacktest.Channel, Text: "<@" + slacktest.BotUser + "> echo it:\n```go\nx := 1\n```"})
	last := func() (m slacktest.Message) {
		if all := bot.Sent(); len(all) > 0 {
			m = all[len(all)-1]
		}
		return m
	}
	eventually.True(t, "the answer is in the thread", func() bool { return last().Thread == root && strings.Contains(last().Text, "x := 1") })
	if m := last(); m.Channel != slacktest.Channel || !strings.Contains(string(m.Blocks), `"rich_text_preformatted"`) {
		t.Errorf("the answer is %+v", m)
	}
	more := func(text string) { // without the bot's name: it takes part in the thread
		bot.Say(slacktest.Says{User: owner, Channel: slacktest.Channel, Thread: root, Parent: owner, Text: text})
	}
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.MkdirAll(filepath.Join(victim, "precious"), 0o700); err != nil {
		t.Fatal(err)
	}
	more("sh: rm -rf " + victim)
	var card slacktest.Message
	eventually.True(t, "a card asks the owner alone", func() bool {
		for _, m := range bot.Sent() {
			if m.Channel == "D"+owner && strings.Contains(string(m.Blocks), "Allow once") {
				card = m
			}
		}
		return card.ID != ""
	})
	if !bot.Press("U666", card.ID, "Allow once") || !bot.Press(owner, card.ID, "Allow once") {
		t.Fatal("there is no button")
	}
	eventually.True(t, "the command has run", func() bool { _, err := os.Stat(victim); return os.IsNotExist(err) })
	eventually.True(t, "the card says so", func() bool {
		for _, m := range bot.Sent() {
			if m.ID == card.ID {
				return strings.Contains(m.Text, "Allowed") && !strings.Contains(string(m.Blocks), `"actions"`)
			}
		}
		return false
	})
	if code, _ := g.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}

	before := len(bot.Sent())
	bot.Say(slacktest.Says{User: owner, Channel: slacktest.Channel, Thread: root, Parent: owner, Text: "echo read it", Files: map[string]string{"a.txt": "content"}}) // while no gateway runs
	next := start(t, home, config)
	connected()
	eventually.True(t, "the message of the gap is answered", func() bool {
		return len(bot.Sent()) > before && strings.Contains(last().Text, "read it") && last().Thread == root
	})

	posts := func() int { return len(bot.Calls("chat.postMessage")) }
	was := posts()
	bot.Fail("chat.postMessage", slacktest.Fault{Arrives: true, Hang: true})
	more("echo once")
	eventually.True(t, "Slack has the answer", func() bool { return posts() == was+1 })
	if err := next.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	next.exit()
	bot.Heal()
	bot.Others(1)
	third := start(t, home, config)
	connected()
	if out, code := third.verb("status"); code != 0 || !strings.Contains(out, "it has 1 of the app's sockets") {
		t.Errorf("status does not name the other program: %d\n%s", code, out)
	}
	eventually.True(t, "the answer is looked for", func() bool { return len(bot.Calls("conversations.replies")) > 0 })
	more("!help")
	eventually.True(t, "a command in the thread is answered there, as people write it", func() bool {
		return last().Thread == root && strings.Contains(last().Text, "!approve") && !strings.Contains(last().Text, "/approve")
	})
	more("echo the last")
	eventually.True(t, "the next life works", func() bool { return strings.Contains(last().Text, "the last") })
	var texts []string
	for _, m := range bot.Sent() {
		if m.Thread == root {
			texts = append(texts, m.Text)
		}
	}
	if n := len(slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return s != "once" })); n != 1 {
		t.Errorf("the answer is there %d times: %q", n, texts)
	}
	if row := third.session("slack:channel:" + slacktest.Channel + ":thread:" + root); row.Key == "" {
		t.Error("the thread is not a session")
	}
	if code, _ := third.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}
