package feishu

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/feishu/feishutest"
)

func TestAPressOfAButtonIsAMessageOfWhoPressedInItsOwnPlace(t *testing.T) {
	simulate(t, func(w *world) {
		w.in.Only([]string{owner, "ou_5"})
		thread := group + "/omt_thread/om_root"
		w.up(func(c *conn) {
			root := w.api.Say(feishutest.Says{User: owner, Chat: group, Text: "hello"})
			thread = strings.Replace(thread, "om_root", root, 1)
			w.after(time.Second)
			for _, to := range []string{owner, group, thread} {
				m := adapter.Outgoing{Target: to, Text: "run it?", Buttons: [][]adapter.Button{{{Label: "Yes", Text: "/approve 1"}, {Label: "Long", Text: strings.Repeat("x", maxPress+1)}}, {{Label: "\x1b[1mNo", Text: "/deny 1"}}}}
				sent, err := c.Send(w.Context(), m)
				if err != nil {
					w.Fatal(err)
				}
				id := sent.IDs[0]
				if w.api.Press(owner, id, "Long") {
					w.Error("a button is there for which Feishu has no room")
				}
				w.api.Press(owner, id, "Yes")
				w.api.Press("ou_5", id, "Yes")
				w.api.Press(stranger, id, "Yes")
				if _, err := c.Edit(w.Context(), id, adapter.Outgoing{Target: to, Text: "it ran"}); err != nil || w.api.Press(owner, id, "Yes") {
					w.Errorf("the buttons are still there: %v", err)
				}
			}
			w.after(time.Second)
			var got []string
			for _, m := range w.in.Messages()[1:] {
				got = append(got, m.Session+" "+m.Target+" "+m.Text)
				if !m.Mentioned || m.Dedupe == "" {
					w.Errorf("the gateway got %+v", m)
				}
			}
			want := []string{
				"feishu:dm:ou_4711 ou_4711 /approve 1", // only the person whose chat it is
				"feishu:group:oc_group:user:ou_4711 oc_group /approve 1", "feishu:group:oc_group:user:ou_5 oc_group /approve 1",
				"feishu:group:oc_group:thread:omt_thread " + thread + " /approve 1", "feishu:group:oc_group:thread:omt_thread " + thread + " /approve 1",
			}
			if !slices.Equal(got, want) {
				w.Errorf("the gateway got %q, want %q", got, want)
			}
			if n := w.api.Pending(); n != 0 {
				w.Errorf("%d presses were not acknowledged", n)
			}
		})
	})
}

// The value of a button comes back by way of the person's program.
func TestAPressThatNamesAnotherChatIsNone(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			for _, value := range []string{
				`{"say":"/approve 1","at":"ou_5"}`, `{"say":"/approve 1","at":"oc_other"}`, `{"say":"/approve 1","at":"../x"}`, `{"say":"/approve 1"}`, `{"at":"oc_group"}`, `{}`,
			} {
				w.api.Dispatch(eventPress, []byte(`{"operator":{"open_id":"ou_4711"},"action":{"value":`+value+`},"context":{"open_chat_id":"oc_group"}}`))
			}
			w.after(time.Second)
			w.wantTexts()
		})
	})
}

func TestAnEntryOfTheMenuIsACommand(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.api.Choose(owner, "stop")
			w.api.Choose(owner, "/model x")
			w.api.Choose(stranger, "stop")
			w.after(time.Second)
			w.wantTexts("/stop", "/model x")
			if m := w.in.Messages()[0]; m.Session != "feishu:dm:ou_4711" || m.Target != owner || !m.Mentioned {
				w.Errorf("the gateway got %+v", m)
			}
		})
	})
}

func TestAReactionIsTheOnlyOne(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			id := w.say("hello")
			for emoji, want := range map[string]string{"👀": "GLANCE", "👍": "THUMBSUP", "": ""} {
				for range 2 {
					if err := c.React(w.Context(), owner, id, emoji); err != nil {
						w.Fatal(err)
					}
					if got := strings.Join(w.api.Reactions(id), " "); got != want {
						w.Errorf("the message has %q, want %q", got, want)
					}
				}
			}
			for _, bad := range []string{"om_1", "1", "om_1/../x"} {
				if err := c.React(w.Context(), owner, bad, ""); !is[*adapter.RefusedError](err) {
					w.Errorf("the message %s returned %v", bad, err)
				}
			}
		})
	})
}

func TestFilesComeAndGo(t *testing.T) {
	simulate(t, func(w *world) {
		var ref string
		w.up(func(c *conn) {
			w.api.Say(feishutest.Says{User: owner, FileName: "a.txt", File: "content"})
			w.after(time.Second)
			files := w.in.Messages()[0].Files
			if len(files) != 1 || files[0].Name != "a.txt" {
				w.Fatalf("the gateway got %+v", files)
			}
			ref = files[0].Ref
		})
		w.up(func(c *conn) {
			if got, err := c.Fetch(w.Context(), ref, 7); err != nil || string(got) != "content" {
				w.Errorf("fetched %q: %v", got, err)
			}
			message, _, _ := strings.Cut(ref, "/")
			for _, bad := range []string{ref, "om_1/file/x", message + "/file/none", message + "/other/x", message + "/file/../x", "x", ref + "/1"} {
				if _, err := c.Fetch(w.Context(), bad, 6); !is[*adapter.RefusedError](err) {
					w.Errorf("the fetch of %s returned %v", bad, err)
				}
			}
			f := adapter.OutgoingFile{Name: "../etc/rep\"ort.pdf", Type: "application/pdf", Content: []byte{1, 2, 3}, Caption: "look", Key: "01J"}
			for range 2 { // the second is a repeat
				if sent, err := c.SendFile(w.Context(), owner, f); err != nil || len(sent.IDs) != 1 {
					w.Fatalf("sent %+v: %v", sent, err)
				}
			}
			w.wantSent("look", "")
			if m := w.api.Sent()[1]; m.FileName != "rep\"ort.pdf" || m.File != "\x01\x02\x03" {
				w.Errorf("the chat has %+v", m)
			}
			f.Name, f.Type, f.Key = "pic.png", "image/png", "01K"
			if _, err := c.SendFile(w.Context(), group+"#om_gone", f); err != nil {
				w.Fatal(err)
			}
			if m := w.api.Sent()[2]; m.Kind != "interactive" || m.FileName != "pic.png" || m.Text != "look" || m.To != group {
				w.Errorf("the group has %+v", m)
			}
			for _, content := range [][]byte{nil, make([]byte, maxFile+1)} {
				f.Content = content
				if _, err := c.SendFile(w.Context(), owner, f); !is[*adapter.RefusedError](err) {
					w.Errorf("a file of %d bytes returned %v", len(content), err)
				}
			}
			w.api.Fail("POST /open-apis/im/v1/images", feishutest.Fault{Status: 502})
			f.Content = []byte("x")
			if _, err := c.SendFile(w.Context(), owner, f); err == nil || adapter.MayHaveArrived(err) {
				w.Errorf("a failed upload returned %v", err)
			}
		})
	})
}

func TestWhatComesWithAMessage(t *testing.T) {
	for _, tc := range []struct {
		kind, content, text string
		files               []adapter.File
	}{
		{"image", `{"image_key":"img_1"}`, "", []adapter.File{{Type: "image/*", Ref: "om_1/image/img_1"}}},
		{"file", `{"file_key":"f1","file_name":"a.txt"}`, "", []adapter.File{{Name: "a.txt", Ref: "om_1/file/f1"}}},
		{"media", `{"file_key":"f1","file_name":"a.mp4","image_key":"i"}`, "", []adapter.File{{Name: "a.mp4", Ref: "om_1/file/f1"}}},
		{"post", `{"title":"","content":[[{"tag":"text","text":"see"},{"tag":"img","image_key":"i1"}],[{"tag":"media","file_key":"f1"},{"tag":"hr"},{"tag":"emotion","emoji_type":"SMILE"}]]}`, "see\n---:SMILE:", []adapter.File{{Type: "image/*", Ref: "om_1/image/i1"}, {Ref: "om_1/file/f1"}}},
		{"file", `{"file_key":"../x"}`, "", nil},
		{"text", `no JSON`, "", nil},
		{"post", `[]`, "", nil},
		{"interactive", `7`, "", nil},
		{"something new", `{"text":"x"}`, "", nil},
	} {
		if text, files := contentOf(tc.kind, tc.content, "om_1"); text != tc.text || !slices.Equal(files, tc.files) {
			t.Errorf("%s %s is %q with %+v, want %q with %+v", tc.kind, tc.content, text, files, tc.text, tc.files)
		}
	}
}

func TestAVoiceMessageIsAFileThatWasSpoken(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.api.Say(feishutest.Says{User: owner, FileName: "x.opus", File: "sound"})
			w.after(time.Second)
			files := w.in.Messages()[0].Files
			if len(files) != 1 || !files[0].Spoken || files[0].Type != "audio/ogg" || files[0].Name != "voice.opus" {
				w.Fatalf("the gateway got %+v", files)
			}
			if got, err := c.Fetch(w.Context(), files[0].Ref, 10); err != nil || string(got) != "sound" {
				w.Errorf("fetched %q: %v", got, err)
			}
		})
	})
}

func TestCV8_MarkdownBecomesTheMarkdownOfACard(t *testing.T) {
	for in, want := range map[string]string{
		"**bold** *it* ~~no~~ `a*b`":      "**bold** *it* ~~no~~ `a*b`",
		"# Title\n\ntext":                 "# Title\n\ntext",
		"- one\n- two\n  - three":         "- one\n- two\n    - three",
		"1. one\n2. two":                  "1. one\n2. two",
		"> quoted\n> more":                "> quoted\n> more",
		"```go\nx := 1\n```":              "```go\nx := 1\n```",
		"[site](https://example.com/a_b)": "[site](https://example.com/a_b)",
		"https://example.com/a_b":         "[https://example.com/a&#95;b](https://example.com/a_b)",
		"see http://a.b/c.":               "see [http://a.b/c](http://a.b/c).",
		"snake_case and 2 * 3":            "snake&#95;case and 2 &#42; 3",
		"| a | b |\n|---|---|\n| 1 | 2 |": "```\na | b\n",
		"a\n\n---\n\nb":                   "a\n\n<hr>\n\nb",
		"\\# no heading":                  "&#35; no heading",
		"``a`b``":                         "a&#96;b",
		"hi <at id=all></at>":             "hi &#60;at id=all&#62;&#60;/at&#62;",
		"`<at id=all>`":                   "`<\u200bat id=all>`",
		"![x](img_key)":                   "x (img&#95;key)",
	} {
		got := textsOf(in, true)
		if len(got) != 1 || !strings.HasPrefix(got[0].said, want) {
			t.Errorf("%q became %+v, want %q", in, got, want)
		}
	}
}

func TestCV8_APartThatFeishuRefusesGoesOutAsPlainText(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			m := adapter.Outgoing{Target: owner, Text: "# Title\n\n- **a** [b](https://example.com)", Markdown: true}
			w.api.Fail(sends, feishutest.Fault{Status: 400, Code: 230099, Times: 1})
			sent, err := c.Send(w.Context(), m)
			if err != nil {
				w.Fatal(err)
			}
			const want = "Title\n\n- a b (https://example.com)"
			if got := w.api.Sent()[0]; got.Text != want || !got.Plain {
				w.Errorf("sent %+v, want %q", got, want)
			}
			w.api.Fail("PATCH /open-apis/im/v1/messages/", feishutest.Fault{Status: 400, Code: 230099, Times: 1})
			if _, err := c.Edit(w.Context(), sent.IDs[0], m); err != nil || !w.api.Sent()[0].Plain {
				w.Errorf("the edit: %v", err)
			}
		})
	})
}

func TestNothingThatAModelWritesNotifiesAnyone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{"<at id=all></at>", "<at", "id=all", ">", "\\", "`", "```\n", "\n", "&#60;", "&lt;", "[x](", ")", "**", "<person id='x'>", "a"})
		text := strings.Join(rapid.SliceOfN(piece, 1, 30).Draw(t, "pieces"), "")
		for _, m := range textsOf(text, true) {
			if strings.Contains(m.said, "<at") || strings.Contains(m.said, "<person") {
				t.Fatalf("%q became %q", text, m.said)
			}
		}
	})
}

func TestCV8_EachMessageOfALongAnswerFitsAndHasWholeFences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{"word ", "a*b_c ", "\n\n", "# h\n", "```go\n", "\n```\n", "- item\n", "> q\n", "[l](http://x.y/_z_)", "😀", "`c`", "**b**", "\"\\\u2028漢"})
		text := strings.Join(rapid.SliceOfN(piece, 0, 1500).Draw(t, "pieces"), "")
		for _, m := range textsOf(text, true) {
			if n := units(m.said); n > maxUnits || n == 0 {
				t.Fatalf("a message has %d units", n)
			}
			for _, shown := range []bool{true, false} {
				m.markdown = shown
				if card := cardOf(m.element(), nil); len(card) > 30<<10 {
					t.Fatalf("a card has %d bytes", len(card))
				}
			}
		}
	})
	code := "before\n\n```go\n" + strings.Repeat("line of code\n", 900) + "```\n\nafter"
	for _, m := range textsOf(code, true) {
		if strings.Count(m.said, "```")%2 != 0 {
			t.Errorf("a message has half of a fence: %.60q", m.said)
		}
	}
}
