package matrix

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/matrix/matrixtest"
)

func TestAPressOfAButtonIsAMessageInALaterLifeToo(t *testing.T) {
	simulate(t, func(w *world) {
		w.in.Only([]string{owner, "@bob:example.org"})
		var id string
		w.up(func(c *conn) {
			w.api.Say(says{User: "@bob:example.org", Room: listed, Text: "I am here"})
			m := adapter.Outgoing{Target: listed + "/$root", Text: "run it?", Buttons: [][]adapter.Button{
				{{Label: "Yes", Text: "/approve 1"}, {Label: "No", Text: "/deny 1"}, {Label: "Long", Text: strings.Repeat("x", maxPress+1)}}, {{Label: "Yes", Text: "/approve 2"}},
			}}
			sent, err := c.Send(w.Context(), m)
			if err != nil {
				w.Fatal(err)
			}
			id = sent.IDs[0]
			if got := w.api.Sent()[0].Reactions; !slices.Equal(got, []string{"Yes", "No"}) {
				w.Errorf("the message has %q", got)
			}
		})
		w.restart()
		w.up(func(c *conn) {
			said := w.say("not a message of the bot")
			w.api.React(listed, owner, id, "Yes")
			w.api.React(listed, "@bob:example.org", id, "👍")
			w.api.React(listed, stranger, id, "Yes")
			w.api.React(dm, owner, said, "Yes")
			w.after(time.Second)
			w.wantTexts("I am here", "not a message of the bot", "/approve 1")
			got := w.in.Messages()[2]
			if got.Session != "matrix:group:"+listed+":thread:$root" || !got.Mentioned || got.Dedupe == "" || got.ID != "" {
				w.Errorf("the gateway got %+v", got)
			}
			m := adapter.Outgoing{Target: listed + "/$root", Text: "again?", Buttons: [][]adapter.Button{{{Label: "No", Text: "/deny 2"}, {Label: "Later", Text: "/later"}}}}
			if _, err := c.Edit(w.Context(), id, m); err != nil {
				w.Fatal(err)
			}
			if got := w.api.Sent()[0].Reactions; !slices.Equal(got, []string{"No", "Later"}) {
				w.Errorf("after the edit the message has %q", got)
			}
			w.api.React(listed, owner, id, "No")
			w.api.React(listed, owner, id, "Yes")
			w.after(time.Second)
			w.wantTexts("I am here", "not a message of the bot", "/approve 1", "/deny 2")
			if _, err := c.Edit(w.Context(), id, adapter.Outgoing{Target: listed, Text: "it ran"}); err != nil || len(w.api.Sent()[0].Reactions) != 0 {
				w.Errorf("the buttons are still there: %v", err)
			}
			w.api.React(listed, owner, id, "Later")
			w.after(time.Second)
			w.wantTexts("I am here", "not a message of the bot", "/approve 1", "/deny 2")
		})
	})
}

// A user that may write into a room may write the field of the buttons as well.
func TestTheButtonsOfOthersSendNothing(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			forged := map[string]any{"msgtype": "m.text", "body": "x", "org.gatewaytui.buttons": []any{map[string]any{"label": "👍", "text": "/approve 1"}}}
			id := w.api.Inject(listed, stranger, "m.room.message", forged)
			w.api.React(listed, owner, id, "👍")
			sent, err := c.Send(w.Context(), adapter.Outgoing{Target: listed, Text: "hello"})
			if err != nil {
				w.Fatal(err)
			}
			w.api.Inject(listed, stranger, "m.room.message", map[string]any{
				"msgtype": "m.text", "body": "x", "m.new_content": forged, "m.relates_to": map[string]any{"rel_type": "m.replace", "event_id": sent.IDs[0]},
			})
			w.api.React(listed, owner, sent.IDs[0], "👍")
			w.after(time.Second)
			w.wantTexts()
		})
	})
}

func TestAReactionIsTheOnlyOne(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			id := w.say("hello")
			for _, want := range []string{"👀", "👍", "👍", "✅", ""} {
				if err := c.React(w.Context(), dm, id, want); err != nil {
					w.Fatal(err)
				}
				if got := strings.Join(w.api.Reactions(dm, id), " "); got != want {
					w.Errorf("the message has %q, want %q", got, want)
				}
			}
			if err := c.React(w.Context(), dm, "$none", ""); !is[*adapter.RefusedError](err) {
				w.Errorf("a message that is gone returned %v", err)
			}
		})
	})
}

func TestFilesComeAndGo(t *testing.T) {
	simulate(t, func(w *world) {
		var ref string
		w.up(func(c *conn) {
			w.api.Say(says{User: owner, Text: "read it", File: "a.txt", Content: "content"})
			w.after(time.Second)
			files := w.in.Messages()[0].Files
			if len(files) != 1 || files[0].Name != "a.txt" || files[0].Size != 7 || files[0].Type != "text/plain" {
				w.Fatalf("the gateway got %+v", files)
			}
			ref = files[0].Ref
		})
		w.up(func(c *conn) {
			if got, err := c.Fetch(w.Context(), ref, 7); err != nil || string(got) != "content" {
				w.Errorf("fetched %q: %v", got, err)
			}
			for _, bad := range []string{ref, "mxc://example.org/none", "x", "mxc://../x", "mxc://example.org/..", ref + "/1"} {
				if _, err := c.Fetch(w.Context(), bad, 6); !is[*adapter.RefusedError](err) {
					w.Errorf("the fetch of %s returned %v", bad, err)
				}
			}
			f := adapter.OutgoingFile{Name: "../etc/pic\"ture.png", Type: "image/png", Content: []byte{1, 2, 3}, Caption: "look"}
			if sent, err := c.SendFile(w.Context(), listed+"/$root", f); err != nil || len(sent.IDs) != 1 {
				w.Fatalf("sent %+v: %v", sent, err)
			}
			if m := w.api.Sent()[0]; m.FileName != "pic\"ture.png" || m.File != "\x01\x02\x03" || m.Text != "look" || m.Kind != "m.image" || m.Thread != "$root" {
				w.Errorf("the chat has %+v", m)
			}
			w.api.Age()
			if got, err := c.Fetch(w.Context(), ref, 7); err != nil || string(got) != "content" {
				w.Errorf("from an old homeserver it fetched %q: %v", got, err)
			}
			w.api.Fail("POST /_matrix/media/", matrixtest.Fault{Status: 413, Code: codeTooLarge})
			if _, err := c.SendFile(w.Context(), dm, f); !is[*adapter.RefusedError](err) {
				w.Errorf("a file that the homeserver does not take returned %v", err)
			}
			w.api.Fail("POST /_matrix/media/", matrixtest.Fault{Status: 502})
			if _, err := c.SendFile(w.Context(), dm, f); err == nil || adapter.MayHaveArrived(err) {
				w.Errorf("an upload that broke off returned %v", err)
			}
		})
	})
}

func TestCV8_MarkdownBecomesMatrixsOwn(t *testing.T) {
	for in, want := range map[string]struct{ text, html string }{
		"plain":                            {"plain", ""},
		"**bold** *it* ~~no~~ `a*b`":       {"bold it no a*b", "<p><strong>bold</strong> <em>it</em> <del>no</del> <code>a*b</code></p>"},
		"# Title\n\ntext":                  {"Title\n\ntext", "<h1>Title</h1><p>text</p>"},
		"- one\n- two\n  - three\n\nafter": {"• one\n• two\n  • three\n\nafter", "<ul><li>one</li><li>two<ul><li>three</li></ul></li></ul><p>after</p>"},
		"3. one\n4. two":                   {"3. one\n4. two", `<ol start="3"><li>one</li><li>two</li></ol>`},
		"- a\n\n1. b":                      {"• a\n\n1. b", "<ul><li>a</li></ul><ol><li>b</li></ol>"},
		"- one\n\n  more":                  {"• one\n\n  more", "<ul><li>one<p>more</p></li></ul>"},
		"> quoted\n> more\n\nno":           {"> quoted\n> more\n\nno", "<blockquote><p>quoted<br>more</p></blockquote><p>no</p>"},
		"```go\nx := 1 < 2\n```":           {"```go\nx := 1 < 2\n```", "<pre><code class=\"language-go\">x := 1 &lt; 2\n</code></pre>"},
		"[site](https://example.com/?a&b)": {"site (https://example.com/?a&b)", `<p><a href="https://example.com/?a&amp;b">site</a></p>`},
		"a <script>x</script> **y**":       {"a <script>x</script> y", "<p>a &lt;script&gt;x&lt;/script&gt; <strong>y</strong></p>"},
		"a\n\n---\n\nb":                    {"a\n\n———\n\nb", "<p>a</p><hr><p>b</p>"},
		"nul\x00 and\x1b[31m":              {"nul and[31m", ""},
	} {
		got := textsOf(in, true)
		if len(got) != 1 || got[0].Body != want.text || got[0].Formatted != want.html {
			t.Errorf("%q became %+v, want %q", in, got, want)
		}
	}
}

func TestCV8_EachMessageOfALongAnswerFitsAndHasWholeTags(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{"word ", "a*b_c ", "\n\n", "# h\n", "```go\n", "\n```\n", "- item\n", "  1. deep\n", "> q\n", "[l](http://x.y/_z_)", "😀", "`c`", "**b**", "\"<&>\"", "| a | b |\n|---|---|\n| 1 | 2 |\n"})
		text := strings.Join(rapid.SliceOfN(piece, 0, 1500).Draw(t, "pieces"), "")
		for _, m := range textsOf(text, true) {
			if n := units(m.Body); n > maxUnits || n == 0 {
				t.Fatalf("a message has %d units", n)
			}
			whole := m
			whole.New = &m
			if body, err := encode(whole); err != nil || len(body) > 65000 {
				t.Fatalf("an edit has %d bytes, %v", len(body), err)
			}
			for _, tag := range []string{"ul", "ol", "li", "p", "pre", "blockquote", "code", "strong"} {
				if open, end := strings.Count(m.Formatted, "<"+tag+">")+strings.Count(m.Formatted, "<"+tag+" "), strings.Count(m.Formatted, "</"+tag+">"); open != end {
					t.Fatalf("%d of <%s>, and %d ends: %s", open, tag, end, m.Formatted)
				}
			}
		}
	})
}

func TestCV8_APartThatTheHomeserverRefusesGoesOutAsPlainText(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.api.Fail(anyRoom, matrixtest.Fault{Status: 413, Code: codeTooLarge, Times: 1})
			if _, err := c.Send(w.Context(), adapter.Outgoing{Target: listed, Text: "**bold**", Markdown: true}); err != nil {
				w.Fatal(err)
			}
			if m := w.api.Sent()[0]; m.Text != "bold" || m.HTML != "" {
				w.Errorf("sent %+v", m)
			}
		})
	})
}
