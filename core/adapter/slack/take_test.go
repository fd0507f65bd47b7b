package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/slack/slacktest"
	"gatewaytui/core/ops"
)

func TestPL3_WhatTheBotListensTo(t *testing.T) {
	type says = slacktest.Says
	const (
		me     = "<@U900>"
		root   = "1700000000.000001"
		thread = "slack:channel:C4200:thread:" + root
	)
	in := func(text string) says { return says{User: owner, Channel: channel, Text: text} }
	with := func(s says, change func(*says)) says { change(&s); return s }
	inThread := func(parent, text string) says {
		return with(in(text), func(s *says) { s.Thread, s.Parent = root, parent })
	}
	for _, tc := range []struct {
		name          string
		says          says
		session, text string // session: empty: it is not for the bot; own: the thread that the message begins
		chat          adapter.ChatKind
		overheard     bool // the bot is not addressed
	}{
		{"a message to the bot alone", says{User: owner, Text: "hello"}, "slack:dm:U4711", "hello", adapter.ChatDM, false},
		{"a thread in the chat with the bot alone", says{User: owner, Text: "hello", Thread: root}, "slack:dm:U4711:thread:" + root, "hello", adapter.ChatThread, false},
		{"talk in a channel", in("hello"), "own", "hello", adapter.ChatThread, true},
		{"a mention", in(me + " hello"), "own", "hello", adapter.ChatThread, false},
		{"a mention with a name", in("<@U900|helper> hello"), "own", "hello", adapter.ChatThread, false},
		{"a mention within", in("hello " + me + "!"), "own", "hello @U900!", adapter.ChatThread, false},
		{"a mention of another", in("<@U901> hello"), "own", "@U901 hello", adapter.ChatThread, true},
		{"a mention of one whose id begins like the bot's", in("<@U9001> hello"), "own", "@U9001 hello", adapter.ChatThread, true},
		{"a mention in a thread", inThread("U1", me+" hello"), thread, "hello", adapter.ChatThread, false},
		{"talk in a thread of another", inThread("U1", "hello"), thread, "hello", adapter.ChatThread, true},
		{"an answer in a thread of the bot", inThread("U900", "yes"), thread, "yes", adapter.ChatThread, false},
		{"an answer to another in a thread of the bot", inThread("U900", "<@U1> yes"), thread, "@U1 yes", adapter.ChatThread, true},
		{"an answer that is shown in the channel too", with(inThread("U900", "yes"), func(s *says) { s.Subtype = "thread_broadcast" }), thread, "yes", adapter.ChatThread, false},
		{"a command", in("stop"), "own", "stop", adapter.ChatThread, true},
		{"a command by name", in(me + " /stop"), "own", "/stop", adapter.ChatThread, false},
		{"an action", with(in(me+" waves"), func(s *says) { s.Subtype = "me_message" }), "own", "waves", adapter.ChatThread, false},
		{"a channel that is not listed", with(in(me+" hello"), func(s *says) { s.Channel = "C4300" }), "", "", "", false},
		{"a channel whose id is one of a group", with(in(me+" hello"), func(s *says) { s.Channel = "G4300" }), "", "", "", false},
		{"another bot", says{User: owner, Text: "hello", Bot: true}, "", "", "", false},
		{"the bot itself", says{User: "U900", Text: "hello"}, "", "", "", false},
		{"Slack's own bot", says{User: "USLACKBOT", Text: "hello"}, "", "", "", false},
		{"a user who may not speak", with(in(me+" hello"), func(s *says) { s.User = stranger }), "", "", "", false},
		{"a user joined", says{User: owner, Text: "hello", Subtype: "channel_join"}, "", "", "", false},
		{"a message was deleted", says{User: owner, Text: "hello", Subtype: "message_deleted"}, "", "", "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			simulate(t, func(w *world) {
				w.up(func(*conn) {
					id := w.api.Say(tc.says)
					w.after(time.Second)
					got := w.in.Messages()
					if w.api.Unacked() != 0 {
						w.Error("the message was not acknowledged")
					}
					if tc.session == "" {
						if len(got) != 0 {
							w.Fatalf("the gateway got %+v, want nothing", got)
						}
						return
					}
					if len(got) != 1 {
						w.Fatalf("the gateway got %d messages, want one", len(got))
					}
					m, session := got[0], strings.Replace(tc.session, "own", "slack:channel:C4200:thread:"+id, 1)
					if m.Session != session || m.Text != tc.text || m.Chat != tc.chat || m.ID != id || m.Mentioned == tc.overheard || m.Adapter != "slack" {
						w.Errorf("the gateway got %+v", m)
					}
					if want := "slack:" + cmpChannel(tc.says) + ":" + id; m.Dedupe != want {
						w.Errorf("its name is %q, want %q", m.Dedupe, want)
					}
				})
			})
		})
	}
}

func cmpChannel(s slacktest.Says) string {
	if s.Channel == "" {
		return "D" + s.User
	}
	return s.Channel
}

// talkative is a Receiver with a history of some sessions.
type talkative struct {
	adapter.Receiver
	sessions []string
}

func (r talkative) Remembers(session string) bool { return slices.Contains(r.sessions, session) }

func TestCV10_AThreadInWhichTheBotTakesPartNeedsNoMention(t *testing.T) {
	simulate(t, func(w *world) {
		const root = "1700000000.000001"
		c, err := w.Connect(w.Context(), talkative{w.in, []string{"slack:channel:C4200:thread:" + root}})
		if err != nil {
			w.Fatal(err)
		}
		defer w.down(c.(*conn))
		for _, m := range []slacktest.Says{{Text: "and now?", Thread: root}, {Text: "<@U1> what do you say?", Thread: root}, {Text: "other", Thread: "1700000000.000002"}} {
			m.User, m.Channel, m.Parent = owner, channel, "U1"
			w.api.Say(m)
		}
		w.after(time.Second)
		var mentioned []bool
		for _, m := range w.in.Messages() {
			mentioned = append(mentioned, m.Mentioned)
		}
		if !slices.Equal(mentioned, []bool{true, false, false}) {
			w.Errorf("the messages are for the bot: %t", mentioned)
		}
	})
}

// commanding is a Receiver that knows two chat commands.
type commanding struct{ adapter.Receiver }

func (commanding) Commands(text string) bool {
	return slices.Contains([]string{"/stop", "/approve"}, strings.Fields(text)[0])
}

func TestCV12_AChatCommandBehindAnExclamationMarkIsOne(t *testing.T) {
	const root = "1700000000.000001"
	simulate(t, func(w *world) {
		c, err := w.Connect(w.Context(), commanding{w.in})
		if err != nil {
			w.Fatal(err)
		}
		defer w.down(c.(*conn))
		for _, tc := range []struct {
			says      slacktest.Says
			text      string
			mentioned bool
		}{
			{slacktest.Says{Text: "!stop"}, "/stop", true},
			{slacktest.Says{Text: " !approve K7Q2MX a &amp; b"}, "/approve K7Q2MX a & b", true},
			{slacktest.Says{Channel: channel, Text: "<@U900> !stop"}, "/stop", true},
			{slacktest.Says{Channel: channel, Text: "!stop", Thread: root, Parent: "U900"}, "/stop", true},
			{slacktest.Says{Channel: channel, Text: "!stop"}, "/stop", false}, // the gateway's rules say whose commands in a channel are for it
			{slacktest.Says{Text: "/stop"}, "/stop", true},
			{slacktest.Says{Text: "!stopped"}, "!stopped", true},
			{slacktest.Says{Text: "! stop"}, "! stop", true},
			{slacktest.Says{Text: "please !stop"}, "please !stop", true},
			{slacktest.Says{Text: "!"}, "!", true},
			{slacktest.Says{Text: "<!here>"}, "@here", true},
			{slacktest.Says{Channel: channel, Text: "<@U901> !stop"}, "@U901 !stop", false},
		} {
			tc.says.User = owner
			w.api.Say(tc.says)
			w.after(time.Second)
			all := w.in.Messages()
			if m := all[len(all)-1]; m.Text != tc.text || m.Mentioned != tc.mentioned {
				w.Errorf("%q reads %q, mentioned %t; want %q, %t", tc.says.Text, m.Text, m.Mentioned, tc.text, tc.mentioned)
			}
		}
	})
}

func TestAMessageThatComesAsTwoEventsOrTwiceIsOne(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(*conn) {
			slow := make(chan struct{})
			w.in.Decide(func(context.Context, adapter.Inbound) error { <-slow; return nil })
			w.api.Say(slacktest.Says{User: owner, Channel: channel, Text: "<@U900> hello", Mention: true})
			w.after(4 * time.Second)
			w.api.Repeat() // Slack waits for three seconds
			close(slow)
			w.after(time.Second)
		})
		w.up(func(*conn) { w.after(time.Minute) })
		w.wantTexts("hello")
		if w.api.Unacked() != 0 {
			w.Error("not all was acknowledged")
		}
	})
}

func TestTheModelHearsWhoSpeaksAndReadsPlainText(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(*conn) {
			w.api.Say(slacktest.Says{User: owner, Channel: channel, Text: "<@U900> is <https://example.com/a?b&amp;c|this> &lt;b&gt; for <@U4711> in <#C1|general> &amp; <!here>?", Shared: "what <@U1> said"})
			w.after(time.Second)
			m := w.in.Messages()[0]
			if m.Text != "is this (https://example.com/a?b&c) <b> for @Alice of U4711 in #general & @here?" || m.Quoted != "what @U1 said" {
				w.Errorf("the gateway got %q, quoting %q", m.Text, m.Quoted)
			}
			if m.Sender != "Alice of U4711" || m.User != "Alice of U4711 (U4711)" {
				w.Errorf("it was said by %q, %q", m.User, m.Sender)
			}
			w.say("again")
			w.after(time.Second)
			if n := len(w.api.Calls("users.info")); n != 1 {
				w.Errorf("the name was asked for %d times", n)
			}
		})
	})
}

func TestAUserWhoseNameIsNotKnownIsHeard(t *testing.T) {
	simulate(t, func(w *world) {
		w.api.Fail("users.info", slacktest.Fault{Error: "missing_scope"})
		w.up(func(*conn) {
			w.say("one")
			w.say("two")
			w.after(time.Second)
			w.wantTexts("one", "two")
			if m := w.in.Messages()[0]; m.Sender != "" || m.User != owner {
				w.Errorf("it was said by %q, %q", m.User, m.Sender)
			}
			if n := len(w.api.Calls("users.info")); n != 1 {
				w.Errorf("the name was asked for %d times in a row", n)
			}
		})
	})
}

func TestAWorkspaceIsListed(t *testing.T) {
	simulate(t, func(w *world) {
		w.o.Groups = []string{slacktest.Team}
		w.up(func(*conn) {
			w.api.Say(slacktest.Says{User: owner, Channel: "C9", Text: "<@U900> hello"})
			w.after(time.Second)
			w.wantTexts("hello")
		})
	})
}

func TestAChannelThatIsNotListedIsNamedOnce(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(*conn) {
			for _, text := range []string{"talk", "<@U900> one", "<@U900> two"} {
				w.api.Say(slacktest.Says{User: owner, Channel: "C4300", Text: text})
			}
			w.after(time.Second)
			w.wantTexts()
			if n := w.log.Count(string(ops.LogSlackUnlisted)); n != 1 || !strings.Contains(w.log.String(), "C4300") {
				w.Errorf("the log names the channel %d times:\n%s", n, w.log)
			}
		})
	})
}

func TestI8_AnUnknownUserGetsOneAnswerWithTheirID(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(*conn) {
			for range 3 {
				w.api.Say(slacktest.Says{User: stranger, Text: "hello"})
				w.after(10 * time.Second)
			}
			w.api.Say(slacktest.Says{User: "U667", Channel: channel, Text: "<@U900> hello"})
			w.after(10 * time.Second)
		})
		w.wantTexts()
		w.wantSent("You are not on this bot's allow list. Your user id is U666.")
		if n := w.log.Count(string(ops.LogSlackStranger)); n != 2 {
			w.Errorf("the log has %d lines of unknown users, want one each:\n%s", n, w.log)
		}
		if n := len(w.api.Calls("users.info")); n != 0 {
			w.Errorf("Slack was asked %d times for the names of unknown users", n)
		}
	})
}

func TestHF16_UnknownUsersDoNotDelayAnAllowedUser(t *testing.T) {
	simulate(t, func(w *world) {
		w.api.Fail("chat.", slacktest.Fault{Hang: true})
		w.up(func(*conn) {
			for i := range 300 {
				w.api.Say(slacktest.Says{User: fmt.Sprintf("U1%d", i), Text: "hello"})
			}
			w.say("/stop")
			w.after(time.Millisecond)
			w.wantTexts("/stop")
		})
		if w.unanswered.Load() == 0 {
			w.Error("no unknown user went without an answer")
		}
	})
}

func TestE13_ARefusalThatLastsIsSaidOnce(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(*conn) {
			w.in.Decide(func(context.Context, adapter.Inbound) error {
				return &ops.Error{Code: ops.CodeDraining, Message: "the gateway is stopping", Hint: "try again later"}
			})
			for range 3 {
				w.say("hello")
				w.after(time.Second)
			}
			w.wantSent("The gateway is stopping.")
			w.in.Decide(nil)
			w.say("now")
			w.after(time.Second)
			w.wantTexts("now")
		})
	})
}

func TestAFaultOfTheGatewayIsTriedAgainAndThenSaid(t *testing.T) {
	for _, failures := range []int{2, 3} {
		simulate(t, func(w *world) {
			calls := 0
			w.in.Decide(func(context.Context, adapter.Inbound) error {
				if calls++; calls <= failures {
					if calls == 1 {
						panic("x")
					}
					return errors.New("no disk")
				}
				return nil
			})
			w.up(func(c *conn) {
				w.say("hello")
				w.after(time.Minute)
				if failures < maxAttempts {
					w.wantTexts("hello")
					w.wantSent()
				} else {
					w.wantTexts()
					w.wantSent("Your message could not be taken")
				}
				w.say("next")
				w.after(time.Minute)
				if n := len(w.in.Messages()); n != 4-failures || c.Err() != nil {
					w.Errorf("%d messages, %v", n, c.Err())
				}
			})
		})
	}
}

func TestAMessageOfWhichNothingCanBeReadIsAnswered(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(*conn) {
			w.api.Say(slacktest.Says{User: owner})
			w.after(time.Second)
			w.wantTexts()
			w.wantSent("I cannot read this kind of message")
		})
	})
}

func TestAnEventThatCannotBeReadHoldsUpNoOther(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(*conn) {
			w.api.Event(json.RawMessage(`{"type":"message","user":7}`))
			w.api.Event(json.RawMessage(`{"type":"user_change","user":{"id":"U1"}}`))
			w.api.Event(json.RawMessage(`[]`))
			w.api.Frame(`"no envelope"`)
			w.api.Frame(`{"type":"something_new","payload":7}`)
			w.say("hello")
			w.after(time.Second)
			w.wantTexts("hello")
			if n := w.log.Count(string(ops.LogSlackEventUnreadable)); n != 2 || w.api.Unacked() != 0 {
				w.Errorf("the log has %d lines, %d were not acknowledged:\n%s", n, w.api.Unacked(), w.log)
			}
		})
	})
}

func TestTooManyMessagesEndTheConnectionAndComeAgain(t *testing.T) {
	simulate(t, func(w *world) {
		const all = maxWaiting + 100
		c := w.dialUp()
		release := make(chan struct{})
		w.in.Decide(func(ctx context.Context, _ adapter.Inbound) error {
			select {
			case <-release:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		for range all {
			w.say("hello")
		}
		<-c.Done()
		w.down(c)
		close(release)
		w.up(func(*conn) { w.after(time.Minute) })
		if n := len(w.in.Messages()); n != all {
			w.Errorf("%d messages arrived, want %d", n, all)
		}
	})
}

func TestAChangedMessageIsOneOfItsOwn(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(*conn) {
			id := w.api.Say(slacktest.Says{User: owner, Text: "helo"})
			w.api.Change(dm, id, "hello", true)
			w.api.Change(dm, id, "hello", false) // a preview of a link
			w.api.Change(dm, id, "hello", true)  // the same text
			w.after(time.Second)
			w.wantTexts("helo", "hello")
			if was, is := w.in.Messages()[0], w.in.Messages()[1]; !is.Edited || is.ID != was.ID || is.Dedupe == was.Dedupe || is.Session != was.Session {
				w.Errorf("the change is %+v", is)
			}
		})
	})
}

func TestAnAnswerGoesIntoTheThreadOfItsQuestion(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			first := w.api.Say(slacktest.Says{User: owner, Channel: channel, Text: "<@U900> hello"})
			w.after(time.Second)
			w.api.Say(slacktest.Says{User: owner, Channel: channel, Text: "<@U900> more", Thread: first})
			alone := w.api.Say(slacktest.Says{User: owner, Text: "alone"})
			w.api.Say(slacktest.Says{User: owner, Text: "in a thread", Thread: alone})
			w.after(time.Second)
			got := w.in.Messages()
			if len(got) != 4 || got[0].Session != got[1].Session {
				w.Fatalf("the gateway got %+v", got)
			}
			for _, m := range got {
				if _, err := c.Send(w.Context(), adapter.Outgoing{Target: m.Target, Text: "answer"}); err != nil {
					w.Fatal(err)
				}
			}
			var at []string
			for _, m := range w.api.Sent() {
				at = append(at, place{m.Channel, m.Thread}.String())
			}
			if want := []string{"C4200/" + first, "C4200/" + first, dm, dm + "/" + alone}; !slices.Equal(at, want) {
				w.Errorf("the answers are at %q, want %q", at, want)
			}
		})
	})
}

// A loop of two bots needs that one hears the other.
func TestCV10_AnotherBotIsNotHeardInAChannelAThreadOrAlone(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(*conn) {
			for _, text := range []string{"hello", "<@U900> hello", "/status", "stop"} {
				w.api.Say(slacktest.Says{User: owner, Text: text, Bot: true})
				w.api.Say(slacktest.Says{User: owner, Channel: channel, Text: text, Bot: true, Mention: true})
				w.api.Say(slacktest.Says{User: owner, Channel: channel, Text: text, Bot: true, Thread: "1700000000.000001", Parent: "U900"})
				w.api.Say(slacktest.Says{User: owner, Text: text, Subtype: "bot_message"})
			}
			w.after(time.Minute)
			w.wantTexts()
			w.wantSent()
		})
	})
}
