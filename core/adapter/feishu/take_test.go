package feishu

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/feishu/feishutest"
	"gatewaytui/core/adapter/feishu/longconn"
	"gatewaytui/core/ops"
)

func TestPL3_MessagesArriveOnceAndInOrder(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			for i, s := range []string{"one", "two", "three"} {
				w.api.Tear(i + 1) // in so many frames
				w.say(s)
			}
			w.after(time.Hour) // with pings
			if c.Err() != nil || time.Since(c.LastInbound()) > w.ping {
				w.Errorf("after an hour: %v, last frame %s ago", c.Err(), time.Since(c.LastInbound()))
			}
		})
		w.say("in the gap")
		w.up(func(c *conn) {
			w.say("four")
			w.after(time.Second)
		})
		w.wantTexts("one", "two", "three", "in the gap", "four")
	})
}

func TestPL3_WhatTheBotListensTo(t *testing.T) {
	type says = feishutest.Says
	const inGroup = "feishu:group:oc_group"
	in := func(text string, names ...string) says {
		return says{User: owner, Chat: group, Text: text, Names: names}
	}
	with := func(s says, change func(*says)) says { change(&s); return s }
	inThread := func(s *says) { s.Thread, s.Root = feishutest.Thread, "om_root" }
	me, other := feishutest.BotID, "ou_other"
	for _, tc := range []struct {
		name          string
		says          says
		session, text string // both empty: it is not for the bot
		chat          adapter.ChatKind
		overheard     bool // the bot is not addressed
	}{
		{"a message to the bot alone", says{User: owner, Text: "hello"}, "feishu:dm:ou_4711", "hello", adapter.ChatDM, false},
		{"a thread of a chat with the bot alone", with(says{User: owner, Text: "hello"}, inThread), "feishu:dm:ou_4711:thread:omt_thread", "hello", adapter.ChatThread, false},
		{"talk in a group", in("hello"), inGroup + ":user:ou_4711", "hello", adapter.ChatGroup, true},
		{"a mention", in("@_user_1 hello", me), inGroup + ":user:ou_4711", "hello", adapter.ChatGroup, false},
		{"a mention within", in("hello @_user_1!", me), inGroup + ":user:ou_4711", "hello @name of ou_bot!", adapter.ChatGroup, false},
		{"a mention of another", in("@_user_1 hello", other), inGroup + ":user:ou_4711", "@name of ou_other hello", adapter.ChatGroup, true},
		{"a mention of the bot and of another", in("@_user_1 ask @_user_2", me, other), inGroup + ":user:ou_4711", "ask @name of ou_other", adapter.ChatGroup, false},
		{"a mention of everyone", in("@_all hello"), inGroup + ":user:ou_4711", "@all hello", adapter.ChatGroup, true},
		{"a command", in("/stop"), inGroup + ":user:ou_4711", "/stop", adapter.ChatGroup, true},
		{"a command by name", in("@_user_1 /stop", me), inGroup + ":user:ou_4711", "/stop", adapter.ChatGroup, false},
		{"a thread", with(in("@_user_1 hello", me), inThread), inGroup + ":thread:omt_thread", "hello", adapter.ChatThread, false},
		{"a group that is not listed", with(in("@_user_1 hello", me), func(s *says) { s.Chat = "oc_other" }), "", "", "", false},
		{"another bot", says{User: owner, Text: "hello", Bot: true}, "", "", "", false},
		{"the bot itself", says{User: me, Text: "hello"}, "", "", "", false},
		{"a user who may not speak", with(in("@_user_1 hello", me), func(s *says) { s.User = stranger }), "", "", "", false},
		{"a post", says{User: owner, Type: "post", Content: `{"title":"T","content":[[{"tag":"at","user_id":"@_user_1","user_name":"x"},{"tag":"text","text":" see "},{"tag":"a","text":"it","href":"https://example.com"}],[{"tag":"code_block","language":"GO","text":"x := 1\n"}]]}`, Names: []string{other}}, "feishu:dm:ou_4711", "T\n@name of ou_other see it (https://example.com)\n```GO\nx := 1\n```", adapter.ChatDM, false},
		{"a card that was passed on", says{User: owner, Type: "interactive", Content: `{"title":"Build","elements":[[{"tag":"text","text":"failed"}]]}`}, "feishu:dm:ou_4711", "Build\nfailed", adapter.ChatDM, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			simulate(t, func(w *world) {
				w.up(func(c *conn) {
					id := w.api.Say(tc.says)
					w.after(time.Second)
					got := w.in.Messages()
					if w.api.Pending() != 0 {
						w.Error("the event was not acknowledged")
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
					m := got[0]
					if m.Session != tc.session || m.Text != tc.text || m.Chat != tc.chat || m.ID != id || m.Mentioned == tc.overheard || m.Dedupe != "feishu:"+id || m.Adapter != "feishu" {
						w.Errorf("the gateway got %+v", m)
					}
				})
			})
		})
	}
}

func TestTheModelHearsWhoSpeaksAndWhatIsAnswered(t *testing.T) {
	simulate(t, func(w *world) {
		w.api.Name(owner, "al\x1b[31mice")
		w.up(func(c *conn) {
			sent, err := c.Send(w.Context(), adapter.Outgoing{Target: group, Text: "shall **I**?", Markdown: true})
			if err != nil {
				w.Fatal(err)
			}
			for range 2 {
				w.api.Say(feishutest.Says{User: owner, Chat: group, Text: "no", Answers: sent.IDs[0]})
				w.after(time.Second)
			}
			m := w.in.Messages()[0]
			if strings.Contains(m.User+m.Sender, "\x1b") || !strings.Contains(m.Sender, "ice") || !strings.HasSuffix(m.User, "(ou_4711)") {
				w.Errorf("it was said by %q, %q", m.User, m.Sender)
			}
			if m.Quoted != "shall **I**?" || !m.Mentioned {
				w.Errorf("the gateway got %+v", m)
			}
			if looked := len(w.api.Calls("GET /open-apis/im/v1/messages/")); looked != 1 {
				w.Errorf("the message was looked up %d times, want once", looked)
			}
		})
	})
}

func TestAPersonWhoseNameMayNotBeLookedUpIsHeard(t *testing.T) {
	simulate(t, func(w *world) {
		w.api.Name(owner, "")
		const look = "GET /open-apis/contact/"
		w.up(func(c *conn) {
			w.say("one")
			w.say("two")
			w.after(time.Second)
			if m := w.in.Messages()[1]; m.Sender != owner || m.User != owner || len(w.api.Calls(look)) != 1 {
				w.Errorf("%+v was looked up %d times", m, len(w.api.Calls(look)))
			}
			w.api.Name(owner, "alice")
			w.after(w.unnamed)
			w.say("three")
			w.after(time.Second)
			if m := w.in.Messages()[2]; m.Sender != "alice" || m.User != "alice (ou_4711)" {
				w.Errorf("the third is of %q", m.User)
			}
		})
	})
}

func TestAnAnswerToAMessageThatMayNotBeReadIsHeard(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.api.Say(feishutest.Says{User: owner, Text: "hello", Answers: "om_gone"})
			w.after(time.Second)
			w.wantTexts("hello")
			w.api.Fail("GET /open-apis/im/", feishutest.Fault{Status: 500, Times: 2})
			w.api.Say(feishutest.Says{User: owner, Chat: group, Text: "again", Answers: "om_gone2"})
			w.after(time.Minute)
			w.wantTexts("hello", "again")
		})
	})
}

func TestI8_AnUnknownUserGetsOneAnswerWithTheirID(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			for range 3 {
				w.api.Say(feishutest.Says{User: stranger, Text: "hello"})
				w.after(10 * time.Second)
			}
			w.api.Say(feishutest.Says{User: "ou_667", Chat: group, Text: "@_user_1 hello", Names: []string{feishutest.BotID}})
			w.after(10 * time.Second)
		})
		w.wantTexts()
		w.wantSent("You are not on this bot's allow list. Your user id is ou_666.")
		if n := strings.Count(w.log.String(), string(ops.LogFeishuStranger)); n != 2 {
			w.Errorf("the log has %d lines of unknown users, want one each:\n%s", n, w.log)
		}
		if n := len(w.api.Calls("GET /open-apis/contact/")); n != 0 {
			w.Errorf("%d strangers were looked up", n)
		}
	})
}

func TestAGroupThatIsNotListedIsNamedOnce(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			for range 3 {
				w.api.Say(feishutest.Says{User: owner, Chat: "oc_other", Text: "@_user_1 hello", Names: []string{feishutest.BotID}})
			}
			w.after(time.Second)
			if n := strings.Count(w.log.String(), string(ops.LogFeishuUnlisted)); n != 1 {
				w.Errorf("the log names the group %d times:\n%s", n, w.log)
			}
			w.wantSent()
		})
	})
}

func TestHF16_UnknownUsersDoNotDelayAnAllowedUser(t *testing.T) {
	simulate(t, func(w *world) {
		w.api.Fail(sends, feishutest.Fault{Hang: true})
		w.up(func(c *conn) {
			for i := range 300 {
				w.api.Say(feishutest.Says{User: fmt.Sprintf("ou_1%d", i), Text: "hello"})
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
		w.up(func(c *conn) {
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
		w.up(func(c *conn) {
			w.api.Say(feishutest.Says{User: owner, Type: "sticker", Content: `{"file_key":"x"}`})
			w.api.Say(feishutest.Says{User: owner, Chat: group, Type: "sticker", Content: `{"file_key":"x"}`})
			w.after(time.Second)
			w.wantTexts()
			w.wantSent("I cannot read this kind of message")
		})
	})
}

func TestWhatCannotBeReadHoldsUpNothing(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.after(time.Second)
			w.api.Frame([]byte{0xff, 0xff})
			w.api.Frame(longconn.Frame{Method: longconn.Data, Payload: []byte("no JSON")}.Marshal())
			w.api.Dispatch(eventMessage, []byte(`{"message":7}`))
			w.api.Dispatch("something.new_v1", []byte(`{"id":1}`))
			w.api.Dispatch(eventPress, []byte(`{"operator":{"open_id":"ou_4711"},"action":{"value":"text"}}`))
			w.say("hello")
			w.after(time.Second)
			w.wantTexts("hello")
			if n := w.api.Pending(); n != 0 {
				w.Errorf("%d events were not acknowledged", n)
			}
			if n := strings.Count(w.log.String(), string(ops.LogFeishuEventUnreadable)); n != 4 {
				w.Errorf("the log has %d lines of what could not be read:\n%s", n, w.log)
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
		w.up(func(c *conn) { w.after(time.Minute) })
		if n := len(w.in.Messages()); n != all {
			w.Errorf("%d messages arrived, want %d", n, all)
		}
		synctest.Wait()
	})
}

func TestAnAnswerGoesToItsOwnPlace(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			inGroup := w.api.Say(feishutest.Says{User: owner, Chat: group, Text: "hello"})
			w.api.Say(feishutest.Says{User: owner, Chat: group, Thread: feishutest.Thread, Root: inGroup, Text: "in the thread"})
			w.say("alone")
			w.after(time.Second)
			for _, m := range w.in.Messages() {
				if _, err := c.Send(w.Context(), adapter.Outgoing{Target: m.Target, Text: long(1) + "rest"}); err != nil {
					w.Fatal(err)
				}
			}
			var places []string
			for _, m := range w.api.Sent() {
				places = append(places, fmt.Sprintf("%s %s %t", m.To, m.Answers, m.InThread))
			}
			alone := feishutest.Alone(owner) + "  false"
			want := []string{group + " " + inGroup + " false", group + "  false", group + " " + inGroup + " true", group + " " + inGroup + " true", alone, alone}
			if !slices.Equal(places, want) {
				w.Errorf("the messages went to %q, want %q", places, want)
			}
		})
	})
}

func TestAnAnswerToAMessageThatIsGoneComesWithoutIt(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			if _, err := c.Send(w.Context(), adapter.Outgoing{Target: group + "#om_gone", Text: "answer"}); err != nil {
				w.Error(err)
			}
			w.wantSent("answer")
			if _, err := c.Send(w.Context(), adapter.Outgoing{Target: group + "/omt_1/om_gone#om_gone", Text: "answer"}); !is[*adapter.RefusedError](err) {
				w.Errorf("the answer in a thread that is gone returned %v", err)
			}
		})
	})
}

// A loop of two bots needs that one hears the other.
func TestCV10_AnotherBotIsNotHeardInAGroupAThreadOrAlone(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			for _, text := range []string{"hello", "@_user_1 hello", "/status", "stop"} {
				for _, says := range []feishutest.Says{{}, {Chat: group}, {Chat: group, Thread: feishutest.Thread, Root: "om_1"}} {
					says.User, says.Text, says.Names, says.Bot = owner, text, []string{feishutest.BotID}, true
					w.api.Say(says)
				}
			}
			w.after(time.Minute)
			w.wantTexts()
			w.wantSent()
		})
	})
}
