package matrix

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/matrix/matrixtest"
	"gatewaytui/core/ops"
)

type says = matrixtest.Says

func TestPL3_MessagesArriveOnceAndInOrder(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			for _, s := range []string{"one", "two", "three"} {
				w.say(s)
			}
			w.after(time.Hour) // with polls
			if c.Err() != nil || time.Since(c.LastInbound()) > time.Minute {
				w.Errorf("after an hour: %v, last /sync %s ago", c.Err(), time.Since(c.LastInbound()))
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
	const (
		group   = "matrix:group:" + listed
		session = group + ":user:" + owner
	)
	in := func(text string) says { return says{User: owner, Name: "alice", Room: listed, Text: text} }
	with := func(s says, change func(*says)) says { change(&s); return s }
	for _, tc := range []struct {
		name          string
		says          says
		session, text string // both empty: it is not for the bot
		chat          adapter.ChatKind
		overheard     bool // the bot is not addressed
	}{
		{"a message to the bot alone", says{User: owner, Text: "hello"}, "matrix:dm:" + owner, "hello", adapter.ChatDM, false},
		{"a thread with the bot alone", says{User: owner, Text: "hello", Thread: "$root"}, "matrix:dm:" + owner + ":thread:$root", "hello", adapter.ChatThread, false},
		{"talk in a room", in("hello"), session, "hello", adapter.ChatGroup, true},
		{"a mention", with(in("Helper: hello"), func(s *says) { s.Mentions = []string{matrixtest.BotID} }), session, "hello", adapter.ChatGroup, false},
		{"a mention by id", with(in(matrixtest.BotID+" hello"), func(s *says) { s.Mentions = []string{matrixtest.BotID} }), session, "hello", adapter.ChatGroup, false},
		{"a mention of an old program", in("helper, hello"), session, "hello", adapter.ChatGroup, false},
		{"a name without a mention", with(in("Helper hello"), func(s *says) { s.Mentions = []string{} }), session, "Helper hello", adapter.ChatGroup, true},
		{"a mention within", in("hello " + matrixtest.BotID), session, "hello " + matrixtest.BotID, adapter.ChatGroup, false},
		{"a word that begins like the name", in("helpers: hello"), session, "helpers: hello", adapter.ChatGroup, true},
		{"a mention of another", with(in("bob: hello"), func(s *says) { s.Mentions = []string{"@bob:example.org"} }), session, "bob: hello", adapter.ChatGroup, true},
		{"a command", in("/stop"), session, "/stop", adapter.ChatGroup, true},
		{"a command by name", in("Helper: /stop"), session, "/stop", adapter.ChatGroup, false},
		{"an action", says{User: owner, Text: "waves", Kind: "m.emote"}, "matrix:dm:" + owner, "* waves", adapter.ChatDM, false},
		{"a place", says{User: owner, Text: "here", Kind: "m.location", More: map[string]any{"geo_uri": "geo:1,2"}}, "matrix:dm:" + owner, "here (geo:1,2)", adapter.ChatDM, false},
		{"a thread", with(in("Helper: hello"), func(s *says) { s.Thread = "$root" }), group + ":thread:$root", "hello", adapter.ChatThread, false},
		{"a notice of another bot", says{User: owner, Text: "hello", Kind: "m.notice"}, "", "", "", false},
		{"the bot itself", says{User: matrixtest.BotID, Room: listed, Text: "hello"}, "", "", "", false},
		{"a user who may not speak", with(in("Helper: hello"), func(s *says) { s.User = stranger }), "", "", "", false},
		{"a user whose id is not one", with(in("Helper: hello"), func(s *says) { s.User = "@a\nb:example.org" }), "", "", "", false},
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
					if m.Session != tc.session || m.Text != tc.text || m.Chat != tc.chat || m.ID != id || m.Mentioned == tc.overheard || m.Dedupe != "matrix:"+id || m.Adapter != "matrix" {
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
			sent, err := c.Send(w.Context(), adapter.Outgoing{Target: listed, Text: "shall I?"})
			if err != nil {
				w.Fatal(err)
			}
			text := "> <" + matrixtest.BotID + "> shall I?\n\nno"
			id := w.api.Say(says{User: owner, Name: "al\x1b[31mice", Room: listed, Text: text, Answers: sent.IDs[0]})
			w.after(time.Second)
			m := w.in.Messages()[0]
			if strings.Contains(m.User+m.Sender, "\x1b") || !strings.Contains(m.Sender, "ice") || !strings.HasSuffix(m.User, "("+owner+")") {
				w.Errorf("it was said by %q, %q", m.User, m.Sender)
			}
			if m.Quoted != "shall I?" || m.Text != "no" || !m.Mentioned || m.Target != listed+"#"+id {
				w.Errorf("the gateway got %+v", m)
			}
		})
	})
}

func TestAMessageThatWasChangedIsAChangeOfItsThread(t *testing.T) {
	simulate(t, func(w *world) {
		w.in.Only([]string{owner, "@bob:example.org"})
		w.up(func(c *conn) {
			id := w.api.Say(says{User: owner, Name: "alice", Room: listed, Text: "Helper: one", Thread: "$root"})
			w.api.Change(listed, owner, id, "Helper: two")
			w.api.Change(listed, "@bob:example.org", id, "Helper: three") // not his
			w.api.Change(listed, owner, "$gone", "Helper: four")
			w.after(time.Second)
			w.wantTexts("one", "two")
			first, second := w.in.Messages()[0], w.in.Messages()[1]
			if !second.Edited || second.ID != id || second.Session != first.Session || second.Dedupe == first.Dedupe {
				w.Errorf("the gateway got %+v", second)
			}
		})
	})
}

func TestARoomOfThreeIsNoLongerOneWithASinglePerson(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.say("alone")
			w.after(time.Second)
			w.api.Enter(dm, stranger, "mallory")
			w.say("with another")
			w.api.Say(says{User: owner, Name: "alice", Text: "Helper: hello?"})
			w.api.Say(says{User: owner, Name: "alice", Text: "/status"})
			w.after(time.Second)
			w.wantTexts("alone")
			w.wantSent("This room is not on my list. Its id is " + dm)
			if n := strings.Count(w.log.String(), string(ops.LogMatrixUnlisted)); n != 1 {
				w.Errorf("the room was logged %d times, want once", n)
			}
		})
	})
}

func TestI8_AnUnknownUserIsToldOnceAndLoggedOnce(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			for range 3 {
				w.api.Say(says{User: stranger, Text: "hello"})
				w.api.Say(says{User: stranger, Room: listed, Text: "Helper: hello"})
			}
			w.after(time.Minute)
			w.wantTexts()
			w.wantSent("You are not on this bot's allow list. Your user id is " + stranger)
			if n := strings.Count(w.log.String(), string(ops.LogMatrixStranger)); n != 1 {
				w.Errorf("the user was logged %d times, want once", n)
			}
		})
	})
}

func TestAnInvitationIsAcceptedFromWhoMaySpeak(t *testing.T) {
	const room, other = "!new:example.org", "!trap:example.org"
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.api.Enter(room, owner, "alice")
			w.api.Say(says{User: owner, Name: "alice", Room: "!elsewhere:example.org", Text: "not for the bot"})
			w.api.Invite(room, owner, "alice")
			w.api.Inject(room, owner, "m.room.message", map[string]any{"msgtype": "m.text", "body": "come in"})
			w.api.Invite(other, stranger, "mallory")
			w.after(time.Second)
			if !w.api.Joined(room) || w.api.Joined(other) {
				w.Errorf("the bot is in the room: %t, in the other one: %t", w.api.Joined(room), w.api.Joined(other))
			}
			w.after(time.Minute)
			w.wantTexts("not for the bot", "come in")
		})
		w.in.Only([]string{owner, stranger})
		w.restart()
		w.up(func(c *conn) {
			w.after(time.Minute)
			if !w.api.Joined(other) {
				w.Error("the invitation was forgotten in the next life")
			}
		})
		if n := strings.Count(w.log.String(), string(ops.LogMatrixInvite)); n != 1 {
			w.Errorf("invitations were logged %d times, want once", n)
		}
	})
}

func TestWhatWasSaidBeforeTheInvitationIsNotForTheBot(t *testing.T) {
	const room = "!old:example.org"
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.api.Enter(room, owner, "alice")
			w.api.Inject(room, owner, "m.room.message", map[string]any{"msgtype": "m.text", "body": "old"})
			w.api.Invite(room, owner, "alice")
			w.after(time.Second)
			w.api.Say(says{User: owner, Name: "alice", Room: room, Text: "new"})
			w.after(time.Second)
			w.wantTexts("new")
		})
	})
}

func TestAJoinThatFailsIsTriedAgain(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.api.Fail("POST /_matrix/client/v3/join/", matrixtest.Fault{Status: 502, Times: 2})
			w.api.Invite("!new:example.org", owner, "alice")
			w.after(5 * time.Minute)
			if !w.api.Joined("!new:example.org") {
				w.Error("the bot is not in the room")
			}
		})
	})
}

func TestTheNextLifeGoesOnWhereTheLastOneEnded(t *testing.T) {
	simulate(t, func(w *world) {
		w.say("before the bot was there")
		c := w.dialUp()
		w.say("one")
		w.after(time.Second)
		c.EndCalls() // it is killed: nothing more reaches the homeserver
		w.down(c)
		w.say("in the gap")
		w.restart()
		w.up(func(c *conn) {
			w.after(time.Second)
			w.wantTexts("one", "in the gap")
		})
	})
}

func TestAHomeserverThatForgotThePlaceIsHeardFromNowOn(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) { w.say("one"); w.after(time.Second) })
		w.api.Forget(true)
		if _, err := w.Connect(w.Context(), w.in); err == nil {
			w.Fatal("the place was taken")
		}
		w.say("lost")
		w.restart() // its place is the one that the homeserver does not know
		if _, err := w.Connect(w.Context(), w.in); err == nil {
			w.Fatal("the place was taken")
		}
		w.api.Forget(false)
		w.up(func(c *conn) {
			w.say("two")
			w.after(time.Second)
			w.wantTexts("one", "two")
		})
	})
}

func TestMoreMessagesThanOneSyncHasAreAllRead(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) { w.say("first"); w.after(time.Second) })
		want := []string{"first"}
		for i := range 180 {
			want = append(want, strings.Repeat("x", i+1))
			w.say(want[i+1])
		}
		w.up(func(c *conn) { w.after(time.Minute) })
		w.wantTexts(want...)
		w.restart()
		w.up(func(c *conn) { w.after(time.Minute) })
		w.wantTexts(want...)
	})
}

func TestE15_AMessageThatWasNotTakenComesAgain(t *testing.T) {
	simulate(t, func(w *world) {
		tries := 0
		w.in.Decide(func(_ context.Context, m adapter.Inbound) error {
			if m.Text == "poison" {
				tries++
				return errors.New("a store that is full")
			}
			return nil
		})
		for want := 1; want <= maxAttempts; want++ {
			c := w.dialUp()
			if want == 1 {
				w.say("fine")
				w.say("poison")
				w.say("next")
			}
			w.after(time.Second)
			if ended := c.Err() != nil; ended != (want < maxAttempts) || tries != want {
				w.Errorf("after %d tries the connection ended: %t", tries, ended)
			}
			w.down(c)
		}
		w.wantTexts("fine", "next")
		w.wantSent("Your message could not be taken")
	})
}

func TestE13_ARefusalThatLastsIsSaidOnce(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.in.Decide(func(context.Context, adapter.Inbound) error {
				return &ops.Error{Code: ops.CodeDraining, Message: "the gateway is draining"}
			})
			w.say("one")
			w.say("two")
			w.after(time.Second)
			w.wantSent("The gateway is draining.")
			w.in.Decide(nil)
			w.say("three")
			w.after(time.Second)
			w.wantTexts("three")
		})
	})
}

func TestAnEncryptedRoomIsToldOnce(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			for range 3 {
				w.api.Say(says{User: owner, Name: "alice", Type: "m.room.encrypted", More: map[string]any{"ciphertext": "AAAA"}})
			}
			w.after(time.Minute)
			w.wantTexts()
			w.wantSent("I cannot read encrypted rooms.")
			if n := strings.Count(w.log.String(), string(ops.LogMatrixEncrypted)); n != 1 {
				w.Errorf("the room was logged %d times, want once", n)
			}
		})
	})
}

func TestNoEventOfOthersHoldsUpTheMessagesBehindIt(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.api.Open(owner, "alice")
			for _, content := range []map[string]any{
				{"msgtype": 5},
				{"body": []any{}},
				{"msgtype": "m.image", "body": "a", "url": "http://169.254.169.254/"},
				{"m.relates_to": "x", "body": "x"},
				{"msgtype": "m.text", "body": "x", "m.relates_to": map[string]any{"rel_type": "m.replace", "event_id": "../../x"}},
				{},
				{"msgtype": "m.file", "body": "f", "url": "mxc://../x", "info": map[string]any{"size": "huge"}},
			} {
				w.api.Inject(dm, owner, "m.room.message", content)
			}
			w.api.Inject(dm, owner, "m.reaction", map[string]any{"m.relates_to": map[string]any{"rel_type": "m.annotation", "event_id": "x", "key": "y"}})
			w.say("hello")
			w.after(time.Minute)
			w.wantTexts("hello")
			if n := strings.Count(w.log.String(), string(ops.LogMatrixEventUnreadable)); n != 1 {
				w.Errorf("the sender was logged %d times, want once", n)
			}
			if c.Err() != nil {
				w.Error(c.Err())
			}
		})
	})
}

func TestI2_NoMessageBodyIsLogged(t *testing.T) {
	simulate(t, func(w *world) {
		const canary = "c4nary-body"
		w.up(func(c *conn) {
			w.say(canary)
			w.api.Say(says{User: stranger, Text: canary})
			w.after(time.Second)
			w.in.Decide(func(context.Context, adapter.Inbound) error { return errors.New("full") })
			w.say(canary)
			w.after(time.Second)
		})
		if n := w.log.Count(canary); n != 0 {
			w.Errorf("a message's text is in the log %d times:\n%s", n, w.log)
		}
	})
}

func TestS4_AMessageThatIsBeingTakenEndsWithTheConnection(t *testing.T) {
	simulate(t, func(w *world) {
		ended := make(chan struct{})
		w.in.Decide(func(ctx context.Context, _ adapter.Inbound) error {
			defer close(ended)
			<-ctx.Done()
			return ctx.Err()
		})
		c := w.dialUp()
		w.say("slow")
		w.after(time.Second)
		w.down(c)
		<-ended
		if err := w.send(c, "late"); !errors.Is(err, adapter.ErrDisconnected) {
			w.Errorf("a send after the end returned %v", err)
		}
		w.in.Decide(nil)
		w.up(func(*conn) { synctest.Wait() })
		w.wantTexts("slow")
		w.wantSent()
	})
}

func TestAVoiceMessageIsAFileThatWasSpoken(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.api.Say(says{User: owner, Kind: "m.audio", File: "voice.ogg", Content: "ogg", Voice: true})
			w.api.Say(says{User: owner, Type: "m.sticker", Text: "a cat", File: "cat.png", Content: "png"})
			w.after(time.Second)
			var files []adapter.File
			for _, m := range w.in.Messages() {
				files = append(files, m.Files...)
			}
			want := []adapter.File{
				{Name: "voice.ogg", Type: "text/plain", Size: 3, Spoken: true}, {Name: "a cat", Type: "text/plain", Size: 3},
			}
			for i := range files {
				files[i].Ref = ""
			}
			if !slices.Equal(files, want) {
				w.Errorf("the files are %+v, want %+v", files, want)
			}
		})
	})
}
