package mail

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/mail/mailtest"
	"gatewaytui/core/ops"
)

func TestPL3_AThreadOfMailsIsASession(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(*conn) {
			first := w.mails.Say(mailtest.Says{From: owner, Subject: "Ships", Text: "one"})
			second := w.mails.Say(mailtest.Says{From: owner, Subject: "Re: Ships", Text: "two", Answers: first})
			w.mails.Say(mailtest.Says{From: owner, Subject: "Re: Ships", Text: "three", Answers: second, References: []string{first}})
			w.mails.Say(mailtest.Says{From: "ALICE@People.Example", Subject: "Harbours", Text: "four"})
			w.after(time.Second)
			w.wantTexts("Subject: Ships\n\none", "two", "three", "Subject: Harbours\n\nfour")
			got := w.in.Messages()
			if got[0].Session != got[1].Session || got[1].Session != got[2].Session || got[3].Session == got[0].Session {
				w.Errorf("the sessions are %q, %q, %q, %q", got[0].Session, got[1].Session, got[2].Session, got[3].Session)
			}
			for _, m := range got {
				if !strings.HasPrefix(m.Session, "mail:dm:"+owner+":thread:") || m.Chat != adapter.ChatDM || !m.Mentioned {
					w.Errorf("the gateway got %+v", m)
				}
			}
		})
	})
}

func TestAnAnswerStandsInTheThreadAndWhatAnswersItToo(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			root := w.mails.Say(mailtest.Says{From: owner, Subject: "Ships", Text: "one"})
			parent := w.mails.Say(mailtest.Says{From: owner, Subject: "Re: Ships", Text: "two", Answers: root})
			w.after(time.Second)
			asked := w.in.Messages()[1]
			sent, err := c.Send(w.Context(), adapter.Outgoing{Target: asked.Target, Text: "answer", Key: "k"})
			if err != nil {
				w.Fatal(err)
			}
			got := w.mails.Sent()[0]
			if got.Subject != "Re: Ships" || got.InReplyTo != parent || !slices.Equal(got.References, []string{root, parent}) || !slices.Equal(got.To, []string{owner}) ||
				got.From != mailtest.Bot || got.ID != sent.IDs[0] || got.Header.Get("Auto-Submitted") != "auto-replied" {
				w.Errorf("the answer is %s", got.Raw)
			}
			// A client that keeps no References names the answer alone.
			w.mails.Say(mailtest.Says{From: owner, Subject: "Re: Ships", Text: "three", Answers: sent.IDs[0]})
			w.after(time.Second)
			if next := w.in.Messages()[2]; next.Session != asked.Session {
				w.Errorf("the session is %q, want %q", next.Session, asked.Session)
			}
			// What is said in the thread without an answer to a mail answers the last one.
			if _, err := c.Send(w.Context(), adapter.Outgoing{Target: adapter.ChatOf(asked.Target), Text: "by the way"}); err != nil {
				w.Fatal(err)
			}
			if got := w.mails.Sent()[1]; got.Subject != "Re: Ships" || got.InReplyTo == "" {
				w.Errorf("the notice is %s", got.Raw)
			}
		})
	})
}

func TestAMailThatTheGatewayBeginsHasASubjectAndASession(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			sent, err := c.Send(w.Context(), adapter.Outgoing{Target: owner, Text: "## The disk is full\n\nMore.", Key: "k"})
			if err != nil {
				w.Fatal(err)
			}
			got := w.mails.Sent()[0]
			if got.Subject != "The disk is full" || got.InReplyTo != "" || got.Header.Get("Auto-Submitted") != "auto-generated" {
				w.Errorf("the mail is %s", got.Raw)
			}
			for range 2 {
				w.mails.Say(mailtest.Says{From: owner, Subject: "Re: The disk is full", Text: "delete it", Answers: sent.IDs[0]})
			}
			w.after(time.Second)
			if m := w.in.Messages(); len(m) != 2 || m[0].Session != m[1].Session {
				w.Errorf("the gateway got %+v", m)
			}
		})
	})
}

func TestCV10_AListedGroupIsASharedSessionAndAnUnlistedOneIsNot(t *testing.T) {
	simulate(t, func(w *world) {
		w.in.Only([]string{owner, "bob@people.example"})
		to := func(line string) []string { return []string{line} }
		w.up(func(c *conn) {
			first := w.mails.Say(mailtest.Says{From: owner, Text: "all of you", Header: to("Cc: Team <" + team + ">")})
			w.mails.Say(mailtest.Says{From: "bob@people.example", Text: "I agree", Answers: first, Header: to("Cc: " + team)})
			w.mails.Say(mailtest.Says{From: stranger, Text: "me too", Answers: first, Header: to("Cc: " + team)})
			w.mails.Say(mailtest.Says{From: owner, Text: "and you", Header: to("Cc: others@people.example")})
			w.after(time.Second)
			w.wantTexts("all of you", "I agree", "and you")
			got := w.in.Messages()
			if got[0].Session != got[1].Session || !strings.HasPrefix(got[0].Session, "mail:group:"+team+":thread:") || got[0].Chat != adapter.ChatThread || !got[0].Mentioned {
				w.Errorf("the gateway got %+v", got[:2])
			}
			if got[2].Chat != adapter.ChatDM {
				w.Errorf("the gateway got %+v", got[2])
			}
			for _, m := range got {
				if _, err := c.Send(w.Context(), adapter.Outgoing{Target: m.Target, Text: "answer"}); err != nil {
					w.Fatal(err)
				}
			}
			sent := w.mails.Sent()
			if !slices.Equal(sent[1].To, []string{team, "bob@people.example"}) || !slices.Equal(sent[2].To, []string{owner}) {
				w.Errorf("the answers went to %q and %q", sent[1].To, sent[2].To)
			}
		})
	})
}

func TestWhichMailOfAGroupIsForTheBot(t *testing.T) {
	p := New(Options{User: mailtest.Bot, Groups: []string{"Team@people.example"}})
	for name, tc := range map[string]struct {
		header, text string
		want         bool
	}{
		"the bot is in To":              {"To: " + team + ", " + mailtest.Bot, "hello", true},
		"the bot is in Cc":              {"To: " + team + "\r\nCc: " + mailtest.Bot, "hello", false},
		"the text names the bot":        {"To: " + team, "@Bot hello", true},
		"it answers a mail of the bot":  {"To: " + team + "\r\nIn-Reply-To: <gatewaytui.0123456789abcdef.0123456789abcdef01234567@x>", "hello", true},
		"it answers a mail of a person": {"To: " + team + "\r\nIn-Reply-To: <1@x>", "hello", false},
	} {
		e := p.parse(strings.NewReader("From: "+owner+"\r\n"+tc.header+"\r\n\r\n"+tc.text), "1/1")
		if e.message.Mentioned != tc.want || e.message.Chat != adapter.ChatThread {
			t.Errorf("%s: it is for the bot: %t (%+v)", name, e.message.Mentioned, e)
		}
	}
}

func TestNothingAutomaticIsAnswered(t *testing.T) {
	for name, header := range map[string]string{
		"an answer of a program":      "Auto-Submitted: auto-replied (vacation)",
		"a mail of a program":         "Auto-Submitted: auto-generated",
		"a mailing list":              "List-Id: <list.people.example>",
		"a newsletter":                "List-Unsubscribe: <mailto:x@people.example>",
		"bulk":                        "Precedence: bulk",
		"junk":                        "precedence: JUNK",
		"a bounce":                    "Return-Path: <>",
		"a report":                    "Content-Type: multipart/report; boundary=x",
		"an absence note of Exchange": "X-Auto-Response-Suppress: All",
		"a second sender":             "From: eve@people.example",
		"several senders":             "", // below
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *world) {
				raw := header + "\r\nFrom: Alice <" + owner + ">\r\n\r\nhello\r\n"
				if header == "" {
					raw = "From: " + owner + ", eve@people.example\r\n\r\nhello\r\n"
				}
				w.up(func(*conn) {
					w.mails.Put("it", raw, time.Time{})
					w.after(time.Minute)
				})
				w.wantTexts()
				if len(w.mails.Sent()) != 0 || !w.mails.Seen("it") || !strings.Contains(w.log.String(), ops.LogMailIgnored) {
					w.Errorf("sent %q, marked as read: %t, logged %s", w.texts(), w.mails.Seen("it"), w.log)
				}
			})
		})
	}
	for _, from := range []string{mailtest.Bot, "MAILER-DAEMON@people.example", "no-reply@people.example", "noreply+7@people.example", "owner-list@people.example"} {
		p := New(Options{User: mailtest.Bot})
		if e := p.parse(strings.NewReader("From: "+from+"\r\n\r\nhello"), "1/1"); e.ignored == "" {
			t.Errorf("a mail of %s is not ignored", from)
		}
	}
	p := New(Options{User: mailtest.Bot})
	if e := p.parse(strings.NewReader("Auto-Submitted: no\r\nReturn-Path: <"+owner+">\r\nFrom: "+owner+"\r\n\r\nhello"), "1/1"); e.ignored != "" {
		t.Errorf("a mail of a person is ignored: %s", e.ignored)
	}
}

func TestTR1_AnUnknownSenderIsNotReadAndGetsAnAnswerOnlyIfConfirmed(t *testing.T) {
	for _, tc := range []struct {
		name, server, header string
		greeted              int
	}{
		{"without a check", "", "", 0},
		{"forged", "mx.gateway.example", "", 0},
		{"confirmed", "mx.gateway.example", "Authentication-Results: mx.gateway.example; dmarc=pass header.from=people.example", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			simulate(t, func(w *world) {
				w.o.AuthServer = tc.server
				w.up(func(*conn) {
					for range 2 {
						m := mailtest.Says{From: stranger, Text: "let me in"}
						if tc.header != "" {
							m.Header = []string{tc.header}
						}
						w.mails.Say(m)
					}
					w.after(time.Minute)
				})
				w.wantTexts()
				if n := len(w.mails.Sent()); n != tc.greeted {
					w.Errorf("%d answers were sent: %q", n, w.texts())
				}
				if n := strings.Count(w.log.String(), stranger); n != 1 {
					w.Errorf("the sender is in %d log lines: %s", n, w.log)
				}
			})
		})
	}
}

func TestTR1_AForgedSenderIsNotTheOwner(t *testing.T) {
	simulate(t, func(w *world) {
		w.o.AuthServer = "mx.gateway.example"
		w.up(func(*conn) {
			w.mails.Say(mailtest.Says{From: owner, Text: "run it"})
			w.mails.Say(mailtest.Says{From: owner, Text: "run that", Header: []string{
				"Authentication-Results: mx.gateway.example; dmarc=fail header.from=people.example",
				"Authentication-Results: mx.gateway.example; dmarc=pass header.from=people.example",
			}})
			w.mails.Say(mailtest.Says{From: owner, Text: "hello", Header: []string{"Authentication-Results: mx.gateway.example; dmarc=pass header.from=people.example"}})
			w.after(time.Minute)
		})
		w.wantTexts("hello")
	})
}

func TestE15_AMailIsMarkedAsReadOnlyOnceItWasTaken(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.dialUp()
		w.in.Decide(func(ctx context.Context, _ adapter.Inbound) error {
			<-ctx.Done()
			return ctx.Err()
		})
		w.write(mailtest.Says{Text: "stuck", ID: "<1@x>"})
		w.write(mailtest.Says{Text: "behind it", ID: "<2@x>"})
		w.after(time.Second)
		w.down(c)
		if w.mails.Seen("<1@x>") {
			w.Error("a mail that was not taken is marked as read")
		}
		w.in.Decide(nil)
		w.up(func(*conn) { w.after(time.Second) })
		w.wantTexts("stuck", "behind it")
		if !w.mails.Seen("<1@x>") || !w.mails.Seen("<2@x>") {
			w.Error("mails that were taken are not marked as read")
		}
	})
}

func TestE12_AMailHasOneNameForEver(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(*conn) {
			m := mailtest.Says{From: owner, Text: "one", ID: "<1@x>"}
			w.mails.Say(m)
			w.mails.Say(m) // a second copy, by an alias
			m.ID = "<2@x>"
			w.mails.Say(m)
			w.after(time.Second)
		})
		w.wantTexts("one", "one")
		got := w.in.Messages()
		if got[0].Dedupe == "" || got[0].Dedupe == got[1].Dedupe {
			w.Errorf("the names are %q and %q", got[0].Dedupe, got[1].Dedupe)
		}
	})
	p := New(Options{User: mailtest.Bot})
	name := func(from string) string {
		return p.parse(strings.NewReader("From: "+from+"\r\nMessage-ID: <1@x>\r\n\r\nhello"), "1/1").message.Dedupe
	}
	if name(owner) == name(stranger) {
		t.Error("a sender can take the name of another one's mail")
	}
}

func TestE13_ARefusalIsAnAnswerToTheMail(t *testing.T) {
	simulate(t, func(w *world) {
		w.in.Decide(func(context.Context, adapter.Inbound) error {
			return &ops.Error{Code: ops.CodeDraining, Message: "the gateway is about to stop", Hint: "send it again later"}
		})
		w.up(func(*conn) {
			for range 3 {
				w.write(mailtest.Says{Text: "hello", Subject: "Ships"})
			}
			w.after(time.Second)
		})
		sent := w.mails.Sent()
		if len(sent) != 1 || !strings.HasPrefix(sent[0].Text, "The gateway is about to stop.") || sent[0].Subject != "Re: Ships" || sent[0].InReplyTo == "" {
			w.Errorf("sent %+v", sent)
		}
	})
}

func TestAMailOnWhichTheGatewayFailsIsAnsweredOnce(t *testing.T) {
	simulate(t, func(w *world) {
		tries := 0
		w.in.Decide(func(context.Context, adapter.Inbound) error {
			if tries++; tries%2 == 0 {
				panic("a fault")
			}
			return errors.New("a fault")
		})
		w.up(func(*conn) {
			w.write(mailtest.Says{Text: "hello", ID: "<1@x>"})
			w.after(time.Minute)
		})
		if got := w.texts(); len(got) != 1 || !strings.Contains(got[0], "send it again") || tries != maxAttempts || !w.mails.Seen("<1@x>") {
			w.Errorf("after %d tries it sent %q", tries, got)
		}
	})
}

func TestAnOldMailIsLeftAlone(t *testing.T) {
	simulate(t, func(w *world) {
		old := w.mails.Say(mailtest.Says{From: owner, Text: "long ago", Arrived: time.Now().Add(-30 * 24 * time.Hour)})
		w.mails.Say(mailtest.Says{From: owner, Text: "on Friday", Arrived: time.Now().Add(-3 * 24 * time.Hour)})
		w.up(func(*conn) { w.after(time.Minute) })
		w.wantTexts("on Friday")
		if w.mails.Seen(old) {
			w.Error("the old mail is marked as read")
		}
	})
}

func TestMailsComeAtOnceAndWithoutIdleAtThePoll(t *testing.T) {
	for name, o := range map[string]mailtest.Options{"with IDLE": {}, "without IDLE": {NoIdle: true}, "in another folder": {Folder: "Gate \"way\""}} {
		t.Run(name, func(t *testing.T) {
			simulateWith(t, o, func(w *world) {
				w.up(func(c *conn) {
					w.after(time.Hour + w.poll/2) // a wait that lasts is begun again
					w.say("hello")
					if o.NoIdle {
						w.after(w.poll)
					}
					w.after(w.pause / 10)
					w.wantTexts("hello")
					if c.Err() != nil || w.mails.Logins() != 1 {
						w.Errorf("the connection ended with %v, after %d logins", c.Err(), w.mails.Logins())
					}
				})
			})
		})
	}
}

func TestAMailWithoutATextIsItsSubject(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(*conn) {
			w.mails.Say(mailtest.Says{From: owner, Subject: "How are the ships?"})
			w.mails.Say(mailtest.Says{From: owner})
			w.mails.Say(mailtest.Says{From: owner, Subject: "Help", Text: "/help"})
			w.after(time.Second)
			w.wantTexts("How are the ships?", "/help")
			synctest.Wait()
			if got := w.texts(); len(got) != 1 || !strings.Contains(got[0], "no text") {
				w.Errorf("sent %q", got)
			}
		})
	})
}
