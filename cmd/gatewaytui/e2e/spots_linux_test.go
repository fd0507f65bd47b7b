package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gatewaytui/core/adapter/discord/discordtest"
	"gatewaytui/core/adapter/feishu/feishutest"
	"gatewaytui/core/adapter/irc/irctest"
	"gatewaytui/core/adapter/mail/mailtest"
	"gatewaytui/core/adapter/matrix/matrixtest"
	"gatewaytui/core/adapter/slack/slacktest"
	"gatewaytui/core/adapter/telegram/botapitest"
)

// spot is the chat of one owner with the bot on one platform, whose server is a double.
type spot struct {
	// name is the platform, owner the id of the person there, and config what the gateway needs.
	name, owner, config string
	// say has the owner say something.
	say func(text string)
	// texts are what the bot said in the chat, as it stands there; strays counts its messages elsewhere.
	texts  func() []string
	strays func() int
	// code reports whether an answer shows a block of code in the platform's own way.
	code func() bool
	// file are the files of the bot, as "NAME: CONTENT"; nil: the platform takes none.
	file func() []string
	// approve allows the request whose card has a text, and reports whether there was one.
	approve func(text string) bool
	// paced means that the platform takes a line in two seconds, so that a request for an approval takes ten: soak asks.
	paced bool
	// freeze makes the server half-dead, each in a way of its own: it accepts and is silent, it sends the header of an answer and
	// no more, or it acknowledges nothing.
	freeze func(frozen bool)
}

// count is how many messages of the bot in the chat have a text.
func (s *spot) count(text string) (n int) {
	for _, m := range s.texts() {
		if strings.Contains(m, text) {
			n++
		}
	}
	return n
}

// secretFile keeps a credential in a file, as the gateway reads it.
func secretFile(t testing.TB, secret string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// allSpots are chats on every platform whose people write messages.
func allSpots(t testing.TB) []*spot {
	return []*spot{onTelegram(t), onDiscord(t), onSlack(t), onFeishu(t), onMatrix(t), onMail(t), onIRC(t)}
}

// among splits messages into those of a chat and the number of the others.
func among[M any](all func() []M, here func(M) bool, text func(M) string) (texts func() []string, strays func() int) {
	return func() (out []string) {
			for _, m := range all() {
				if here(m) {
					out = append(out, text(m))
				}
			}
			return out
		}, func() (n int) {
			for _, m := range all() {
				if !here(m) {
					n++
				}
			}
			return n
		}
}

// filesOf are the files among messages.
func filesOf[M any](all func() []M, file func(M) (name, content string)) func() []string {
	return func() (out []string) {
		for _, m := range all() {
			if name, content := file(m); name != "" {
				out = append(out, name+": "+content)
			}
		}
		return out
	}
}

// anyOf reports whether one of the messages is so.
func anyOf[M any](all func() []M, is func(M) bool) func() bool {
	return func() bool {
		for _, m := range all() {
			if is(m) {
				return true
			}
		}
		return false
	}
}

func onTelegram(t testing.TB) *spot {
	const user = 7
	bot := botapitest.New(botToken)
	t.Cleanup(bot.Close)
	s := &spot{
		name: "telegram", owner: fmt.Sprint(user),
		config:  fmt.Sprintf("[adapters.telegram]\nenabled = true\ntoken_env = \"\"\ntoken_file = %q\nbase_url = %q\nallow = [%d]\n", secretFile(t, botToken), bot.URL, user),
		say:     func(text string) { bot.Inject(botapitest.Update{User: user, Text: text}) },
		code:    anyOf(bot.Sent, func(m botapitest.Sent) bool { return strings.Contains(m.Entities, `"pre"`) }),
		file:    filesOf(bot.Sent, func(m botapitest.Sent) (string, string) { return m.FileName, m.File }),
		approve: func(string) bool { return bot.Press(user, user, "Allow once") },
		freeze: func(frozen bool) {
			if bot.Heal(); frozen {
				bot.Fail("", botapitest.Fault{Hang: true})
			}
		},
	}
	s.texts, s.strays = among(bot.Sent, func(m botapitest.Sent) bool { return m.ChatID == user }, func(m botapitest.Sent) string { return m.Text })
	return s
}

func onDiscord(t testing.TB) *spot {
	const token, user, chat = "c4nary.c4naryc4nary.c4naryc4nary", "4711", "74711"
	bot := discordtest.New(token)
	t.Cleanup(bot.Close)
	s := &spot{
		name: "discord", owner: user,
		config: fmt.Sprintf("[adapters.discord]\nenabled = true\ntoken_env = \"\"\ntoken_file = %q\nbase_url = %q\nallow = [%s]\n", secretFile(t, token), bot.URL, user),
		say:    func(text string) { bot.Say(discordtest.Says{User: user, Name: "alice", Text: text}) },
		code:   anyOf(bot.Sent, func(m discordtest.Message) bool { return strings.Contains(m.Text, "```go") }),
		file:   filesOf(bot.Sent, func(m discordtest.Message) (string, string) { return m.FileName, m.File }),
		approve: func(text string) bool {
			for _, m := range bot.Sent() {
				var rows []struct {
					Components []struct {
						Label string
						ID    string `json:"custom_id"`
					}
				}
				if !strings.Contains(m.Text, text) || json.Unmarshal(m.Components, &rows) != nil {
					continue
				}
				for _, row := range rows {
					for _, b := range row.Components {
						if b.Label == "Allow once" {
							bot.Press(user, chat, b.ID)
							return true
						}
					}
				}
			}
			return false
		},
		freeze: func(frozen bool) {
			bot.Deafen(frozen)
			if bot.Heal(); frozen {
				bot.Fail("", discordtest.Fault{Hang: true})
			}
		},
	}
	s.texts, s.strays = among(bot.Sent, func(m discordtest.Message) bool { return m.Channel == chat }, func(m discordtest.Message) string { return m.Text })
	return s
}

func onSlack(t testing.TB) *spot {
	const appToken, token, user = "xapp-1-A1-4711-c4narycanarycanary", "xoxb-4711-4712-c4narycanarycanary", "U4711"
	bot := slacktest.New(appToken, token)
	t.Cleanup(bot.Close)
	s := &spot{
		name: "slack", owner: user,
		config: fmt.Sprintf("[adapters.slack]\nenabled = true\napp_token_env = \"\"\napp_token_file = %q\nbot_token_env = \"\"\nbot_token_file = %q\nbase_url = %q\nallow = [%q]\n",
			secretFile(t, appToken), secretFile(t, token), bot.URL, user),
		say:  func(text string) { bot.Say(slacktest.Says{User: user, Text: text}) },
		code: anyOf(bot.Sent, func(m slacktest.Message) bool { return strings.Contains(string(m.Blocks), `"rich_text_preformatted"`) }),
		file: filesOf(bot.Sent, func(m slacktest.Message) (string, string) { return m.FileName, m.File }),
		approve: func(text string) bool {
			for _, m := range bot.Sent() {
				if strings.Contains(m.Text, text) && bot.Press(user, m.ID, "Allow once") {
					return true
				}
			}
			return false
		},
		freeze: func(frozen bool) {
			bot.Deafen(frozen)
			if bot.Heal(); frozen {
				bot.Fail("", slacktest.Fault{Header: true})
			}
		},
	}
	s.texts, s.strays = among(bot.Sent, func(m slacktest.Message) bool { return m.Channel == "D"+user }, func(m slacktest.Message) string { return m.Text })
	return s
}

func onFeishu(t testing.TB) *spot {
	const secret, user = "c4naryc4naryc4nary", "ou_7"
	bot := feishutest.New(secret)
	t.Cleanup(bot.Close)
	s := &spot{
		name: "feishu", owner: user,
		config: fmt.Sprintf("[adapters.feishu]\nenabled = true\napp_id = %q\napp_secret_env = \"\"\napp_secret_file = %q\nbase_url = %q\nallow = [%q]\n", feishutest.AppID, secretFile(t, secret), bot.URL, user),
		say:    func(text string) { bot.Say(feishutest.Says{User: user, Text: text}) },
		code:   anyOf(bot.Sent, func(m feishutest.Message) bool { return strings.Contains(m.Text, "```go\nx := 1\n```") }),
		file:   filesOf(bot.Sent, func(m feishutest.Message) (string, string) { return m.FileName, m.File }),
		approve: func(text string) bool {
			for _, m := range bot.Sent() {
				if strings.Contains(m.Text, text) && bot.Press(user, m.ID, "Allow once") {
					return true
				}
			}
			return false
		},
		freeze: func(frozen bool) {
			bot.Deafen(frozen)
			if bot.Heal(); frozen {
				bot.Fail("", feishutest.Fault{Hang: true})
			}
		},
	}
	s.texts, s.strays = among(bot.Sent, func(m feishutest.Message) bool { return m.To == feishutest.Alone(user) }, func(m feishutest.Message) string { return m.Text })
	return s
}

func onMatrix(t testing.TB) *spot {
	const token, user = "syt_c4nary_c4naryc4nary", "@alice:example.org"
	bot := matrixtest.New(token)
	t.Cleanup(bot.Close)
	room := bot.Open(user, "alice")
	s := &spot{
		name: "matrix", owner: user,
		config: fmt.Sprintf("[adapters.matrix]\nenabled = true\nhomeserver = %q\nuser = %q\ntoken_env = \"\"\ntoken_file = %q\nallow = [%q]\n", bot.URL, matrixtest.BotID, secretFile(t, token), user),
		say:    func(text string) { bot.Say(matrixtest.Says{User: user, Name: "alice", Text: text}) },
		code: anyOf(bot.Sent, func(m matrixtest.Message) bool {
			return strings.Contains(m.HTML, `<pre><code class="language-go">x := 1`)
		}),
		file: filesOf(bot.Sent, func(m matrixtest.Message) (string, string) { return m.FileName, m.File }),
		approve: func(text string) bool {
			for _, m := range bot.Sent() {
				for _, r := range m.Reactions {
					if strings.Contains(m.Text, text) && r == "Allow once" {
						bot.React(room, user, m.ID, r)
						return true
					}
				}
			}
			return false
		},
		freeze: func(frozen bool) {
			if bot.Heal(); frozen {
				bot.Fail("", matrixtest.Fault{Hang: true, Header: true})
			}
		},
	}
	s.texts, s.strays = among(bot.Sent, func(m matrixtest.Message) bool { return m.Room == room }, func(m matrixtest.Message) string { return m.Text })
	return s
}

// answerable finds the id of a request in its text.
var answerable = regexp.MustCompile(`/approve (\w+)`)

func onMail(t testing.TB) *spot {
	const password, user = "c4nary.c4naryc4nary", "alice@people.example"
	server := mailtest.New(password, mailtest.Options{})
	t.Cleanup(server.Close)
	root := ""
	s := &spot{
		name: "mail", owner: user,
		config: fmt.Sprintf("[adapters.mail]\nenabled = true\nimap = %q\nsmtp = %q\nuser = %q\npassword_env = \"\"\npassword_file = %q\nauthserv_id = \"mx.gateway.example\"\nallow = [%q]\n",
			server.IMAP, server.SMTP, mailtest.Bot, secretFile(t, password), user),
		code: anyOf(server.Sent, func(m mailtest.Message) bool { return strings.Contains(m.HTML, "<pre><code") }),
		file: filesOf(server.Sent, func(m mailtest.Message) (name, content string) {
			for _, f := range m.Files {
				name, content = f.Name, f.Content
			}
			return name, content
		}),
		freeze: func(frozen bool) { server.Fail(mailtest.Faults{Silent: frozen}) },
	}
	s.say = func(text string) {
		id := server.Say(mailtest.Says{
			From: user, Name: "Alice", Subject: "work", Text: text, Answers: root,
			Header: []string{"Authentication-Results: mx.gateway.example; dmarc=pass header.from=people.example"},
		})
		if root == "" {
			root = id
		}
	}
	s.approve = func(text string) bool { return approveByText(s, text, "/approve ") }
	s.texts, s.strays = among(server.Sent, func(m mailtest.Message) bool { return m.To[0] == user && len(m.To) == 1 }, func(m mailtest.Message) string { return m.Text })
	return s
}

func onIRC(t testing.TB) *spot {
	const secret = "c4naryc4naryc4nary"
	server := irctest.New(irctest.Options{Caps: irctest.Modern, Password: secret})
	t.Cleanup(server.Close)
	alice := irctest.Person{Nick: "Alice", Host: "people.example", Account: "alice"}
	s := &spot{
		name: "irc", owner: "alice", paced: true,
		config: fmt.Sprintf("[adapters.irc]\nenabled = true\nserver = %q\ntls = false\nnick = \"bot\"\npassword_file = %q\nallow = [\"alice\"]\n", server.Addr, secretFile(t, secret)),
		say:    func(text string) { server.Say(alice, "bot", text) },
		code:   anyOf(server.Sent, func(m irctest.Sent) bool { return strings.Contains(m.Text, "x := 1") }),
		freeze: func(frozen bool) { server.Fail(irctest.Faults{Silent: frozen}) },
	}
	s.approve = func(text string) bool { return approveByText(s, text, "!approve ") }
	s.texts, s.strays = among(server.Sent, func(m irctest.Sent) bool { return m.To == "Alice" }, func(m irctest.Sent) string { return m.Text })
	return s
}

// approveByText allows a request with a chat command, on a platform without buttons.
func approveByText(s *spot, text, command string) bool {
	seen := false
	for _, m := range s.texts() {
		seen = seen || strings.Contains(m, text)
		if id := answerable.FindStringSubmatch(m); seen && id != nil {
			s.say(command + id[1])
			return true
		}
	}
	return false
}
