package irc

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/irc/irctest"
	"gatewaytui/core/ops"
)

func TestPL3_WhatTheBotListensTo(t *testing.T) {
	type want struct {
		text, session, target string
		mentioned             bool
	}
	const group = "irc:group:#help:user:alice"
	for _, tc := range []struct {
		name     string
		who      irctest.Person
		to, text string
		want     *want // nil: nothing
	}{
		{"a message to the bot alone", alice, "bot", "hello", &want{"hello", "irc:dm:alice", "Alice", true}},
		{"a message to the bot in other letters", alice, "BOT", "hello", &want{"hello", "irc:dm:alice", "Alice", true}},
		{"a message in a channel", alice, "#help", "hello", &want{"hello", group, "%23help#Alice", false}},
		{"its name at the beginning", alice, "#Help", "Bot: hello", &want{"hello", group, "%23help#Alice", true}},
		{"its name with a sign", alice, "#help", "@bot, hello", &want{"hello", group, "%23help#Alice", true}},
		{"its name within", alice, "#help", "hello bot!", &want{"hello bot!", group, "%23help#Alice", true}},
		{"a word that begins with its name", alice, "#help", "bottle robot bot_", &want{"bottle robot bot_", group, "%23help#Alice", false}},
		{"a command", alice, "#help", "bot: !stop", &want{"/stop", group, "%23help#Alice", true}},
		{"a command to the bot alone", alice, "bot", "!approve 3", &want{"/approve 3", "irc:dm:alice", "Alice", true}},
		{"a command behind a blank", alice, "bot", " /approve 3", &want{"/approve 3", "irc:dm:alice", "Alice", true}},
		{"a command of another bot", alice, "#help", "!weather", &want{"!weather", group, "%23help#Alice", false}},
		{"an action", alice, "#help", "\x01ACTION looks at bot\x01", &want{"* Alice looks at bot", group, "%23help#Alice", true}},
		{"colours and control codes", alice, "bot", "\x02bold\x0f \x0304,12red\x03 \x04ff0000hex\x1b[2J\x07 \xff", &want{"bold red hex[2J \uFFFD", "irc:dm:alice", "Alice", true}},
		{"a person without an account", bob, "bot", "hello", &want{"hello", "irc:dm:bob!bob@2001:db8::1", "bob", true}},
		{"another channel", alice, "#other", "bot: hello", nil},
		{"the operators of a channel", alice, "@#help", "bot: hello", nil},
		{"someone else", alice, "carol", "hello", nil},
		{"a request of a client", alice, "bot", "\x01VERSION\x01", nil},
		{"a file of a client", alice, "bot", "\x01DCC SEND a 1 2 3\x01", nil},
		{"a stranger", mallory, "#help", "bot: hello", nil},
		{"the nick of a person without their account", irctest.Person{Nick: "Alice", Host: "evil.example"}, "bot", "hello", nil},
		{"an account that is written as an identity", irctest.Person{Nick: "m", Host: "evil.example", Account: "bob!bob@2001:db8::1"}, "bot", "hello", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			simulate(t, func(w *world) {
				w.up(func(*conn) {
					w.server.Say(tc.who, tc.to, tc.text)
					w.after(5 * time.Second)
					got := w.in.Messages()
					if tc.want == nil {
						if len(got) != 0 {
							t.Errorf("received %+v", got)
						}
						return
					}
					if len(got) != 1 {
						t.Fatalf("received %+v", got)
					}
					m := got[0]
					if (want{m.Text, m.Session, m.Target, m.Mentioned}) != *tc.want || m.Dedupe == "" || m.Sender != tc.who.Nick || !strings.HasSuffix(m.User, ")") {
						t.Errorf("received %+v", m)
					}
					if group := strings.HasPrefix(m.Session, "irc:group:"); (m.Chat == adapter.ChatGroup) != group {
						t.Errorf("the chat is a %s", m.Chat)
					}
				})
			})
		})
	}
}

func TestWhatIsNeverAnswered(t *testing.T) {
	simulate(t, func(w *world) {
		w.in.Only(nil)
		w.up(func(*conn) {
			before := len(w.server.Lines())
			w.server.Speak(alice, "NOTICE", "bot", "hello", nil)
			w.server.Speak(alice, "PRIVMSG", "bot", "hello", map[string]string{"bot": ""})
			w.server.Speak(alice, "PRIVMSG", "bot", "hello", map[string]string{"time": "1999-01-01T00:00:00.000Z"})
			w.server.Speak(alice, "PRIVMSG", "bot", "\x01VERSION\x01", nil)
			w.server.Raw(":bot!bot@gateway.example PRIVMSG bot :hello")
			w.server.Raw(":irc.example PRIVMSG bot :hello")
			w.server.Raw("PRIVMSG bot :hello")
			w.server.Raw(":#help!x@y PRIVMSG bot :hello")
			w.server.Raw(":al\x02ice!alice@people.example PRIVMSG bot :hello")
			w.after(time.Minute)
			if got := w.in.Messages(); len(got) != 0 || len(w.texts()) != 0 {
				t.Errorf("received %+v, said %q", got, w.texts())
			}
			for _, l := range w.server.Lines()[before:] {
				if !strings.HasPrefix(l, "PING ") && !strings.HasPrefix(l, "PONG ") {
					t.Errorf("the bot said %q", l)
				}
			}
		})
	})
}

func TestWithoutAccountsAPersonIsNickUserAndHost(t *testing.T) {
	simulateWith(t, irctest.Options{Password: password}, func(w *world) {
		w.in.Only([]string{"alice", "bob!bob@2001:db8::1"})
		w.up(func(*conn) {
			w.server.Say(alice, "bot", "hello") // her account is not told
			w.server.Say(bob, "bot", "hello")
			w.after(time.Minute)
			if got := w.in.Messages(); len(got) != 1 || got[0].Session != "irc:dm:bob!bob@2001:db8::1" || got[0].Dedupe != "" {
				t.Errorf("received %+v", got)
			}
			if got := w.server.Sent(); len(got) != 1 || got[0].To != "Alice" || !strings.Contains(got[0].Text, "alice!alice@people.example") {
				t.Errorf("the stranger heard %+v", got)
			}
		})
	})
}

func TestAMessageThatIsRefusedOrLostSaysSo(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(*conn) {
			w.in.Decide(func(context.Context, adapter.Inbound) error {
				return &ops.Error{Code: ops.CodeQueueFull, Message: "the queue is full"}
			})
			w.server.Say(alice, "bot", "one")
			w.server.Say(alice, "bot", "two")
			w.after(time.Minute)
			w.in.Decide(func(context.Context, adapter.Inbound) error { return errors.New("the disk is full") })
			w.server.Say(alice, "bot", "three")
			w.after(time.Minute)
			w.in.Decide(func(_ context.Context, m adapter.Inbound) error { panic(m.Text) })
			w.server.Say(alice, "bot", "four")
			w.after(time.Minute)
			w.in.Decide(nil)
			w.server.Say(alice, "bot", "")
			w.server.Say(alice, "bot", "five")
			w.after(time.Minute)
			w.in.WantTexts(t, "five")
			got := w.texts()
			if len(got) != 4 || !strings.HasPrefix(got[0], "The queue is full.") || !strings.HasPrefix(got[1], "Your message could not be taken") || got[2] != got[1] || !strings.HasPrefix(got[3], "There is no text") {
				t.Errorf("the person heard %q", got)
			}
		})
	})
}

func TestATeardownEndsAMessageThatIsBeingTaken(t *testing.T) {
	simulate(t, func(w *world) {
		w.in.Decide(func(ctx context.Context, _ adapter.Inbound) error { <-ctx.Done(); return ctx.Err() })
		c := w.dialUp()
		w.server.Say(alice, "bot", "hello")
		w.after(time.Second)
		began := time.Now()
		w.down(c)
		if err := c.Err(); err != nil {
			t.Errorf("a connection that the bot ended says that it broke: %v", err)
		}
		if took := time.Since(began); took > 2*time.Second || w.server.Connections() != 0 {
			t.Errorf("the teardown took %s, and %d connections are left", took, w.server.Connections())
		}
		if !slices.Contains(w.server.Lines(), "QUIT") {
			t.Error("the bot did not send QUIT")
		}
		if _, err := w.send(c, "Alice", "late"); !is[*adapter.UnsentError](err) {
			t.Errorf("a send after the end returned %v", err)
		}
	})
}
