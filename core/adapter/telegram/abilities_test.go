package telegram

import (
	"bytes"
	"image"
	"image/png"
	"slices"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/telegram/botapitest"
)

func TestAPressOfAButtonIsAMessageOfThePersonWhoPressed(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			m := adapter.Outgoing{Target: "4711", Text: "run it?", Buttons: [][]adapter.Button{
				{{Label: "Yes", Text: "/approve 1"}, {Label: "No", Text: "/deny 1"}, {Label: "", Text: "x"}}, {{Label: "Long", Text: strings.Repeat("x", maxPress+1)}},
			}}
			sent, err := c.Send(w.Context(), m)
			if err != nil {
				w.Fatal(err)
			}
			const want = `{"inline_keyboard":[[{"text":"Yes","callback_data":"/approve 1"},{"text":"No","callback_data":"/deny 1"}]]}`
			if got := w.api.Sent()[0].Buttons; got != want {
				w.Errorf("sent %s", got)
			}
			w.api.Press(owner, 0, "Yes")
			w.api.Press(other, owner, "No") // Telegram would not let it
			w.after(time.Second)
			w.wantTexts("/approve 1")
			if got := w.in.Messages()[0]; got.Session != "telegram:dm:4711" || got.User != "4711" || !got.Mentioned || got.Dedupe == "" || got.Target != "4711" || got.ID != "" {
				w.Errorf("the gateway got %+v", got)
			}
			if got := w.api.Answers(); !slices.Equal(got, []botapitest.Answer{{}}) {
				w.Errorf("the presses were answered with %+v, want the one of the owner, without a word", got)
			}
			if w.log.Count("telegram.stranger") != 1 {
				w.Errorf("the press of an unknown user is not in the log:\n%s", w.log)
			}
			if _, err := c.Edit(w.Context(), sent.IDs[0], adapter.Outgoing{Target: "4711", Text: "it ran"}); err != nil || w.api.Sent()[0].Buttons != "" {
				w.Errorf("the buttons are still there: %v", err)
			}
		})
	})
}

func TestAPressInATopicOfAGroupBelongsToTheTopic(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			long := strings.Repeat("word ", maxUnits/4)
			if _, err := c.Send(w.Context(), adapter.Outgoing{Target: "-100/7#3", Text: long, Buttons: [][]adapter.Button{{{Label: "Go", Text: "go"}}}}); err != nil {
				w.Fatal(err)
			}
			if all := w.api.Sent(); len(all) != 2 || all[0].Buttons != "" || all[1].Buttons == "" {
				w.Errorf("the buttons are not below the last of %d messages alone", len(all))
			}
			w.api.Press(owner, -100, "Go")
			w.after(time.Second)
			if got := w.in.Messages(); len(got) != 1 || got[0].Session != "telegram:group:-100:topic:7" || got[0].Target != "-100/7" || got[0].Text != "go" {
				w.Errorf("the gateway got %+v", got)
			}
		})
	})
}

func TestAButtonKeepsATextThatDoesNotFitIntoIt(t *testing.T) {
	long := strings.Repeat("a long answer ", 10)
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			buttons := [][]adapter.Button{{{Label: "Short", Text: long + "indeed"}}, {{Label: long, Text: long}}, {{Label: "Odd", Text: hashed + "x"}}}
			if _, err := c.Send(w.Context(), adapter.Outgoing{Target: "4711", Text: "choose", Buttons: buttons}); err != nil {
				w.Fatal(err)
			}
			for _, label := range []string{"Short", strings.TrimSpace(long), "Odd"} {
				if !w.api.Press(owner, 0, label) && !w.api.Press(owner, 0, label+" ") {
					w.Errorf("there is no button %q", label)
				}
				w.after(time.Second)
			}
			w.wantTexts(long+"indeed", long, hashed+"x")
		})
		// A later life knows the text of a button that has it as its label, and says so of another one.
		w.Platform.presses.texts = nil
		w.up(func(c *conn) {
			w.api.Press(owner, 0, "Short")
			if !w.api.Press(owner, 0, long) && !w.api.Press(owner, 0, strings.TrimSpace(long)) {
				w.Error("there is no long button")
			}
			w.after(time.Second)
			w.wantTexts(long+"indeed", long, hashed+"x", long)
			if got := w.api.Answers(); len(got) != 5 || !got[3].Alert || !strings.Contains(got[3].Text, "too old") || got[4].Alert {
				w.Errorf("the presses were answered with %+v", got)
			}
			w.wantUnconfirmed(0)
		})
	})
}

func TestAPressThatTelegramForgotOrThatHangsIsAMessageAllTheSame(t *testing.T) {
	for name, fault := range map[string]botapitest.Fault{
		"refused": {Code: 400, Description: "Bad Request: query is too old and response timeout expired or query ID is invalid"}, "hanging": {Hang: true},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *world) {
				w.up(func(c *conn) {
					if _, err := c.Send(w.Context(), adapter.Outgoing{Target: "4711", Text: "?", Buttons: [][]adapter.Button{{{Label: "Go", Text: "go"}}}}); err != nil {
						w.Fatal(err)
					}
					w.api.Fail("answerCallbackQuery", fault)
					for range 3 {
						w.api.Press(owner, 0, "Go")
					}
					w.after(w.notice + time.Second)
					w.wantTexts("go", "go", "go")
				})
			})
		})
	}
}

func TestThePressesThatAreRememberedAreBounded(t *testing.T) {
	var p presses
	for i := range 3 * maxPresses {
		p.data(strings.Repeat("x", maxData+i%maxPress))
		p.data(strings.Repeat("y", i) + strings.Repeat("x", maxData))
	}
	if len(p.texts) > maxPresses || len(p.order) != len(p.texts) {
		t.Errorf("%d texts are remembered in the order of %d", len(p.texts), len(p.order))
	}
}

func TestAReactionIsTheOnlyOne(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			id := w.api.Inject(botapitest.Update{User: owner, Text: "hello"})
			w.after(time.Second)
			name := w.in.Messages()[0].ID
			for _, tc := range []struct{ emoji, want string }{{"👀", "👀"}, {"👍", "👍"}, {"❤️", "❤"}, {"", ""}, {"", ""}} {
				if err := c.React(w.Context(), "4711", name, tc.emoji); err != nil {
					w.Fatal(err)
				}
				if got := w.api.Reaction(owner, id); got != tc.want {
					w.Errorf("the message has %q, want %q", got, tc.want)
				}
			}
			for what, call := range map[string][3]string{
				"an emoji that Telegram has not": {"4711", name, "✅"}, "a message that is gone": {"4711", "1", "👍"}, "no message": {"4711", "x", "👍"}, "no chat": {"x", name, "👍"},
			} {
				if err := c.React(w.Context(), call[0], call[1], call[2]); !is[*adapter.RefusedError](err) {
					w.Errorf("%s returned %v", what, err)
				}
			}
			w.api.Fail("setMessageReaction", botapitest.Fault{Code: 429, RetryAfter: 3})
			if err := c.React(w.Context(), "4711", name, "👍"); !is[*adapter.RateLimitError](err) {
				w.Errorf("a flood returned %v", err)
			}
		})
	})
}

func TestAFileIsFetchedByALaterConnectionAndWithinItsBound(t *testing.T) {
	simulate(t, func(w *world) {
		var ref, large string
		w.up(func(c *conn) {
			w.api.Inject(botapitest.Update{User: owner, Message: fields{"document": w.api.Document("a b#1.txt", "text/plain", "content"), "caption": "read it"}})
			w.api.Inject(botapitest.Update{User: owner, Message: fields{"video": w.api.Large("film.mp4", 20<<20+1)}})
			w.after(time.Second)
			files := append(w.in.Messages()[0].Files, w.in.Messages()[1].Files...)
			if len(files) != 2 || files[0].Name != "a b#1.txt" || files[0].Size != 7 || files[0].Type != "text/plain" || files[1].Size != 20<<20+1 {
				w.Fatalf("the gateway got %+v", files)
			}
			ref, large = files[0].Ref, files[1].Ref
		})
		w.up(func(c *conn) {
			if got, err := c.Fetch(w.Context(), ref, 7); err != nil || string(got) != "content" {
				w.Errorf("fetched %q: %v", got, err)
			}
			for what, call := range map[string]struct {
				ref  string
				most int64
			}{"a bound": {ref, 6}, "a name of no file": {"none", 10}, "no name": {"", 10}, "Telegram's limit": {large, 1 << 30}} {
				if _, err := c.Fetch(w.Context(), call.ref, call.most); !is[*adapter.RefusedError](err) {
					w.Errorf("beyond %s the fetch returned %v", what, err)
				}
			}
			for what, f := range map[string]botapitest.Fault{"an error": {Code: 500}, "a file that is gone": {Code: 404}, "a broken connection": {Drop: true}} {
				w.api.Fail("file", f)
				_, err := c.Fetch(w.Context(), ref, 10)
				if err == nil || is[*adapter.RefusedError](err) {
					w.Errorf("%s returned %v, want an error that is worth another try", what, err)
				}
				wantNoToken(w.T, err)
			}
		})
	})
}

// shape is a picture of this size.
func shape(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAPictureIsSentAsAPhotoAndAnotherFileAsADocument(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			dot := shape(w.T, 8, 8)
			for _, tc := range []struct {
				name    string
				content []byte
				kind    string
			}{
				{"../etc/pic\"ture.png", dot, "photo"},
				{"line.png", shape(w.T, 100, 1), "document"},
				{"long.png", shape(w.T, 9500, 600), "document"},
				{"a.txt", []byte("content"), "document"},
				{"broken.png", dot[:20], "document"},
			} {
				f := adapter.OutgoingFile{Name: tc.name, Type: "image/png", Content: tc.content, Caption: "look"}
				sent, err := c.SendFile(w.Context(), "-100/7#3", f)
				if err != nil || len(sent.IDs) != 1 {
					w.Fatalf("%s was sent as %+v: %v", tc.name, sent, err)
				}
				all := w.api.Sent()
				want := botapitest.Sent{
					ChatID: -100, ThreadID: 7, ReplyTo: 3, Text: "look", Kind: tc.kind, FileName: strings.TrimPrefix(tc.name, "../etc/"), FileType: "image/png", File: string(tc.content),
				}
				if got := all[len(all)-1]; got != want {
					w.Errorf("the chat has a %s %s (%s) with %d bytes: %s", got.Kind, got.FileName, got.FileType, len(got.File), got.Text)
				}
			}
			w.api.Fail("sendPhoto", botapitest.Fault{Code: 400, Description: "Bad Request: PHOTO_SAVE_FILE_INVALID", Times: 1})
			if _, err := c.SendFile(w.Context(), "4711", adapter.OutgoingFile{Name: "x.png", Content: dot}); err != nil {
				w.Error(err)
			}
			if all := w.api.Sent(); all[len(all)-1].Kind != "document" || all[len(all)-1].Text != "" {
				w.Errorf("a picture that Telegram refuses is %+v", all[len(all)-1])
			}
		})
	})
}

func TestAFileThatTelegramDoesNotTakeIsRefusedWithAReason(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			file := func(size int, caption string) adapter.OutgoingFile {
				return adapter.OutgoingFile{Name: "a.bin", Content: make([]byte, size), Caption: caption}
			}
			for what, f := range map[string]adapter.OutgoingFile{
				"too large": file(maxDocument+1, ""), "empty": file(0, ""), "characters": file(1, strings.Repeat("x", maxCaption+1)),
			} {
				if _, err := c.SendFile(w.Context(), "4711", f); !is[*adapter.RefusedError](err) {
					w.Errorf("a file that is %s returned %v", what, err)
				}
			}
			if n := w.api.Calls("sendDocument"); n != 0 {
				w.Errorf("%d calls were made for files that cannot be sent", n)
			}
			for fault, refused := range map[botapitest.Fault]bool{{Code: 403}: true, {Code: 413, Description: "Request Entity Too Large"}: true, {Code: 500}: false, {Code: 429, RetryAfter: 3}: false} {
				w.api.Fail("sendDocument", fault)
				if _, err := c.SendFile(w.Context(), "4711", file(1, "")); err == nil || is[*adapter.RefusedError](err) != refused {
					w.Errorf("%d returned %v", fault.Code, err)
				}
			}
			w.api.Heal()
			w.api.Fail("sendDocument", botapitest.Fault{Code: 400, Description: "Bad Request: group chat was upgraded to a supergroup chat", Migrate: -1009, Times: 1})
			if _, err := c.SendFile(w.Context(), "-100", file(1, "")); err != nil || w.api.Sent()[0].ChatID != -1009 {
				w.Errorf("in a group that moved the file is %+v: %v", w.api.Sent(), err)
			}
		})
	})
}
