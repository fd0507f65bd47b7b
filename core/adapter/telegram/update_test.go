package telegram

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/telegram/botapitest"
)

type fields = map[string]any

func TestWhatAnUpdateIsToUs(t *testing.T) {
	from := fields{"id": owner, "is_bot": false, "username": "alice"}
	dm := fields{"id": owner, "type": "private"}
	group := fields{"id": -100, "type": "supergroup"}
	inbound := func(session, target, text string) adapter.Inbound {
		chat, _, _ := strings.Cut(target, "/")
		in := adapter.Inbound{
			Adapter: "telegram", Session: session, Target: target, User: "alice (4711)", Sender: "alice", Text: text, Dedupe: "telegram:4242:" + chat + ":9",
		}
		if in.Mentioned = chat == "4711"; !in.Mentioned {
			in.Target += "#9"
		}
		return in
	}
	with := func(in adapter.Inbound, change func(*adapter.Inbound)) adapter.Inbound {
		change(&in)
		return in
	}
	named := func(in *adapter.Inbound) { in.Mentioned = true }
	for _, tc := range []struct {
		name    string
		message fields
		want    event
	}{
		{
			"a text in a private chat",
			fields{"from": from, "chat": dm, "text": "hello"},
			event{kind: readable, private: true, message: inbound("telegram:dm:4711", "4711", "hello")},
		},
		{
			"a text in a group",
			fields{"from": from, "chat": group, "text": "hello"},
			event{kind: readable, message: inbound("telegram:group:-100:user:4711", "-100", "hello")},
		},
		{
			"a text in a topic of a forum",
			fields{"from": from, "chat": group, "text": "hello", "message_thread_id": 7, "is_topic_message": true},
			event{kind: readable, message: inbound("telegram:group:-100:topic:7", "-100/7", "hello")},
		},
		{
			"an answer to a message in a group is not a topic",
			fields{"from": from, "chat": group, "text": "hello", "message_thread_id": 7},
			event{kind: readable, message: inbound("telegram:group:-100:user:4711", "-100", "hello")},
		},
		{
			"a caption is a text",
			fields{"from": from, "chat": dm, "caption": "look", "photo": []any{fields{"file_id": "x"}}},
			event{kind: readable, private: true, message: with(inbound("telegram:dm:4711", "4711", "look"), func(in *adapter.Inbound) {
				in.Files = []adapter.File{{Name: "picture.jpg", Type: "image/jpeg", Ref: "x"}}
			})},
		},
		{
			"a command to this bot loses the name",
			fields{"from": from, "chat": group, "text": "/stop@TestBot now", "entities": []any{fields{"type": "bot_command", "offset": 0, "length": 13}}},
			event{kind: readable, message: with(inbound("telegram:group:-100:user:4711", "-100", "/stop now"), named)},
		},
		{
			"a mention of this bot is not part of the text",
			fields{"from": from, "chat": group, "text": "@TestBot 😀 hello", "entities": []any{fields{"type": "mention", "offset": 0, "length": 8}}},
			event{kind: readable, message: with(inbound("telegram:group:-100:user:4711", "-100", "😀 hello"), named)},
		},
		{
			"a mention behind characters of two units",
			fields{"from": from, "chat": group, "text": "😀 @testbot hello", "entities": []any{fields{"type": "mention", "offset": 3, "length": 8}}},
			event{kind: readable, message: with(inbound("telegram:group:-100:user:4711", "-100", "😀 @testbot hello"), named)},
		},
		{
			"a mention of another bot",
			fields{"from": from, "chat": group, "text": "@otherbot hello", "entities": []any{fields{"type": "mention", "offset": 0, "length": 9}}},
			event{kind: readable, message: inbound("telegram:group:-100:user:4711", "-100", "@otherbot hello")},
		},
		{
			"an answer to the bot quotes the part that was chosen",
			fields{"from": from, "chat": group, "text": "why?", "quote": fields{"text": "part"}, "reply_to_message": fields{"message_id": 8, "from": fields{"id": 4242}, "text": "a part of it"}},
			event{kind: readable, message: with(inbound("telegram:group:-100:user:4711", "-100", "why?"), func(in *adapter.Inbound) { in.Mentioned, in.Quoted = true, "part" })},
		},
		{
			"an answer to another member is not for the bot",
			fields{"from": from, "chat": group, "text": "why?", "reply_to_message": fields{"message_id": 8, "from": fields{"id": 5}, "caption": "look"}},
			event{kind: readable, message: with(inbound("telegram:group:-100:user:4711", "-100", "why?"), func(in *adapter.Inbound) { in.Quoted = "look" })},
		},
		{
			"a message of a topic does not answer the one that began it",
			fields{"from": from, "chat": group, "text": "hi", "message_thread_id": 7, "is_topic_message": true, "reply_to_message": fields{
				"message_id": 7, "from": fields{"id": 4242}, "forum_topic_created": fields{"name": "x"},
			}},
			event{kind: readable, message: inbound("telegram:group:-100:topic:7", "-100/7", "hi")},
		},
		{
			"a path with an address in it is left alone",
			fields{"from": from, "chat": dm, "text": "/etc/x@testbot"},
			event{kind: readable, private: true, message: inbound("telegram:dm:4711", "4711", "/etc/x@testbot")},
		},
		{
			"of a picture the largest size is taken, and it needs no text",
			fields{"from": from, "chat": dm, "photo": []any{
				fields{"file_id": "s", "width": 90, "height": 60}, fields{"file_id": "l", "width": 1280, "height": 900, "file_size": 77}, fields{"file_id": "m", "width": 320, "height": 200},
			}, "media_group_id": "a"},
			event{kind: readable, private: true, album: "a", message: with(inbound("telegram:dm:4711", "4711", ""), func(in *adapter.Inbound) {
				in.Files = []adapter.File{{Name: "picture.jpg", Type: "image/jpeg", Ref: "l", Size: 77}}
			})},
		},
		{
			"a voice message is spoken",
			fields{"from": from, "chat": dm, "voice": fields{"file_id": "v", "mime_type": "audio/ogg", "file_size": 9}},
			event{kind: readable, private: true, message: with(inbound("telegram:dm:4711", "4711", ""), func(in *adapter.Inbound) {
				in.Files = []adapter.File{{Name: "voice message.ogg", Type: "audio/ogg", Ref: "v", Size: 9, Spoken: true}}
			})},
		},
		{
			"an animation, which Telegram sends as a document too, is one file",
			fields{"from": from, "chat": dm, "caption": "ha", "animation": fields{"file_id": "a"}, "document": fields{"file_id": "a", "file_name": "x.mp4"}},
			event{kind: readable, private: true, message: with(inbound("telegram:dm:4711", "4711", "ha"), func(in *adapter.Inbound) {
				in.Files = []adapter.File{{Name: "animation.mp4", Ref: "a"}}
			})},
		},
		{
			"a document keeps its name",
			fields{"from": from, "chat": dm, "document": fields{"file_id": "d", "file_name": "x.pdf", "mime_type": "application/pdf"}},
			event{kind: readable, private: true, message: with(inbound("telegram:dm:4711", "4711", ""), func(in *adapter.Inbound) {
				in.Files = []adapter.File{{Name: "x.pdf", Type: "application/pdf", Ref: "d"}}
			})},
		},
		{
			"a sticker is a picture and its emoji",
			fields{"from": from, "chat": dm, "sticker": fields{"file_id": "s", "emoji": "😀"}},
			event{kind: readable, private: true, message: with(inbound("telegram:dm:4711", "4711", "[Sticker 😀]"), func(in *adapter.Inbound) {
				in.Files = []adapter.File{{Name: "sticker.webp", Type: "image/webp", Ref: "s"}}
			})},
		},
		{
			"a sticker that moves is its emoji",
			fields{"from": from, "chat": dm, "sticker": fields{"file_id": "s", "emoji": "😀", "is_animated": true}},
			event{kind: readable, private: true, message: inbound("telegram:dm:4711", "4711", "[Sticker 😀]")},
		},
		{
			"a location is a line",
			fields{"from": from, "chat": dm, "location": fields{"latitude": 48.2082, "longitude": 16.3738}},
			event{kind: readable, private: true, message: inbound("telegram:dm:4711", "4711", "[Location: 48.208200, 16.373800]")},
		},
		{
			"a venue is one line, although it has a location too",
			fields{"from": from, "chat": dm, "location": fields{"latitude": 1}, "venue": fields{"location": fields{"latitude": 1, "longitude": 2}, "title": "Café", "address": "Main St 1"}},
			event{kind: readable, private: true, message: inbound("telegram:dm:4711", "4711", "[Location: Café, Main St 1 (1.000000, 2.000000)]")},
		},
		{
			"a contact is a line",
			fields{"from": from, "chat": dm, "contact": fields{"first_name": "Bob", "phone_number": "+43 1"}},
			event{kind: readable, private: true, message: inbound("telegram:dm:4711", "4711", "[Contact: Bob, +43 1]")},
		},
		{
			"a poll is a line with its options",
			fields{"from": from, "chat": dm, "poll": fields{"question": "When?", "options": []any{fields{"text": "now"}, fields{"text": "later"}}}},
			event{kind: readable, private: true, message: inbound("telegram:dm:4711", "4711", "[Poll: When? (1) now (2) later]")},
		},
		{
			"a dice and a checklist are lines",
			fields{"from": from, "chat": dm, "dice": fields{"emoji": "🎲", "value": 4}, "checklist": fields{"title": "Buy", "tasks": []any{fields{"text": "milk", "completion_date": 1}, fields{"text": "tea"}}}},
			event{kind: readable, private: true, message: inbound("telegram:dm:4711", "4711", "[Dice 🎲: 4]\n[Checklist: Buy; milk (done); tea]")},
		},
		{
			"a story alone cannot be read",
			fields{"from": from, "chat": dm, "story": fields{"id": 1}},
			event{kind: unread, private: true, what: "story"},
		},
		{
			"a picture without a size cannot be read",
			fields{"from": from, "chat": dm, "photo": []any{}},
			event{kind: unread, private: true, what: "picture"},
		},
		{
			"what a person forwards says whose it is",
			fields{"from": from, "chat": dm, "text": "hello", "forward_origin": fields{"type": "user", "sender_user": fields{"id": 5, "first_name": "Bob", "last_name": "Bee"}}},
			event{kind: readable, private: true, forwarded: "[Forwarded from Bob Bee]", message: with(inbound("telegram:dm:4711", "4711", "[Forwarded from Bob Bee]\nhello"), passedOn)},
		},
		{
			"a command that is forwarded is not one of the sender",
			fields{"from": from, "chat": dm, "text": "/stop", "forward_origin": fields{"type": "hidden_user", "sender_user_name": "Eve"}},
			event{kind: readable, private: true, forwarded: "[Forwarded from Eve]", message: with(inbound("telegram:dm:4711", "4711", "[Forwarded from Eve]\n/stop"), passedOn)},
		},
		{
			"a picture of a channel that is forwarded",
			fields{"from": from, "chat": dm, "photo": []any{fields{"file_id": "x"}}, "forward_origin": fields{"type": "channel", "chat": fields{"id": -5, "title": "News"}}},
			event{kind: readable, private: true, forwarded: "[Forwarded from News]", message: with(inbound("telegram:dm:4711", "4711", "[Forwarded from News]"), func(in *adapter.Inbound) {
				in.Files, in.Forwarded = []adapter.File{{Name: "picture.jpg", Type: "image/jpeg", Ref: "x"}}, true
			})},
		},
		{
			"a content that cannot be read is named, and does not spoil the text",
			fields{"from": from, "chat": dm, "text": "hello", "paid_media": fields{"paid_media": []any{fields{"type": "hologram"}}}},
			event{kind: readable, private: true, message: inbound("telegram:dm:4711", "4711", "hello\n[It came with something that cannot be read here: paid media.]")},
		},
		{"a command to another bot", fields{"from": from, "chat": group, "text": "/stop@otherbot"}, event{}},
		{"a service message", fields{"from": from, "chat": group, "new_chat_members": []any{}}, event{}},
		{"a blank text", fields{"from": from, "chat": dm, "text": " \n"}, event{}},
		{"a bot", fields{"from": fields{"id": 5, "is_bot": true}, "chat": group, "text": "hello"}, event{}},
		{"a message without a sender", fields{"chat": group, "text": "hello"}, event{}},
		{"a channel's post in its group", fields{"from": from, "chat": group, "text": "news", "is_automatic_forward": true}, event{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.message["message_id"] = 9
			raw, err := json.Marshal(fields{"update_id": 1, "message": tc.message})
			if err != nil {
				t.Fatal(err)
			}
			got, err := read(raw, self{ID: 4242, Name: "testbot"})
			if err != nil {
				t.Fatal(err)
			}
			if tc.want.kind == nothing {
				if got.kind != nothing {
					t.Errorf("it is %+v, want nothing", got)
				}
				return
			}
			if tc.want.user = owner; tc.want.kind == readable {
				tc.want.from, _, _ = parseTarget(tc.want.message.Target)
				tc.want.message.Chat, tc.want.message.ID = tc.want.chat(), "9"
			} else {
				tc.want.from = address{chat: owner}
			}
			if d := cmp.Diff(tc.want, got, cmp.AllowUnexported(event{}, address{})); d != "" {
				t.Errorf("want - got +\n%s", d)
			}
		})
	}
}

func TestCV10_OnlyListedGroupsAreReadAndAnotherIsToldOnceHowItIsListed(t *testing.T) {
	simulate(t, func(w *world) {
		for range 2 { // the second connection knows what the first did
			w.up(func(c *conn) {
				w.api.Inject(botapitest.Update{User: owner, Chat: -200, Text: "hello all"})
				w.api.Inject(botapitest.Update{User: other, Chat: -200, Text: "/status"})
				for range 3 {
					w.api.Inject(botapitest.Update{User: owner, Chat: -200, Text: "/status"})
				}
				w.after(time.Minute)
			})
		}
		w.wantTexts()
		w.wantSent("This group is not on my list. Its id is -200")
		if n := w.log.Count("telegram.group.unlisted"); n != 1 {
			w.Errorf("%d lines name the group, want 1", n)
		}
	})
}

// A loop of two bots needs that one hears the other.
func TestCV10_AnotherBotIsNotHeardWhateverItSaysAndWherever(t *testing.T) {
	simulate(t, func(w *world) {
		w.in.Only([]string{"55"})
		w.up(func(c *conn) {
			bot := fields{"from": fields{"id": 55, "is_bot": true, "username": "other_bot"}}
			for _, text := range []string{"hello", "@the_bot hello", "/status", "stop"} {
				for _, chat := range []int64{-100, 55} {
					for _, kind := range []string{"message", "edited_message"} {
						w.api.Inject(botapitest.Update{User: 55, Chat: chat, Kind: kind, Text: text, Message: bot})
					}
				}
			}
			w.api.Inject(botapitest.Update{User: 55, Chat: -100, Text: "an answer to the bot", Message: fields{
				"from": bot["from"], "reply_to_message": fields{"message_id": 5, "from": fields{"id": 1, "is_bot": true}},
			}})
			w.after(time.Minute)
			w.wantTexts()
			w.wantSent()
		})
	})
}

func TestAChangedMessageIsOneOfItsOwn(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.say("helo")
			w.api.Inject(botapitest.Update{User: owner, Kind: "edited_message", Text: "hello", Message: fields{"message_id": 1000, "edit_date": 77}})
			w.api.Inject(botapitest.Update{User: owner, Kind: "edited_message", Message: fields{"message_id": 1000, "photo": []any{fields{}}}})
			w.after(time.Minute)
			got := w.in.Messages()
			if len(got) != 2 || got[0].Edited || !got[1].Edited || got[0].ID != got[1].ID || got[0].Dedupe == got[1].Dedupe {
				w.Errorf("the gateway got %+v", got)
			}
			w.wantSent()
		})
	})
}

func TestPostsAreIgnored(t *testing.T) {
	simulate(t, func(w *world) {
		for _, kind := range []string{"channel_post", "callback_query", "something_new"} {
			w.api.Inject(botapitest.Update{User: owner, Text: "no", Kind: kind}) // before the bot said what it wants
		}
		w.up(func(c *conn) {
			w.say("yes")
			w.after(time.Minute)
			w.wantTexts("yes")
			w.wantSent()
			w.wantUnconfirmed(0)
		})
	})
}

func TestAnUnreadableUpdateDoesNotBlockTheNext(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.api.Inject(botapitest.Update{User: owner, Message: fields{"text": fields{"not": "a text"}}})
			w.say("next")
			w.after(time.Minute)
			w.wantTexts("next")
			if n := w.log.Count("telegram.update.unreadable"); n != 1 {
				w.Errorf("%d lines tell of it, want 1:\n%s", n, w.log)
			}
		})
	})
}

func TestI8_NothingIsRunForAnUnknownUserWhoIsLoggedAndAnsweredOnce(t *testing.T) {
	simulate(t, func(w *world) {
		for range 2 { // the second connection knows what the first did
			w.up(func(c *conn) {
				for range 5 {
					w.api.Inject(botapitest.Update{User: other, Text: "/reset"})
					w.api.Inject(botapitest.Update{User: other, Chat: -100, Text: "/stop"})
					w.api.Inject(botapitest.Update{User: 667, Chat: -100, Text: "psst"})
				}
				w.after(time.Minute)
			})
		}
		w.wantTexts()
		w.wantSent("You are not on this bot's allow list. Your user id is 666.")
		if n := w.log.Count("telegram.stranger"); n != 2 {
			w.Errorf("%d lines name two unknown users, want 2:\n%s", n, w.log)
		}
	})
}

func TestAddressesAreWhatTheyWere(t *testing.T) {
	for _, a := range []address{{chat: 1}, {chat: -1001234567890}, {chat: -100, topic: 7}, {chat: 4711, topic: 1}} {
		if got, err := parseAddress(a.String()); err != nil || got != a {
			t.Errorf("%q is %+v (%v), want %+v", a, got, err, a)
		}
	}
	for _, s := range []string{"", "0", "alice", "1/", "1/x", "1/0", "1/-7", "/7", "1/7/7", "99999999999999999999"} {
		if got, err := parseAddress(s); err == nil {
			t.Errorf("%q is %+v, want an error", s, got)
		}
	}
}

func FuzzUpdate(f *testing.F) {
	for _, s := range []string{
		`{"update_id":1,"message":{"message_id":9,"from":{"id":4711,"username":"alice"},"chat":{"id":4711,"type":"private"},"text":"hello"}}`,
		`{"update_id":1,"message":{"message_id":9,"from":{"id":4711},"chat":{"id":-100,"type":"supergroup"},"message_thread_id":7,"is_topic_message":true,"caption":"/stop@testbot\nx","photo":[]}}`,
		`{"update_id":2,"message":{"from":{"id":1},"chat":{"id":1},"voice":{"file_id":"x"},"forward_origin":{"chat":{"title":"\u0007"}}}}`,
		`{"update_id":2,"message":{"from":{"id":1},"chat":{"id":1},"media_group_id":"9","photo":[{"file_id":"x","width":-1}],"poll":{"options":[{}]},"sticker":{}}}`,
		`{"update_id":4,"callback_query":{"id":"1","data":"#:x","from":{"id":1},"message":{"message_id":1,"chat":{"id":-1},"reply_markup":{"inline_keyboard":[[{"text":"x"}]]}}}}`,
		`{"update_id":3,"edited_message":{}}`, `{"update_id":null}`, `[]`, `{"message":null}`, `{"update_id":1,"message":{"text":"\ud800"}}`,
		`{"update_id":1,"message":{"from":{"id":1},"chat":{"id":1},"text":"/@"}}`,
		`{"update_id":1,"message":{"from":{"id":1,"username":"\u001b]0;x\u0007"},"chat":{"id":1,"type":"private"},"text":"x"}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, _ = updateID(raw)
		e, err := read(raw, self{ID: 4242, Name: "testbot"})
		switch {
		case err != nil && e.kind != nothing:
			t.Errorf("with the error %v it is %+v, want nothing", err, e)
		case e.kind == unread && e.what == "":
			t.Errorf("%+v has no content to tell of", e)
		case e.kind == readable:
			m := e.message
			if a, _, err := parseTarget(m.Target); err != nil || a.chat != e.from.chat {
				t.Errorf("an answer would go to %q, not to %+v (%v)", m.Target, e.from, err)
			}
			if strings.TrimSpace(m.Text) == "" && len(m.Files) == 0 && e.pressed == "" || !utf8.ValidString(m.Text) || m.Dedupe == "" || m.User == "" {
				t.Errorf("the gateway would get %+v", m)
			}
			if strings.ContainsFunc(m.User+m.Session+m.Dedupe, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				t.Errorf("control characters in %+v", m)
			}
			if !slices.Contains([]string{"telegram:dm", "telegram:group"}, strings.Join(strings.SplitN(m.Session, ":", 3)[:2], ":")) {
				t.Errorf("the session's key is %q", m.Session)
			}
		}
	})
}

// passedOn says that another person wrote a message.
func passedOn(in *adapter.Inbound) { in.Forwarded = true }
