package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/adapter/telegram/botapitest"
	"gatewaytui/fixtures/eventually"
)

// trialScript plays the model of the chats of people from 100 to 199.
const trialScript = `
[[rule]]
match = '(?s)^echo (.+)$'
reply = "$1"

[[rule]]
match = '^slow (\d+)$'
delay = "${1}s"
reply = "That took $1 s."

[[rule]]
match = '^bg: (.+)$'
call = [{ tool = "terminal", arguments = { command = "$1", background = true } }]
then = [{ reply = "It runs." }]

[[rule]]
match = '^make a table$'
call = [{ tool = "terminal", arguments = { command = "echo one,two > table.csv" } }]
then = [{ call = [{ tool = "send_file", arguments = { path = "table.csv", caption = "here it is" } }] }, { reply = "Done." }]

[[rule]]
match = '^long$'
reply = %q

[[rule]]
match = '^styled$'
reply = "**bold** and [a link](https://example.com/)"

[[rule]]
reply = "What?"
`

// longAnswer has 20,000 characters.
var longAnswer = strings.Repeat("four ", 4000)

// trial is a gateway with a Telegram bot, and what people see of it. Each row has a chat of its own. People from 800 on, and the
// group -101, have a model that says word for word what it reads.
type trial struct {
	*testing.T
	bot *botapitest.Server
	g   *gateway
}

type fields = map[string]any

// on is the same trial for a subtest.
func (r trial) on(t *testing.T) trial {
	r.T = t
	return r
}

func (r trial) say(user int64, text string) (id int64) {
	return r.bot.Inject(botapitest.Update{User: user, Text: text})
}

// sent are the messages of the bot in a chat.
func (r trial) sent(chat int64) (out []botapitest.Sent) {
	for _, m := range r.bot.Sent() {
		if m.ChatID == chat {
			out = append(out, m)
		}
	}
	return out
}

func (r trial) texts(chat int64) (out []string) {
	for _, m := range r.sent(chat) {
		out = append(out, m.Text)
	}
	return out
}

// hears waits until the chat has as many messages, each with one of the texts in it, in their order.
func (r trial) hears(chat int64, want ...string) []botapitest.Sent {
	r.Helper()
	matches := func() bool {
		got := r.texts(chat)
		ok := len(got) == len(want)
		for i := 0; ok && i < len(got); i++ {
			ok = strings.Contains(got[i], want[i])
		}
		return ok
	}
	if !eventually.Within(matches) {
		r.Fatalf("chat %d has %q, want %q", chat, r.texts(chat), want)
	}
	return r.sent(chat)
}

// withTrial starts a gateway with a bot that listens in groups and knows every person but 666.
func withTrial(t *testing.T, groups ...int64) trial {
	t.Helper()
	bot := botapitest.New(botToken)
	t.Cleanup(bot.Close)
	dir := t.TempDir()
	script, token := filepath.Join(dir, "script.toml"), filepath.Join(dir, "token")
	for name, content := range map[string]string{token: botToken, script: fmt.Sprintf(trialScript, longAnswer)} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var allow, owners []string
	for n := range 100 {
		owners = append(owners, fmt.Sprintf("%q", fmt.Sprint("telegram:", 100+n)), fmt.Sprintf("%q", fmt.Sprint("telegram:", 800+n)))
		allow = append(allow, fmt.Sprint(100+n), fmt.Sprint(800+n))
	}
	reader := serve(t, endpoint(t, func(w http.ResponseWriter, r *http.Request, last string) {
		if rest, slow := strings.CutPrefix(last, "slowly: "); slow {
			select {
			case <-time.After(2 * time.Second):
			case <-r.Context().Done():
			}
			last = rest
		}
		completed(w, "I read: "+last, "stop")
	}))
	config := quick + fmt.Sprintf(`
[access]
owners = [%s]
[models.default]
provider = "scripted"
script = %q
[models.reader]
provider = "openai"
name = "m"
api_key_env = ""
base_url = %q
[agents.reader]
models = ["reader"]
[[routes]]
match = "telegram:dm:8*"
agent = "reader"
[[routes]]
match = "telegram:group:-101:*"
agent = "reader"
[adapters.telegram]
enabled = true
token_env = ""
token_file = %q
base_url = %q
allow = [%s]
groups = %s
`, strings.Join(owners, ", "), script, reader.URL+"/v1", token, bot.URL, strings.Join(allow, ", "), strings.ReplaceAll(fmt.Sprint(groups), " ", ", "))
	return trial{t, bot, start(t, newHome(t), config)}
}

// trialRows are the rows of the trial of the first edition, section 4, that a chat can see while a gateway runs.
var trialRows = []struct {
	name string
	run  func(r trial)
}{
	{"a message in a direct chat is answered at once", func(r trial) {
		r.say(101, "echo hello")
		r.hears(101, "hello")
	}},
	{"TF10: /start greets, and the menu has the commands", func(r trial) {
		r.say(102, "/start")
		r.hears(102, "Hello! I am an AI agent")
		eventually.True(r, "the menu has the commands", func() bool {
			return slices.ContainsFunc(r.bot.Menu(), func(c botapitest.Command) bool { return c.Name == "stop" })
		})
	}},
	{"a command may name the bot, and be in capitals or behind a space", func(r trial) {
		for _, text := range []string{"/help", "/help@testbot", "/help@otherbot", "/HELP", " /help"} {
			r.say(103, text)
		}
		r.say(103, "echo last")
		eventually.True(r, "the last message is answered", func() bool { return slices.Contains(r.texts(103), "last") })
		eventually.True(r, "the commands for this bot are answered", func() bool { return len(r.texts(103)) == 5 })
	}},
	{"TF13: in a group the bot is silent until it is named, and then knows who spoke", func(r trial) {
		say := func(user int64, text string, more fields) int64 {
			return r.bot.Inject(botapitest.Update{User: user, Chat: -101, UserName: fmt.Sprint("user", user), Text: text, Message: more})
		}
		say(104, "shall we meet?", nil)
		say(105, "at 8", nil)
		id := say(104, "@testbot when?", fields{"entities": []any{fields{"type": "mention", "offset": 0, "length": 8}}})
		m := r.hears(-101, "I read: User says: when?")[0]
		if !strings.Contains(m.Text, "User: shall we meet?\nUser: at 8") || m.ReplyTo != id {
			r.Errorf("the answer is %+v", m)
		}
		say(105, "and where?", fields{"reply_to_message": fields{"message_id": 1, "from": fields{"id": botapitest.BotID, "is_bot": true}, "text": "at 8"}})
		r.hears(-101, "when?", "and where?\n\n[It answers this message:]\nat 8")
	}},
	{"a topic is a conversation of its own", func(r trial) {
		r.bot.Inject(botapitest.Update{User: 106, Chat: -102, Thread: 7, Text: "/status@testbot", Message: fields{"entities": []any{fields{"type": "bot_command", "offset": 0, "length": 15}}}})
		r.bot.Inject(botapitest.Update{User: 106, Chat: -102, Thread: 7, Text: "@testbot hi", Message: fields{"entities": []any{fields{"type": "mention", "offset": 0, "length": 8}}}})
		eventually.True(r, "the topic has two answers", func() bool { return len(r.sent(-102)) == 2 })
		for _, m := range r.sent(-102) {
			if m.ThreadID != 7 {
				r.Errorf("an answer is outside of the topic: %+v", m)
			}
		}
		var page struct{ Items []struct{ Key string } }
		r.g.socket(http.MethodGet, "/v1/sessions?filter=topic", nil, &page)
		if !strings.Contains(fmt.Sprint(page.Items), "telegram:group:-102:topic:7") {
			r.Errorf("the sessions are %v", page.Items)
		}
	}},
	{"an edited message is read as one", func(r trial) {
		id := r.say(807, "helo")
		r.hears(807, "I read: helo")
		r.bot.Inject(botapitest.Update{User: 807, Kind: "edited_message", Text: "hello", Message: fields{"message_id": id, "edit_date": 1}})
		r.hears(807, "I read: helo", "An earlier message, edited: hello")
	}},
	{"a quote is read", func(r trial) {
		r.bot.Inject(botapitest.Update{User: 808, Text: "why?", Message: fields{"reply_to_message": fields{"message_id": 1, "from": fields{"id": 5}, "text": "it rains"}}})
		r.hears(808, "why?\n\n[It answers this message:]\nit rains")
	}},
	{"TF6: a file that comes alone reaches the model by its name", func(r trial) {
		user := int64(810)
		for what, message := range map[string]fields{
			"picture.jpg":                     {"photo": r.bot.Photo("p")},
			"voice message.ogg":               {"voice": r.bot.Document("", "audio/ogg", "v")},
			"x.pdf":                           {"document": r.bot.Document("x.pdf", "application/pdf", "%PDF")},
			"[Location: 48.208200, 16.373800": {"location": fields{"latitude": 48.2082, "longitude": 16.3738}},
			"[Sticker 😀]":                     {"sticker": fields{"file_id": "s", "emoji": "😀", "is_animated": true}},
			"[Contact: Bob, 1]":               {"contact": fields{"first_name": "Bob", "phone_number": "1"}},
		} {
			user++
			r.bot.Inject(botapitest.Update{User: user, Message: message})
			r.hears(user, what)
		}
	}},
	{"TF6: a caption does not hide its file", func(r trial) {
		r.bot.Inject(botapitest.Update{User: 820, Message: fields{"document": r.bot.Document("x.pdf", "application/pdf", "%PDF"), "caption": "summarize"}})
		if m := r.hears(820, "summarize")[0]; !strings.Contains(m.Text, "x.pdf") {
			r.Errorf("the model read %q", m.Text)
		}
	}},
	{"an album is one message with its files", func(r trial) {
		one := fields{"document": r.bot.Document("a.pdf", "application/pdf", "%PDF"), "caption": "compare"}
		r.bot.Album(botapitest.Update{User: 821}, one, fields{"document": r.bot.Document("b.pdf", "application/pdf", "%PDF")})
		if m := r.hears(821, "compare")[0]; !strings.Contains(m.Text, "a.pdf") || !strings.Contains(m.Text, "b.pdf") {
			r.Errorf("the model read %q", m.Text)
		}
	}},
	{"a file of the model arrives with its text", func(r trial) {
		r.say(132, "make a table")
		eventually.True(r, "the file and the answer are there", func() bool { return len(r.sent(132)) == 2 })
		if !slices.ContainsFunc(r.sent(132), func(m botapitest.Sent) bool {
			return m.Kind == "document" && m.FileName == "table.csv" && m.File == "one,two\n" && m.Text == "here it is"
		}) {
			r.Errorf("the chat has %+v", r.sent(132))
		}
	}},
	{"what is forwarded in one go is one message that says whose it is", func(r trial) {
		for i, text := range []string{"it rains", "and snows"} {
			r.bot.Inject(botapitest.Update{User: 822, Text: text, Message: fields{"forward_origin": fields{"type": "hidden_user", "sender_user_name": fmt.Sprint("Bob", i)}}})
		}
		if m := r.hears(822, "[Forwarded from Bob0]\nit rains")[0]; !strings.Contains(m.Text, "[Forwarded from Bob1]\nand snows") {
			r.Errorf("the model read %q", m.Text)
		}
	}},
	{"an answer of 20,000 characters is five messages in order, cut at words", func(r trial) {
		r.say(122, "long")
		eventually.True(r, "five messages are there", func() bool { return len(r.texts(122)) == 5 })
		all := r.texts(122)
		if got := strings.Join(strings.Fields(strings.Join(all, " ")), " "); got != strings.TrimSpace(longAnswer) {
			r.Errorf("together they have %d characters", len(got))
		}
	}},
	{"CV8: Markdown arrives as styles", func(r trial) {
		r.say(123, "styled")
		if m := r.hears(123, "bold and a link")[0]; !strings.Contains(m.Entities, `"bold"`) || !strings.Contains(m.Entities, "https://example.com/") {
			r.Errorf("the styles are %s", m.Entities)
		}
	}},
	{"CV6: a chat sees typing at once, and what runs after ten seconds", func(r trial) {
		r.say(124, "slow 12")
		eventually.True(r, "it types", func() bool {
			return slices.ContainsFunc(r.bot.Actions(), func(a botapitest.Action) bool { return a.ChatID == 124 && a.Action == "typing" })
		})
		r.hears(124, "Waiting for")
		r.hears(124, "That took 12 s.")
	}},
	{"a message while a turn runs waits with a sign on it", func(r trial) {
		r.say(125, "slow 3")
		r.g.await("the turn begins", func(l line) bool { return l.text("msg") == "turn started" && l.text("session") == "telegram:dm:125" })
		id := r.say(125, "echo second")
		eventually.True(r, "the message has the sign", func() bool { return r.bot.Reaction(125, id) == "👀" })
		r.hears(125, "That took 3 s.", "second")
		eventually.True(r, "the sign is gone", func() bool { return r.bot.Reaction(125, id) == "" })
	}},
	{"messages that wait are worked on together", func(r trial) {
		r.say(826, "slowly: first")
		r.say(826, "one thing")
		r.say(826, "and another")
		if m := r.hears(826, "I read: first", "one thing")[1]; !strings.Contains(m.Text, "and another") {
			r.Errorf("the model read %q", m.Text)
		}
	}},
	{"/stop in the middle of a turn says what ended and what goes on", func(r trial) {
		r.say(127, "bg: sleep 600")
		r.hears(127, "It runs.")
		r.say(127, "slow 600")
		eventually.True(r, "the turn runs", func() bool { return r.state("telegram:dm:127") == "running" })
		r.say(127, "/stop")
		r.hears(127, "It runs.", "The turn was interrupted", "Stopped. Still running: 1 background process")
	}},
	{"/new in the middle of a turn ends it with its processes", func(r trial) {
		r.say(128, "bg: sleep 600")
		r.hears(128, "It runs.")
		r.say(128, "slow 600")
		eventually.True(r, "the turn runs", func() bool { return r.state("telegram:dm:128") == "running" })
		r.say(128, "/new")
		r.hears(128, "It runs.", "The turn was ended", "Interrupted the running turn, ended 1 process")
	}},
	{"/background, /sessions and /resume", func(r trial) {
		r.say(129, "/background echo on the side")
		eventually.True(r, "the result arrives", func() bool {
			return slices.ContainsFunc(r.texts(129), func(s string) bool { return strings.HasSuffix(s, "on the side") && !strings.Contains(s, "Working") })
		})
		r.say(129, "echo the first conversation")
		eventually.True(r, "the message is answered", func() bool { return slices.Contains(r.texts(129), "the first conversation") })
		for _, step := range []struct{ say, want string }{{"/new", "Fresh conversation."}, {"/sessions", "1. "}, {"/resume 1", "continues"}} {
			r.say(129, step.say)
			eventually.True(r, step.say+" is answered", func() bool { return strings.Contains(strings.Join(r.texts(129), "\n"), step.want) })
		}
	}},
	{"a stranger gets one notice, with the id", func(r trial) {
		for range 3 {
			r.say(666, "hello")
		}
		r.say(130, "echo after")
		r.hears(130, "after")
		r.hears(666, "Your user id is 666")
	}},
}

// state is the state of a session.
func (r trial) state(key string) string {
	r.Helper()
	var page struct{ Items []struct{ Key, State string } }
	r.g.socket(http.MethodGet, "/v1/sessions?limit=500", nil, &page)
	for _, s := range page.Items {
		if s.Key == key {
			return s.State
		}
	}
	return ""
}

// The rows of the trial that a chat sees, all at the same time on one gateway.
func TestTheTrialOnTelegram(t *testing.T) {
	t.Parallel()
	r := withTrial(t, -101, -102)
	t.Run("row", func(t *testing.T) {
		for _, row := range trialRows {
			t.Run(row.name, func(t *testing.T) {
				t.Parallel()
				row.run(r.on(t))
			})
		}
	})
	r.say(131, "slow 1")
	eventually.True(t, "the last turn runs", func() bool { return r.state("telegram:dm:131") == "running" })
	if code, _ := r.g.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	r.hears(131, "The gateway is stopping. Your running turn may still finish", "That took 1 s.")
}

// Each way in which Telegram fails is named in words, and a held answer arrives after it.
func TestTheTrialOfTelegramsFaults(t *testing.T) {
	t.Parallel()
	r := withTrial(t)
	names := func(want string) {
		t.Helper()
		eventually.True(t, "the row of the adapter has "+want, func() bool {
			var rows string
			r.g.socket(http.MethodGet, "/v1/adapters", nil, &rows)
			return strings.Contains(strings.ReplaceAll(rows, "_", " "), want)
		})
		if out, _ := r.g.verb("adapters", "-o", "wide"); !strings.Contains(out, want) {
			t.Fatalf("adapters does not say %q:\n%s", want, out)
		}
	}
	r.say(101, "echo one")
	r.hears(101, "one")

	r.bot.Fail("sendMessage", botapitest.Fault{Code: 403})
	r.say(102, "echo blocked")
	eventually.True(t, "the answer is refused", func() bool { return strings.Contains(r.g.output(), "bot was blocked by the user") })
	r.bot.Heal()

	r.bot.Fail("sendMessage", botapitest.Fault{Code: 429, RetryAfter: 5, Times: 1})
	r.say(101, "echo after the flood")
	eventually.True(t, "the rate limit is shown", func() bool {
		var page struct {
			Items []struct {
				Name  string
				Until string `json:"rate_limited_until"`
			}
		}
		r.g.socket(http.MethodGet, "/v1/adapters", nil, &page)
		return slices.ContainsFunc(page.Items, func(a struct {
			Name  string
			Until string `json:"rate_limited_until"`
		},
		) bool {
			return a.Name == "telegram" && a.Until != ""
		})
	})
	r.hears(101, "one", "after the flood")

	r.bot.Fail("getUpdates", botapitest.Fault{Code: 409})
	r.say(666, "the poll that is held ends")
	names("conflict")
	r.bot.Heal()
	r.g.verb("adapter", "reconnect", "telegram", "--yes")
	names("connected")

	r.bot.Fail("", botapitest.Fault{Code: 401})
	r.say(666, "the poll that is held ends")
	names("needs credentials")
	r.bot.Heal()
	r.g.verb("adapter", "reconnect", "telegram", "--yes")
	r.say(101, "echo after the credential")
	r.hears(101, "one", "after the flood", "after the credential")

	r.bot.Fail("", botapitest.Fault{Hang: true})
	r.say(101, "echo after the black hole")
	names("within 35s")
	r.bot.Heal()
	r.g.verb("adapter", "reconnect", "telegram", "--yes")
	r.hears(101, "one", "after the flood", "after the credential", "after the black hole")
	if code, _ := r.g.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}
