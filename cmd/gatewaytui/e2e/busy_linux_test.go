package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gatewaytui/core/adapter/telegram/botapitest"
	"gatewaytui/fixtures/eventually"
)

// working plays a model whose work is a command that waits for a file, and that says what it has read.
const working = `
[[rule]]
match = '^work (\S+)$'
call = [{ tool = "terminal", arguments = { command = "until [ -e $1 ]; do sleep 0.02; done" } }]
then = [{ reply = "the work alone is done" }]

[[rule]]
match = '^then hang$'
hang = true

[[rule]]
match = '^slow$'
delay = "1s"
reply = "slow is done"

[[rule]]
match = '(?s)^.*$'
reply = "read: {{input}}"
`

// talker is a gateway with a Telegram bot and its one user.
type talker struct {
	*gateway
	bot    *botapitest.Server
	config string
	gate   string // the file that ends the work
}

func talk(t *testing.T) *talker {
	const token = "1:secret"
	k := &talker{bot: botapitest.New(token), gate: filepath.Join(t.TempDir(), "gate")}
	t.Cleanup(k.bot.Close)
	dir := t.TempDir()
	tokenFile, script := filepath.Join(dir, "token"), filepath.Join(dir, "script.toml")
	for name, content := range map[string]string{tokenFile: token, script: working} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	k.config = quick + fmt.Sprintf(`
[access]
owners = ["telegram:7"]
[model]
script = %q
[adapters.telegram]
enabled = true
token_env = ""
token_file = %q
base_url = %q
allow_all = true
`, script, tokenFile, k.bot.URL)
	k.gateway = start(t, newHome(t), k.config)
	return k
}

func (k *talker) say(text string) (id int64) {
	return k.bot.Inject(botapitest.Update{User: 7, Text: text})
}

// work begins a turn whose command waits for the gate.
func (k *talker) work() {
	k.t.Helper()
	_ = os.Remove(k.gate) // it is there after an earlier work alone
	k.say("work " + k.gate)
	k.running("telegram:dm:7", "terminal")
}

func (k *talker) open() {
	k.t.Helper()
	if err := os.WriteFile(k.gate, nil, 0o600); err != nil {
		k.t.Fatal(err)
	}
}

func (k *talker) said(text string) (n int) {
	for _, m := range k.bot.Sent() {
		if strings.Contains(m.Text, text) {
			n++
		}
	}
	return n
}

func (k *talker) started() (n int) {
	for _, l := range k.log() {
		if l.text("msg") == "turn started" {
			n++
		}
	}
	return n
}

// CV11: the model reads it after the running command, before its answer; the chat sees that it waits, and one answer.
func TestCV11_ARunningTurnReadsAMessage(t *testing.T) {
	k := talk(t)
	k.work()
	id := k.say("in French, please")
	eventually.True(t, "the message has the sign that it waits", func() bool { return k.bot.Reaction(7, id) == "👀" })
	k.open()
	eventually.True(t, "the turn answers it", func() bool { return k.said("read: in French, please") == 1 })
	eventually.True(t, "the sign has left", func() bool { return k.bot.Reaction(7, id) == "" })
	if n := len(k.bot.Sent()); n != 1 || k.started() != 1 {
		t.Errorf("%d messages and %d turns, want one of each: %+v", n, k.started(), k.bot.Sent())
	}
	var page struct {
		Items []struct{ Role, Content, Who string }
	}
	k.socket(http.MethodGet, "/v1/sessions/telegram:dm:7/transcript", nil, &page)
	var roles []string
	for _, m := range page.Items {
		roles = append(roles, m.Role)
	}
	if got := strings.Join(roles, " "); got != "user assistant tool user assistant" {
		t.Errorf("the transcript is %q", got)
	}
}

func TestCV11_BusyInterruptGivesTheNextMessageTheTurn(t *testing.T) {
	k := talk(t)
	k.say("/busy interrupt")
	eventually.True(t, "the mode is chosen", func() bool { return k.said("until this conversation ends: interrupt") == 1 })
	k.work()
	k.say("rather this")
	eventually.True(t, "the message is answered", func() bool { return k.said("read: rather this") == 1 })
	if n := len(k.bot.Sent()); n != 2 {
		t.Errorf("the chat got %+v, want the mode and one answer", k.bot.Sent())
	}
	if code, _ := k.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	k.gateway = start(t, k.home, k.config)
	k.say("/busy")
	eventually.True(t, "the mode outlives a restart", func() bool { return k.said("A message during a turn: interrupt") == 1 })
}

// CV11, D19: a life that ends after the turn took a message tells its sender so, once.
func TestCV11_AKillAfterAMessageWasReadIsToldOnce(t *testing.T) {
	k := talk(t)
	k.work()
	k.say("one more thing")
	k.say("then hang")
	k.await("both wait", func(l line) bool { return l.text("msg") == "message waits" && l.number("position") == 2 })
	k.open()
	k.await("the turn has read both", func(l line) bool {
		return l.text("msg") == "messages read by the running turn" && l.number("count") == 2
	})
	if err := k.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	k.exit()
	k.gateway = start(t, k.home, k.config)
	k.say("go on")
	eventually.True(t, "the next message is answered", func() bool { return k.said("read: go on") == 1 })
	if n := k.said("The gateway ended while it worked on this message"); n != 1 || len(k.bot.Sent()) != 2 {
		t.Errorf("the chat got %+v, want one notice and one answer", k.bot.Sent())
	}
}

func TestCV11_ThreeFastMessagesAreAtMostTwoTurns(t *testing.T) {
	t.Parallel() // it mostly waits
	k := talk(t)
	for _, text := range []string{"slow", "and this", "and that"} {
		k.say(text)
	}
	eventually.True(t, "all are answered", func() bool { return k.said("slow is done") == 1 && k.said("read: and this\n\nand that") == 1 })
	if n := k.started(); n != 2 {
		t.Errorf("%d turns, want 2", n)
	}
}
