package discord

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/discord/discordtest"
	"gatewaytui/core/ops"
)

func TestPL3_MessagesArriveOnceAndInOrder(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			for _, s := range []string{"one", "two", "three"} {
				w.say(s)
			}
			w.after(time.Hour) // with heartbeats
			if c.Err() != nil || time.Since(c.LastInbound()) > time.Minute {
				w.Errorf("after an hour: %v, last frame %s ago", c.Err(), time.Since(c.LastInbound()))
			}
		})
		w.say("in the gap")
		w.up(func(c *conn) {
			w.say("four")
			w.after(time.Second)
		})
		w.wantTexts("one", "two", "three", "in the gap", "four")
		if n := len(w.api.Identifies()); n != 1 {
			w.Errorf("the bot identified %d times, want once", n)
		}
	})
}

func TestPL3_WhatTheBotListensTo(t *testing.T) {
	type says = discordtest.Says
	const (
		guild        = "discord:guild:42:channel:4200"
		guildSession = guild + ":user:4711"
	)
	in := func(channel, text string) says {
		return says{User: owner, Name: "alice", Guild: discordtest.Guild, Channel: channel, Text: text}
	}
	with := func(s says, change func(*says)) says { change(&s); return s }
	for _, tc := range []struct {
		name          string
		says          says
		session, text string // both empty: it is not for the bot
		chat          adapter.ChatKind
		overheard     bool // the bot is not addressed
	}{
		{"a message to the bot alone", says{User: owner, Text: "hello"}, "discord:dm:4711", "hello", adapter.ChatDM, false},
		{"talk in a guild", in("4200", "hello"), guildSession, "hello", adapter.ChatGroup, true},
		{"a mention", in("4200", "<@900> hello"), guildSession, "hello", adapter.ChatGroup, false},
		{"a mention with an old sign", in("4200", "<@!900>hello"), guildSession, "hello", adapter.ChatGroup, false},
		{"a mention within", in("4200", "hello <@900>!"), guildSession, "hello <@900>!", adapter.ChatGroup, false},
		{"a mention of another", in("4200", "<@901> hello"), guildSession, "<@901> hello", adapter.ChatGroup, true},
		{"an answer to the bot", with(in("4200", "yes"), func(s *says) { s.Answers = "900" }), guildSession, "yes", adapter.ChatGroup, false},
		{"an answer to another", with(in("4200", "yes"), func(s *says) { s.Answers = "901" }), guildSession, "yes", adapter.ChatGroup, true},
		{"a command", in("4200", "/stop"), guildSession, "/stop", adapter.ChatGroup, true},
		{"a command by name", in("4200", "<@900> /stop"), guildSession, "/stop", adapter.ChatGroup, false},
		{"a thread", in("4201", "<@900> hello"), guild + ":thread:4201", "hello", adapter.ChatThread, false},
		{"a guild that is not listed", with(in("4300", "<@900> hello"), func(s *says) { s.Guild = "43" }), "", "", "", false},
		{"another bot", says{User: owner, Text: "hello", Bot: true}, "", "", "", false},
		{"the bot itself", says{User: "900", Text: "hello"}, "", "", "", false},
		{"a user who may not speak", with(in("4200", "<@900> hello"), func(s *says) { s.User = stranger }), "", "", "", false},
		{"someone joined", says{User: owner, Text: "hello", Type: 7}, "", "", "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			simulate(t, func(w *world) {
				w.up(func(c *conn) {
					id := w.api.Say(tc.says)
					w.after(time.Second)
					got := w.in.Messages()
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
					if m.Session != tc.session || m.Text != tc.text || m.Chat != tc.chat || m.ID != id || m.Mentioned == tc.overheard || m.Dedupe != "discord:"+id || m.Adapter != "discord" {
						w.Errorf("the gateway got %+v", m)
					}
				})
			})
		})
	}
}

func TestTheModelHearsWhoSpeaksAndWhatIsAnswered(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.api.Say(discordtest.Says{User: owner, Name: "al\x1b[31mice", Text: "no", Answers: discordtest.BotID, Quoted: "shall I?"})
			w.after(time.Second)
			m := w.in.Messages()[0]
			if strings.Contains(m.User+m.Sender, "\x1b") || !strings.Contains(m.Sender, "ice") || !strings.HasSuffix(m.User, "(4711)") {
				w.Errorf("it was said by %q, %q", m.User, m.Sender)
			}
			if m.Quoted != "shall I?" || !m.Mentioned || m.Target != dm || m.Edited {
				w.Errorf("the gateway got %+v", m)
			}
		})
	})
}

func TestOneChannelIsListed(t *testing.T) {
	simulate(t, func(w *world) {
		w.o.Groups = []int64{4200}
		w.up(func(c *conn) {
			for _, channel := range []string{"4200", "4201", "4300", "4300"} {
				w.api.Say(discordtest.Says{User: owner, Guild: "42", Channel: channel, Text: "<@900> in " + channel})
			}
			w.after(time.Second)
			w.wantTexts("in 4200", "in 4201") // the thread is in the channel
			w.api.Say(discordtest.Says{User: owner, Guild: "43", Channel: "4400", Text: "talk elsewhere"})
			w.after(time.Second)
			if n := strings.Count(w.log.String(), string(ops.LogDiscordUnlisted)); n != 1 {
				w.Errorf("the log names the other channel %d times:\n%s", n, w.log)
			}
		})
	})
}

func TestI8_AnUnknownUserGetsOneAnswerWithTheirID(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			for range 3 {
				w.api.Say(discordtest.Says{User: stranger, Text: "hello"})
				w.after(10 * time.Second)
			}
			w.api.Say(discordtest.Says{User: "667", Guild: "42", Channel: "4200", Text: "<@900> hello"})
			w.after(10 * time.Second)
		})
		w.wantTexts()
		w.wantSent("You are not on this bot's allow list. Your user id is 666.")
		if n := strings.Count(w.log.String(), string(ops.LogDiscordStranger)); n != 2 {
			w.Errorf("the log has %d lines of unknown users, want one each:\n%s", n, w.log)
		}
	})
}

func TestHF16_UnknownUsersDoNotDelayAnAllowedUser(t *testing.T) {
	simulate(t, func(w *world) {
		w.api.Fail("POST /channels/", discordtest.Fault{Hang: true})
		w.up(func(c *conn) {
			for i := range 300 {
				w.api.Say(discordtest.Says{User: "1000" + string(rune('0'+i%10)) + string(rune('0'+i/10%10)) + string(rune('0'+i/100)), Text: "hello"})
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
			w.api.Say(discordtest.Says{User: owner})
			w.after(time.Second)
			w.wantTexts()
			w.wantSent("I cannot read this kind of message")
		})
	})
}

func TestAnEventThatCannotBeReadHoldsUpNoOther(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.api.Dispatch("MESSAGE_CREATE", []byte(`{"id":"x","author":7}`))
			w.api.Dispatch("SOMETHING_NEW", []byte(`{"id":1}`))
			w.say("hello")
			w.after(time.Second)
			w.wantTexts("hello")
			if !strings.Contains(w.log.String(), string(ops.LogDiscordEventUnreadable)) {
				w.Errorf("the log does not say so:\n%s", w.log)
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

func TestAChangedMessageIsOneOfItsOwn(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			id := w.api.Say(discordtest.Says{User: owner, Text: "helo"})
			w.api.Change(id, "hello")
			w.api.Dispatch("MESSAGE_UPDATE", []byte(`{"id":"5","channel_id":"74711","content":"https://example.com","author":{"id":"4711"},"embeds":[{}]}`)) // a preview
			w.after(time.Second)
			w.wantTexts("helo", "hello")
			if was, is := w.in.Messages()[0], w.in.Messages()[1]; !is.Edited || is.ID != was.ID || is.Dedupe == was.Dedupe {
				w.Errorf("the change is %+v", is)
			}
		})
	})
}

func TestAnAnswerInAGuildShowsWhatItAnswers(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			id := w.api.Say(discordtest.Says{User: owner, Guild: "42", Channel: "4200", Text: "<@900> hello"})
			w.after(time.Second)
			to := w.in.Messages()[0].Target
			for _, text := range []string{long(2), "more"} {
				if _, err := c.Send(w.Context(), adapter.Outgoing{Target: to, Text: text}); err != nil {
					w.Fatal(err)
				}
			}
			var answers []string
			for _, m := range w.api.Sent() {
				answers = append(answers, m.Channel+" "+m.Answers)
			}
			if want := []string{"4200 " + id, "4200 ", "4200 " + id}; !slices.Equal(answers, want) {
				w.Errorf("the messages answer %q, want %q", answers, want)
			}
			if err := c.Typing(w.Context(), to); err != nil {
				w.Error(err)
			}
		})
	})
}

func TestAChannelThatTheBotMayNotLookAtIsNoThread(t *testing.T) {
	simulate(t, func(w *world) {
		w.api.Fail("GET /channels/", discordtest.Fault{Status: 403})
		w.up(func(c *conn) {
			w.api.Say(discordtest.Says{User: owner, Guild: "42", Channel: "4200", Text: "<@900> hello"})
			w.after(time.Second)
			w.wantTexts("hello")
		})
	})
}

// A loop of two bots needs that one hears the other.
func TestCV10_AnotherBotIsNotHeardInAGuildAThreadOrAlone(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			for _, text := range []string{"hello", "<@900> hello", "/status", "stop"} {
				for _, channel := range []string{"", "4200", "4201"} {
					says := discordtest.Says{User: owner, Name: "other", Channel: channel, Text: text, Bot: true, Answers: "900"}
					if channel != "" {
						says.Guild = discordtest.Guild
					}
					w.api.Say(says)
				}
			}
			w.after(time.Minute)
			w.wantTexts()
			w.wantSent()
		})
	})
}

func TestAVoiceMessageIsAFileThatWasSpoken(t *testing.T) {
	m := message{ID: 9, Channel: 8, Files: []attachment{{ID: 7, Name: "voice-message.ogg", Type: "audio/ogg", Waveform: "AAAA"}, {ID: 6, Name: "a.ogg", Type: "audio/ogg"}}}
	want := []adapter.File{{Name: "voice-message.ogg", Type: "audio/ogg", Spoken: true, Ref: "8/9/7"}, {Name: "a.ogg", Type: "audio/ogg", Ref: "8/9/6"}}
	if got := m.files(); !slices.Equal(got, want) {
		t.Errorf("the files are %+v, want %+v", got, want)
	}
}
