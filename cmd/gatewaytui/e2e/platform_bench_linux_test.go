package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/adapter/discord/discordtest"
	"gatewaytui/core/adapter/feishu/feishutest"
	"gatewaytui/core/adapter/irc/irctest"
	"gatewaytui/core/adapter/mail/mailtest"
	"gatewaytui/core/adapter/matrix/matrixtest"
	"gatewaytui/core/adapter/slack/slacktest"
	"gatewaytui/core/adapter/telegram/botapitest"
)

// benchPeople is how many people speak to the bot in turn: a platform takes 20 messages a minute in each chat.
const benchPeople = 100

// benchPeer is the other side of a platform.
type benchPeer struct {
	config string
	there  func() bool // the bot listens
	say    func(i int) // person i writes to the bot alone
	sent   func() int  // how many messages the bot has sent
	pause  time.Duration
}

// BenchmarkPlatform is how long the server of each platform waits for the answer to a message, with a model that answers at once. It is
// also what an idle gateway with this platform alone keeps resident.
func BenchmarkPlatform(b *testing.B) {
	for _, c := range []struct {
		name string
		peer func(b *testing.B, secret func(string) string) benchPeer
	}{
		{"telegram", telegramPeer},
		{"discord", discordPeer},
		{"slack", slackPeer},
		{"matrix", matrixPeer},
		{"mail", mailPeer},
		{"irc", ircPeer},
		{"feishu", feishuPeer},
	} {
		b.Run(c.name, func(b *testing.B) {
			p := c.peer(b, func(text string) string {
				file := filepath.Join(b.TempDir(), "secret")
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					b.Fatal(err)
				}
				return file
			})
			g := start(b, newHome(b), atOnce(b)+p.config)
			await(b, p.there)
			<-time.After(time.Second) // modelled: a gateway that was idle for a second
			idle := resident(b, g.cmd.Process.Pid)
			var took []time.Duration
			for i := 0; b.Loop(); i++ {
				before, began := p.sent(), time.Now()
				p.say(i % benchPeople)
				await(b, func() bool { return p.sent() > before })
				took = append(took, time.Since(began))
				<-time.After(p.pause)
			}
			median(b, took, "p50-ms")
			b.ReportMetric(idle, "idle-MiB")
			g.stop()
		})
	}
}

// await looks until ok, often enough for a figure in milliseconds.
func await(b *testing.B, ok func() bool) {
	b.Helper()
	for began := time.Now(); !ok(); {
		if time.Since(began) > patience {
			b.Fatal("it did not come")
		}
		<-time.After(100 * time.Microsecond)
	}
}

// benchIDs are the people as a list of TOML.
func benchIDs(format string) string {
	var all []string
	for i := range benchPeople {
		all = append(all, fmt.Sprintf(format, i))
	}
	return strings.Join(all, ", ")
}

func telegramPeer(b *testing.B, secret func(string) string) benchPeer {
	bot := botapitest.New("1:secret")
	b.Cleanup(bot.Close)
	return benchPeer{
		config: fmt.Sprintf("[adapters.telegram]\nenabled = true\ntoken_env = \"\"\ntoken_file = %q\nbase_url = %q\nallow = [%s]\n", secret("1:secret"), bot.URL, benchIDs("1%03d")),
		there:  func() bool { return bot.Calls("getUpdates") > 0 },
		say:    func(i int) { bot.Inject(botapitest.Update{User: 1000 + int64(i), Text: "hello"}) },
		sent:   func() int { return len(bot.Sent()) },
	}
}

func discordPeer(b *testing.B, secret func(string) string) benchPeer {
	const token = "c4nary.c4naryc4nary.c4naryc4nary"
	bot := discordtest.New(token)
	b.Cleanup(bot.Close)
	return benchPeer{
		config: fmt.Sprintf("[adapters.discord]\nenabled = true\ntoken_env = \"\"\ntoken_file = %q\nbase_url = %q\nallow = [%s]\n", secret(token), bot.URL, benchIDs("1%03d")),
		there:  func() bool { return len(bot.Identifies()) == 1 },
		say:    func(i int) { bot.Say(discordtest.Says{User: fmt.Sprint(1000 + i), Name: "alice", Text: "hello"}) },
		sent:   func() int { return len(bot.Sent()) },
	}
}

func slackPeer(b *testing.B, secret func(string) string) benchPeer {
	const appToken, botToken = "xapp-1-A1-4711-c4narycanarycanary", "xoxb-4711-4712-c4narycanarycanary"
	bot := slacktest.New(appToken, botToken)
	b.Cleanup(bot.Close)
	return benchPeer{
		config: fmt.Sprintf("[adapters.slack]\nenabled = true\napp_token_env = \"\"\napp_token_file = %q\nbot_token_env = \"\"\nbot_token_file = %q\nbase_url = %q\nallow = [%s]\n",
			secret(appToken), secret(botToken), bot.URL, benchIDs(`"U%d1"`)),
		there: func() bool { return bot.Connections() == 1 },
		say:   func(i int) { bot.Say(slacktest.Says{User: fmt.Sprintf("U%d1", i), Text: "hello"}) },
		sent:  func() int { return len(bot.Sent()) },
	}
}

func matrixPeer(b *testing.B, secret func(string) string) benchPeer {
	const token = "syt_c4nary_c4naryc4nary"
	bot := matrixtest.New(token)
	b.Cleanup(bot.Close)
	for i := range benchPeople {
		bot.Open(fmt.Sprintf("@p%d:example.org", i), "alice")
	}
	return benchPeer{
		config: fmt.Sprintf("[adapters.matrix]\nenabled = true\nhomeserver = %q\nuser = %q\ntoken_env = \"\"\ntoken_file = %q\nallow = [%s]\n", bot.URL, matrixtest.BotID, secret(token), benchIDs(`"@p%d:example.org"`)),
		there:  func() bool { return bot.Kept("org.gatewaytui.sync") != nil },
		say:    func(i int) { bot.Say(matrixtest.Says{User: fmt.Sprintf("@p%d:example.org", i), Text: "hello"}) },
		sent:   func() int { return len(bot.Sent()) },
	}
}

// mailPeer pauses between messages: a mailbox is searched ten times a second at most.
func mailPeer(b *testing.B, secret func(string) string) benchPeer {
	const password = "c4nary.c4naryc4nary"
	bot := mailtest.New(password, mailtest.Options{})
	b.Cleanup(bot.Close)
	return benchPeer{
		config: fmt.Sprintf("[adapters.mail]\nenabled = true\nimap = %q\nsmtp = %q\nuser = %q\npassword_env = \"\"\npassword_file = %q\nallow = [%s]\n", bot.IMAP, bot.SMTP, mailtest.Bot, secret(password), benchIDs(`"p%d@people.example"`)),
		there:  func() bool { return bot.Logins() > 0 },
		say:    func(i int) { bot.Say(mailtest.Says{From: fmt.Sprintf("p%d@people.example", i), Text: "hello"}) },
		sent:   func() int { return len(bot.Sent()) },
		pause:  100 * time.Millisecond,
	}
}

// ircPeer pauses between messages: a client of IRC may send one line in two seconds.
func ircPeer(b *testing.B, secret func(string) string) benchPeer {
	const password = "c4naryc4naryc4nary"
	bot := irctest.New(irctest.Options{Caps: irctest.Modern, Password: password})
	b.Cleanup(bot.Close)
	return benchPeer{
		config: fmt.Sprintf("[adapters.irc]\nenabled = true\nserver = %q\ntls = false\nnick = \"bot\"\nchannels = [\"#help\"]\npassword_file = %q\nallow = [%s]\n", bot.Addr, secret(password), benchIDs(`"p%d"`)),
		there:  func() bool { return bot.In("#help") },
		say: func(i int) {
			bot.Say(irctest.Person{Nick: fmt.Sprint("p", i), Host: "people.example", Account: fmt.Sprint("p", i)}, "bot", "hello")
		},
		sent: func() int {
			return len(slices.DeleteFunc(bot.Sent(), func(m irctest.Sent) bool { return m.Text != "ok" }))
		},
		pause: 2 * time.Second,
	}
}

func feishuPeer(b *testing.B, secret func(string) string) benchPeer {
	const password = "c4naryc4naryc4nary"
	bot := feishutest.New(password)
	b.Cleanup(bot.Close)
	for i := range benchPeople {
		bot.Name(fmt.Sprint("ou_", i), "alice")
	}
	return benchPeer{
		config: fmt.Sprintf("[adapters.feishu]\nenabled = true\napp_id = %q\napp_secret_env = \"\"\napp_secret_file = %q\nbase_url = %q\nallow = [%s]\n", feishutest.AppID, secret(password), bot.URL, benchIDs(`"ou_%d"`)),
		there:  func() bool { return bot.Connections() == 1 },
		say:    func(i int) { bot.Say(feishutest.Says{User: fmt.Sprint("ou_", i), Text: "hello"}) },
		sent:   func() int { return len(bot.Sent()) },
	}
}
