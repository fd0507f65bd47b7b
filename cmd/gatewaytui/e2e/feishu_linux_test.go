package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gatewaytui/core/adapter/feishu/feishutest"
	"gatewaytui/fixtures/eventually"
)

// feishuModel answers with code, runs a command, sends a file, and else repeats what it hears.
const feishuModel = `
[[rule]]
match = '^code$'
reply = "# Done\n\n~~~go\nx := 1\n~~~"
[[rule]]
match = '^sh:\s*(.+)$'
call  = [{ tool = "terminal", arguments = { command = "$1" } }]
then  = [{ reply = "it ran" }]
[[rule]]
match = '^send (.+)$'
call  = [{ tool = "send_file", arguments = { path = "$1", caption = "here it is" } }]
then  = [{ reply = "sent" }]
[[rule]]
reply = "heard {{input}}"
`

// PL3, CV7, CV9, TR4: on Feishu a message of a thread is answered in the thread. A command waits for the press of a button, and files come
// and go. An answer that Feishu took before the gateway was killed is there once.
func TestPL3_AConversationOnFeishuOverAKill(t *testing.T) {
	const secret, person = "c4naryc4naryc4nary", "ou_7"
	bot := feishutest.New(secret)
	t.Cleanup(bot.Close)
	bot.Name(person, "alice")
	home, dir := newHome(t), t.TempDir()
	victim := filepath.Join(dir, "victim")
	for name, content := range map[string]string{"secret": secret, "model.toml": feishuModel, "victim": "x"} {
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
owners = ["feishu:ou_7"]
[adapters.feishu]
enabled = true
app_id = %q
app_secret_env = ""
app_secret_file = %q
base_url = %q
allow = ["ou_7"]
groups = [%q]
`, filepath.Join(dir, "model.toml"), feishutest.AppID, filepath.Join(dir, "secret"), bot.URL, feishutest.Group)
	alone := feishutest.Alone(person)
	sent := func(chat, text string) (found []feishutest.Message) {
		for _, m := range bot.Sent() {
			if m.To == chat && strings.Contains(m.Text+m.FileName, text) {
				found = append(found, m)
			}
		}
		return found
	}
	has := func(chat, text string) feishutest.Message {
		t.Helper()
		eventually.True(t, fmt.Sprintf("%s has %q", chat, text), func() bool { return len(sent(chat, text)) == 1 })
		return sent(chat, text)[0]
	}

	g := start(t, home, config)
	bot.Say(feishutest.Says{User: person, FileName: "notes.txt", File: "buy milk"})
	has(alone, "buy milk")
	bot.Say(feishutest.Says{User: person, Text: "sh: rm " + victim})
	card := has(alone, "rm "+victim)
	if _, err := os.Stat(victim); err != nil {
		t.Fatalf("the command ran before its answer: %v", err)
	}
	if bot.Press("ou_8", card.ID, "Allow once"); !bot.Press(person, card.ID, "Allow once") {
		t.Fatalf("there is no button below %+v", card)
	}
	has(alone, "it ran")
	if _, err := os.Stat(victim); err == nil {
		t.Error("the command did not run")
	}

	root := bot.Say(feishutest.Says{User: "ou_9", Chat: feishutest.Group, Text: "talk"})
	reply := "POST /open-apis/im/v1/messages/" + root + "/reply"
	replies := func() int { return len(bot.Calls(reply)) }
	bot.Fail(reply, feishutest.Fault{Arrives: true, Hang: true})
	bot.Say(feishutest.Says{User: person, Chat: feishutest.Group, Thread: feishutest.Thread, Root: root, Text: "@_user_1 code", Names: []string{feishutest.BotID}})
	eventually.True(t, "Feishu has the answer", func() bool { return replies() == 1 })
	if err := g.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	g.exit()
	bot.Heal()

	next := start(t, home, config)
	eventually.True(t, "the answer is sent again", func() bool { return replies() == 2 })
	answer := has(feishutest.Group, "Done")
	if !answer.InThread || answer.Answers != root || !strings.Contains(answer.Text, "```go\nx := 1\n```") {
		t.Errorf("the answer is %+v", answer)
	}
	if err := os.WriteFile(filepath.Join(home, "work", "out.csv"), []byte("a,b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	bot.Say(feishutest.Says{User: person, Text: "send out.csv"})
	has(alone, "here it is")
	if m := has(alone, "out.csv"); m.File != "a,b\n" {
		t.Errorf("the file has %q", m.File)
	}
	var page struct{ Items []struct{ Key string } }
	next.socket(http.MethodGet, "/v1/sessions", nil, &page)
	if len(page.Items) != 2 || !strings.Contains(page.Items[0].Key+page.Items[1].Key, "feishu:group:oc_group:thread:omt_thread") {
		t.Errorf("the sessions are %+v", page.Items)
	}
	if code, _ := next.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}
