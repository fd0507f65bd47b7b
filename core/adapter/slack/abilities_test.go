package slack

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/markdown"
	"gatewaytui/core/adapter/slack/slacktest"
)

func TestAPressOfAButtonIsAMessage(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			long := strings.Repeat("x", maxPress+1)
			buttons := [][]adapter.Button{{{Label: "Yes", Text: "/approve 1"}, {Label: "No", Text: "/deny 1"}, {Label: "Long", Text: long}}, {{Label: "Again", Text: "/deny 1"}}}
			m := adapter.Outgoing{Target: dm, Text: "run it?", Buttons: buttons}
			sent, err := c.Send(w.Context(), m)
			if err != nil {
				w.Fatal(err)
			}
			const want = `{"type":"actions","block_id":"gatewaytui-1","elements":[` +
				`{"type":"button","action_id":"b1","text":{"type":"plain_text","text":"Yes"},"value":"/approve 1"},` +
				`{"type":"button","action_id":"b2","text":{"type":"plain_text","text":"No"},"value":"/deny 1"}]}]`
			if got := string(w.api.Sent()[0].Blocks); !strings.HasSuffix(got, want) {
				w.Errorf("sent %s", got)
			}
			w.api.Press(owner, sent.IDs[0], "Yes")
			w.api.Press(stranger, sent.IDs[0], "Yes")
			w.after(time.Second)
			w.wantTexts("/approve 1")
			if got := w.in.Messages()[0]; got.Session != "slack:dm:U4711" || !got.Mentioned || got.Dedupe == "" || got.Target != dm {
				w.Errorf("the gateway got %+v", got)
			}
			if w.api.Unacked() != 0 {
				w.Error("a press was not acknowledged")
			}
			if _, err := c.Edit(w.Context(), sent.IDs[0], adapter.Outgoing{Target: dm, Text: "it ran"}); err != nil || w.api.Press(owner, sent.IDs[0], "Yes") {
				w.Errorf("the buttons are still there: %v", err)
			}
		})
	})
}

func TestAPressInAThreadBelongsToTheThread(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			first := w.api.Say(slacktest.Says{User: owner, Channel: channel, Text: "<@U900> hello"})
			w.after(time.Second)
			m := w.in.Messages()[0]
			sent, err := c.Send(w.Context(), adapter.Outgoing{Target: m.Target, Text: "run it?", Buttons: [][]adapter.Button{{{Label: "Yes", Text: "/approve 1"}}}})
			if err != nil || !w.api.Press(owner, sent.IDs[0], "Yes") {
				w.Fatalf("there is no button: %v", err)
			}
			w.after(time.Second)
			if got := w.in.Messages()[1]; got.Session != m.Session || got.Target != channel+"/"+first || got.Chat != adapter.ChatThread {
				w.Errorf("the gateway got %+v", got)
			}
		})
	})
}

// A slash command is made in the settings of the app.
func TestCV12_ASlashCommandIsAMessage(t *testing.T) {
	for _, tc := range []struct{ name, text, said string }{
		{"/stop", "", "/stop"},
		{"/queue", "one &amp; more", "/queue one & more"},
		{"/gateway", "model gpt", "/model gpt"},
		{"/gateway", "/model gpt", "/model gpt"},
		{"/gateway", "!model gpt", "/model gpt"},
		{"/gateway", "", "/help"},
	} {
		simulate(t, func(w *world) {
			w.up(func(*conn) {
				w.api.Use(owner, dm, tc.name, tc.text)
				w.api.Use(stranger, "D"+stranger, tc.name, tc.text)
				w.api.Use(owner, channel, tc.name, tc.text)
				w.after(10 * time.Second)
				w.wantTexts(tc.said, tc.said)
				got := w.in.Messages()
				if got[0].Session != "slack:dm:U4711" || got[1].Session != "slack:channel:C4200:user:U4711" || got[1].Chat != adapter.ChatGroup || got[1].Target != channel {
					w.Errorf("the gateway got %+v", got)
				}
				var seen struct{ Text string }
				answers := w.api.Answers()
				if len(answers) != 2 || json.Unmarshal([]byte(answers[0]), &seen) != nil || seen.Text != escaped.Replace(tc.said) {
					w.Errorf("the person saw %q", answers)
				}
				if w.api.Unacked() != 0 {
					w.Error("a command was not acknowledged")
				}
			})
		})
	}
}

func TestAReactionIsTheOnlyOne(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			id := w.api.Say(slacktest.Says{User: owner, Text: "hello"})
			for _, tc := range []struct{ emoji, name string }{{"👀", "eyes"}, {"👍", "+1"}, {"👍", "+1"}, {"", ""}, {"", ""}} {
				if err := c.React(w.Context(), dm+"#"+id, id, tc.emoji); err != nil {
					w.Fatal(err)
				}
				if got := strings.Join(w.api.Reactions(dm, id), " "); got != tc.name {
					w.Errorf("the message has %q, want %q", got, tc.name)
				}
			}
			for _, gone := range []string{"1.2", "1", ""} {
				if err := c.React(w.Context(), dm, gone, ""); !is[*adapter.RefusedError](err) {
					w.Errorf("a message that is gone returned %v", err)
				}
			}
			w.api.Fail("reactions.get", slacktest.Fault{Error: "missing_scope"})
			if err := c.React(w.Context(), dm, id, "👀"); err != nil || len(w.api.Reactions(dm, id)) != 1 {
				w.Errorf("a bot that may not read reactions put none: %v", err)
			}
		})
	})
}

func TestCV6_TypingIsShownNextToTheMessageAndEndsWithTheAnswer(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			const thread = "1700000000.000001"
			for _, target := range []string{dm + "#" + thread, channel + "#" + thread, channel + "/" + thread + "#1700000000.000002"} {
				if err := c.Typing(w.Context(), target); err != nil {
					w.Fatal(err)
				}
				if _, err := c.Send(w.Context(), adapter.Outgoing{Target: target, Text: "answer"}); err != nil {
					w.Fatal(err)
				}
			}
			is := func(chat, status string) string { return chat + " " + thread + " " + status }
			want := []string{is(dm, "is typing…"), is(dm, ""), is(channel, "is typing…"), is(channel, "is typing…")} // Slack ends it in a thread
			if got := w.api.Statuses(); !slices.Equal(got, want) {
				w.Errorf("Slack showed %q, want %q", got, want)
			}
			if err := c.Typing(w.Context(), dm); err == nil {
				w.Error("typing was shown next to no message")
			}
		})
	})
}

func TestFilesComeAndGo(t *testing.T) {
	simulate(t, func(w *world) {
		var ref string
		w.up(func(*conn) {
			w.api.Say(slacktest.Says{User: owner, Text: "read it", Files: map[string]string{"a.txt": "content"}})
			w.after(time.Second)
			files := w.in.Messages()[0].Files
			if len(files) != 1 || files[0].Name != "a.txt" || files[0].Size != 7 || files[0].Type != "text/plain" || files[0].Spoken {
				w.Fatalf("the gateway got %+v", files)
			}
			ref = files[0].Ref
		})
		w.up(func(c *conn) {
			if got, err := c.Fetch(w.Context(), ref, 7); err != nil || string(got) != "content" {
				w.Errorf("fetched %q: %v", got, err)
			}
			for _, bad := range []string{ref, "F0", "x/y", ""} {
				if _, err := c.Fetch(w.Context(), bad, 6); !is[*adapter.RefusedError](err) {
					w.Errorf("the fetch of %q returned %v", bad, err)
				}
			}
			thread := channel + "#1700000000.000001"
			f := adapter.OutgoingFile{Name: "../etc/pic\"ture.png", Type: "image/png", Content: []byte{1, 2, 3}, Caption: "look <@U1>"}
			if sent, err := c.SendFile(w.Context(), thread, f); err != nil || len(sent.IDs) != 1 {
				w.Fatalf("sent %+v: %v", sent, err)
			}
			if m := w.api.Sent()[0]; m.FileName != "pic\"ture.png" || m.File != "\x01\x02\x03" || m.Text != "look <@U1>" || strings.Contains(m.Fallback, "<@") || m.Thread != "1700000000.000001" {
				w.Errorf("the chat has %+v", m)
			}
			for _, tc := range []struct {
				name    string
				content []byte
			}{{"is too large", make([]byte, maxFile+1)}, {"is empty", nil}} {
				f.Content = tc.content
				if _, err := c.SendFile(w.Context(), dm, f); !is[*adapter.RefusedError](err) {
					w.Errorf("a file that %s returned %v", tc.name, err)
				}
			}
			f.Content = []byte("x")
			for method, arrived := range map[string]bool{"files.getUpload": false, "upload": false, "files.complete": true} {
				w.api.Fail(method, slacktest.Fault{Status: 502, Times: 1})
				if _, err := c.SendFile(w.Context(), dm, f); err == nil || adapter.MayHaveArrived(err) != arrived {
					w.Errorf("a file whose %s failed returned %v", method, err)
				}
			}
		})
	})
}

func TestTheTokenGoesToNoHostOfAnotherDomain(t *testing.T) {
	p := New(Options{})
	for address, fine := range map[string]bool{
		"https://files.slack.com/files-pri/T-F/download/a.txt": true, "https://slack.com/a": true, "http://files.slack.com/a": false,
		"https://slack.com.example.com/a": false, "https://notslack.com/a": false, "https://example.com/slack.com": false, "": false, "::": false,
	} {
		if err := p.trusted(address); (err == nil) != fine {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestAVoiceMessageIsAFileThatWasSpoken(t *testing.T) {
	files := []file{{ID: "F7", Name: "audio_message.m4a", Type: "audio/mp4", Kind: "slack_audio"}, {ID: "F6", Name: "a.ogg", Type: "audio/ogg"}, {ID: "F5", Mode: "tombstone"}, {ID: "../x"}}
	want := []adapter.File{{Name: "audio_message.m4a", Type: "audio/mp4", Spoken: true, Ref: "F7"}, {Name: "a.ogg", Type: "audio/ogg", Ref: "F6"}}
	if got := filesOf(files); !slices.Equal(got, want) {
		t.Errorf("the files are %+v, want %+v", got, want)
	}
}

func TestCV8_MarkdownBecomesRichText(t *testing.T) {
	text := func(text string, style string) string {
		if style != "" {
			style = `,"style":{` + style + `}`
		}
		return `{"type":"text","text":` + encode(text) + style + `}`
	}
	section := func(elements ...string) string {
		return `{"type":"rich_text_section","elements":[` + strings.Join(elements, ",") + `]}`
	}
	for in, want := range map[string]string{
		"**bold** *it* ~~no~~ `a*b`":  section(text("bold", `"bold":true`), text(" ", ""), text("it", `"italic":true`), text(" ", ""), text("no", `"strike":true`), text(" ", ""), text("a*b", `"code":true`)),
		"# Title\n\ntext":             section(text("Title", `"bold":true`), text("\n\n", ""), text("text", "")),
		"- one\n- two\n  - three":     `{"type":"rich_text_list","style":"bullet","elements":[` + section(text("one", "")) + "," + section(text("two", "")) + `]},{"type":"rich_text_list","style":"bullet","indent":1,"elements":[` + section(text("three", "")) + `]}`,
		"3. one\n4. two":              `{"type":"rich_text_list","style":"ordered","offset":2,"elements":[` + section(text("one", "")) + "," + section(text("two", "")) + `]}`,
		"> quoted\n> more":            `{"type":"rich_text_quote","elements":[` + text("quoted\nmore", "") + `]}`,
		"```go\nx := 1\n```":          `{"type":"rich_text_preformatted","elements":[` + text("x := 1", "") + `]}`,
		"[site](https://example.com)": section(`{"type":"link","text":"site","url":"https://example.com"}`),
		"see https://example.com/a.":  section(text("see ", ""), `{"type":"link","text":"https://example.com/a","url":"https://example.com/a"}`, text(".", "")),
		"a\n\n---\n\nb":               section(text("a", ""), text("\n\n", ""), text("———", ""), text("\n\n", ""), text("b", "")),
		"<!here> <@U1> *":             section(text("<!here> <@U1> *", "")),
	} {
		all := messagesOf(in, true)
		if len(all) != 1 {
			t.Fatalf("%q became %d messages", in, len(all))
		}
		if got := encode(richText(all[0])); unescapeJSON(got) != "["+unescapeJSON(want)+"]" {
			t.Errorf("%q became\n%s, want\n[%s]", in, got, want)
		}
	}
}

// unescapeJSON undoes the escapes of angle brackets that encoding/json makes.
func unescapeJSON(s string) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(s)
}

func TestCV8_BlocksThatSlackRefusesGoOutAsPlainText(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.api.Fail("chat.postMessage", slacktest.Fault{Error: "invalid_blocks", Times: 1})
			if _, err := c.Send(w.Context(), adapter.Outgoing{Target: dm, Text: "**bold** <b>", Markdown: true}); err != nil {
				w.Fatal(err)
			}
			if m := w.api.Sent()[0]; m.Text != "bold <b>" || string(m.Blocks) != "[]" {
				w.Errorf("sent %+v", m)
			}
		})
	})
}

func TestCV8_EachMessageOfALongAnswerFitsAndIsTakenBySlack(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			const text = "# Title\n\ntext **bold** <b> & more\n\n- one\n  1. two\n\n     more\n- \n\n> quoted\n> - in it\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```go\nx\n```\n\n---\n\n[l](http://x.y/_z_) ![p](http://x.y/p.png)\n\n"
			if _, err := c.Send(w.Context(), adapter.Outgoing{Target: dm, Text: strings.Repeat(text, 60), Markdown: true}); err != nil {
				w.Fatal(err)
			}
			for _, m := range w.api.Sent() {
				if string(m.Blocks) == "[]" {
					w.Errorf("the blocks of %.60q were refused", m.Text)
				}
			}
		})
	})
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{"word ", "a*b_c ", "\n\n", "# h\n", "```go\n", "\n```\n", "- item\n", "> q\n", "[l](http://x.y/_z_)", "😀", "`c`", "**b**", "<&>", "1. n\n"})
		text := strings.Join(rapid.SliceOfN(piece, 0, 1500).Draw(t, "pieces"), "")
		for _, blocks := range messagesOf(text, true) {
			if n := weigh(blocks); n > maxUnits || n == 0 {
				t.Fatalf("a message has %d units", n)
			}
			if len(richText(blocks)) == 0 {
				t.Fatalf("a message shows nothing of %q", textOf(blocks))
			}
		}
	})
	code := "before\n\n```go\n" + strings.Repeat("line of code\n", 500) + "```\n\nafter"
	for _, blocks := range messagesOf(code, true) {
		if !slices.ContainsFunc(blocks, func(b markdown.Block) bool { return b.Kind == markdown.Fence }) && strings.Contains(textOf(blocks), "line of code") {
			t.Errorf("a message has code outside of a fence: %.60q", textOf(blocks))
		}
	}
}
