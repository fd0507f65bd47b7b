package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"gatewaytui/core/adapter/telegram/botapitest"
	"gatewaytui/fixtures/eventually"
)

// dialogue is a setup on a terminal.
type dialogue struct {
	*console
	at int // what was shown before has been answered
}

// newSetup runs setup on a terminal, for a home and a config of its own.
func newSetup(t *testing.T, home, config string) *dialogue {
	t.Helper()
	cmd := exec.Command(binary, "setup", "--home", home, "--config", config)
	cmd.Env = append(os.Environ(), "OPENAI_API_KEY=", "TELEGRAM_BOT_TOKEN=")
	return &dialogue{console: ptyOf(t, cmd).read()}
}

// await waits until each of the parts was shown, in this order, after the last answer.
func (d *dialogue) await(parts ...string) {
	d.t.Helper()
	for _, part := range parts {
		eventually.True(d.t, fmt.Sprintf("the terminal is shown %q", part), func() bool { return strings.Contains(d.output()[d.at:], part) })
		d.at += strings.Index(d.output()[d.at:], part) + len(part)
	}
}

// reply waits for a question and answers it.
func (d *dialogue) reply(question, answer string) {
	d.t.Helper()
	d.await(question)
	d.write(answer + "\n")
}

// stopAtEnd stops the gateway that a setup started.
func stopAtEnd(t *testing.T, home string) {
	t.Helper()
	t.Cleanup(func() { _, _ = verb(t, home, "stop", "--yes", "--wait") })
}

func TestOP5_FourTimesEnterAndAnAnswer(t *testing.T) {
	t.Parallel() // it mostly waits
	home, config := newHome(t), filepath.Join(t.TempDir(), "new", "config.toml")
	stopAtEnd(t, home)
	began := time.Now()
	c := newSetup(t, home, config)
	for _, question := range []string{"Which model", "Where do people", "Where may it run", "Write and start?"} {
		c.await(question)
		c.reply("]: ", "")
	}
	c.await("Hello! I am a scripted model", "It works.")
	if code := c.exit(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	t.Logf("from nothing to the first answer: %s", time.Since(began).Round(time.Millisecond))
	isUp(t, home)
	if out, code := verb(t, home, "doctor", "--config", config); code != 0 || !strings.Contains(out, config) {
		t.Errorf("doctor: %d %s", code, out)
	}

	// Run again it changes nothing and leaves the gateway alone.
	before, _ := state(t, home)
	c = newSetup(t, home, config)
	for _, question := range []string{"Which model", "Where do people", "Where may it run", "Write and start?"} {
		c.await(question)
		c.reply("]: ", "")
	}
	c.await("It works.")
	if now, _ := state(t, home); c.exit() != 0 || now.Life != before.Life {
		t.Errorf("life %s became %s", before.Life, now.Life)
	}
}

func TestOP5_AModelAndABotAreTriedAndTheNextRunGoesOn(t *testing.T) {
	t.Parallel() // it mostly waits
	const key, token = "sk-canary-0123456789", "4242:c4naryc4naryc4naryc4nary"
	model := serve(t, httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer "+key:
			http.Error(w, `{"error":{"message":"wrong key"}}`, http.StatusUnauthorized)
		case r.URL.Path == "/v1/models":
			_ = json.NewEncoder(w).Encode(map[string]any{"data": []any{map[string]string{"id": "small"}, map[string]string{"id": "big"}}})
		default:
			completed(w, "I answer.", "stop")
		}
	})))
	bot := botapitest.New(token)
	t.Cleanup(bot.Close)
	home, config := newHome(t), filepath.Join(t.TempDir(), "config.toml")
	stopAtEnd(t, home)
	before := fmt.Sprintf("# my own\n[adapters.telegram]\nbase_url = %q # a double\n", bot.URL)
	if err := os.WriteFile(config, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	file := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(text)
	}

	c := newSetup(t, home, config)
	c.reply("your choice [1]: ", "2")
	c.reply("]: ", "http://127.0.0.1:1/v1") // a wrong address
	c.reply("[none]: ", key)
	c.await("refused")
	c.reply("your choice [1]: ", "1")
	c.reply("[http://127.0.0.1:1/v1]: ", model.URL+"/v1")
	c.reply("[the one that you typed]: ", "")
	c.reply("number or a name", "1") // big; they are sorted
	c.await("It answered in", "I answer.")
	c.reply("your choice [1]: ", "2")
	c.reply("token of the bot", "4242:wrong")
	c.await("does not know this bot")
	c.signal(syscall.SIGINT)
	if code := c.exit(); code != 130 {
		t.Errorf("exit code %d", code)
	}
	c.await("the config and the gateway are as they were")
	if file(config) != before || strings.Contains(c.output()+file(config+".setup"), key) {
		t.Fatalf("an interrupted setup wrote\n%s", file(config))
	}

	c = newSetup(t, home, config)
	c.await("An earlier setup was interrupted")
	c.reply("your choice [2]: ", "")
	c.reply("["+model.URL+"/v1]: ", "")
	c.reply("[none]: ", key)
	c.reply("[big]: ", "")
	c.reply("your choice [1]: ", "2")
	c.reply("token of the bot", token)
	c.await("It is the bot @"+botapitest.BotName, "Write this to @")
	said := regexp.MustCompile(`now: (hello \d{4})\s`)
	eventually.True(t, "the number is shown", func() bool { return said.MatchString(c.output()) })
	bot.Inject(botapitest.Update{User: 4711, Text: said.FindStringSubmatch(c.output())[1]})
	c.await("(id 4711) is the owner")
	c.reply("your choice [", "")
	c.reply("most for a day", "3")
	c.reply("[Y/n]: ", "y")
	c.await("I answer.", "It works.", "@"+botapitest.BotName)
	if code := c.exit(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	eventually.True(t, "the message that named the owner is answered", func() bool {
		for _, m := range bot.Sent() {
			if strings.Contains(m.Text, "I answer.") {
				return true
			}
		}
		return false
	})
	now := file(config)
	for _, part := range []string{"# my own\n[adapters.telegram]\n", " # a double\n", `owners = ["telegram:4711"]`, "allow = [4711]", "per_day = 3.0", model.URL} {
		if !strings.Contains(now, part) {
			t.Errorf("the config lacks %q:\n%s", part, now)
		}
	}
	if all := c.output() + now + file(config+".old"); strings.Contains(all, key) || strings.Contains(all, token) || file(config+".old") != before {
		t.Errorf("a secret is shown, or the old file is another one:\n%s", all)
	}
}

func TestOP5_WithoutATerminalItSaysWhatToDo(t *testing.T) {
	out, code := verb(t, newHome(t), "setup")
	if code != 2 || !strings.Contains(out, "not a terminal") || !strings.Contains(out, "config example") {
		t.Errorf("%d %s", code, out)
	}
}
