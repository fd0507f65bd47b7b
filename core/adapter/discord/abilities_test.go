package discord

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/discord/discordtest"
)

func TestAPressOfAButtonIsAMessage(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			long := strings.Repeat("x", maxPress+1)
			m := adapter.Outgoing{Target: dm, Text: "run it?", Buttons: [][]adapter.Button{{{Label: "Yes", Text: "/approve 1"}, {Label: "No", Text: "/deny 1"}, {Label: "Long", Text: long}}, {{Label: "Again", Text: "/deny 1"}}}}
			sent, err := c.Send(w.Context(), m)
			if err != nil {
				w.Fatal(err)
			}
			const want = `[{"type":1,"components":[{"type":2,"style":2,"label":"Yes","custom_id":"/approve 1"},{"type":2,"style":2,"label":"No","custom_id":"/deny 1"}]}]`
			if got := string(w.api.Sent()[0].Components); got != want {
				w.Errorf("sent %s", got)
			}
			w.api.Press(owner, dm, "/approve 1")
			w.api.Press(stranger, "7666", "/approve 1")
			w.after(time.Second)
			w.wantTexts("/approve 1")
			if got := w.in.Messages()[0]; got.Session != "discord:dm:4711" || !got.Mentioned || got.Dedupe == "" {
				w.Errorf("the gateway got %+v", got)
			}
			if n := len(w.api.Answered()); n != 1 {
				w.Errorf("%d presses were acknowledged, want the one of the owner", n)
			}
			if _, err := c.Edit(w.Context(), sent.IDs[0], adapter.Outgoing{Target: dm, Text: "it ran"}); err != nil || string(w.api.Sent()[0].Components) != "[]" {
				w.Errorf("the buttons are still there: %v", err)
			}
		})
	})
}

func TestCV12_TheChatCommandsAreInDiscordsMenu(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			commands := []adapter.MenuCommand{{Name: "stop", About: "interrupt the running turn"}, {Name: "queue", About: strings.Repeat("x", 200)}}
			for range 2 {
				if err := c.SetMenu(w.Context(), commands); err != nil {
					w.Fatal(err)
				}
			}
			if got := w.api.Menu(); !slices.Equal(got, []string{"stop", "queue"}) || len(w.api.Calls("PUT /applications/")) != 1 {
				w.Errorf("the menu is %q, written %d times", got, len(w.api.Calls("PUT /applications/")))
			}
			w.api.Use(owner, dm, "queue", "one more")
			w.after(time.Second)
			w.wantTexts("/queue one more")
			if got := w.api.Answered(); !slices.Equal(got, []string{"/queue one more"}) {
				w.Errorf("the person read %q", got)
			}
		})
	})
}

func TestAReactionIsTheOnlyOne(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			id := w.api.Say(discordtest.Says{User: owner, Text: "hello"})
			for _, want := range []string{"👀", "👍", "👍", ""} {
				if err := c.React(w.Context(), dm, id, want); err != nil {
					w.Fatal(err)
				}
				if got := strings.Join(w.api.Reactions(id), " "); got != want {
					w.Errorf("the message has %q, want %q", got, want)
				}
			}
			if err := c.React(w.Context(), dm, "1", ""); !is[*adapter.RefusedError](err) {
				w.Errorf("a message that is gone returned %v", err)
			}
		})
	})
}

func TestFilesComeAndGo(t *testing.T) {
	simulate(t, func(w *world) {
		var ref string
		w.up(func(c *conn) {
			w.api.Say(discordtest.Says{User: owner, Text: "read it", Files: map[string]string{"a.txt": "content"}})
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
			for _, bad := range []string{ref, "1/2/3", "x", ref + "/1"} {
				if _, err := c.Fetch(w.Context(), bad, 6); !is[*adapter.RefusedError](err) {
					w.Errorf("the fetch of %s returned %v", bad, err)
				}
			}
			f := adapter.OutgoingFile{Name: "../etc/pic\"ture.png", Type: "image/png", Content: []byte{1, 2, 3}, Caption: "look"}
			if sent, err := c.SendFile(w.Context(), dm, f); err != nil || len(sent.IDs) != 1 {
				w.Fatalf("sent %+v: %v", sent, err)
			}
			if m := w.api.Sent()[0]; m.FileName != "pic\"ture.png" || m.File != "\x01\x02\x03" || m.Text != "look" {
				w.Errorf("the chat has %+v", m)
			}
			f.Content = make([]byte, maxFile+1)
			if _, err := c.SendFile(w.Context(), dm, f); !is[*adapter.RefusedError](err) {
				w.Errorf("a file that is too large returned %v", err)
			}
			w.api.Fail("POST /channels/", discordtest.Fault{Status: 403})
			f.Content = nil
			if _, err := c.SendFile(context.Background(), dm, f); !is[*adapter.RefusedError](err) {
				w.Errorf("a refusal returned %v", err)
			}
		})
	})
}

func TestCV8_MarkdownBecomesDiscordsOwn(t *testing.T) {
	for in, want := range map[string]string{
		"**bold** *it* ~~no~~ `a*b`":      "**bold** *it* ~~no~~ `a*b`",
		"# Title\n\ntext":                 "# Title\n\ntext",
		"#### Small":                      "### Small",
		"- one\n- two\n  - three":         "- one\n- two\n  - three",
		"1. one\n2. two":                  "1. one\n2. two",
		"> quoted\n> more":                "> quoted\n> more",
		"```go\nx := 1\n```":              "```go\nx := 1\n```",
		"[site](https://example.com/a_b)": "[site](<https://example.com/a_b>)",
		"https://example.com/a_b_c":       "https://example.com/a_b_c",
		"snake_case_name and 2 * 3":       `snake\_case\_name and 2 \* 3`,
		"| a | b |\n|---|---|\n| 1 | 2 |": "```\na | b\n",
		"a\n\n---\n\nb":                   "a\n\n———\n\nb",
		"\\# no heading":                  `\# no heading`,
		"``a`b``":                         "``a`b``",
	} {
		got := textsOf(in, true)
		if len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestCV8_EachMessageOfALongAnswerFitsAndHasWholeFences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{"word ", "a*b_c ", "\n\n", "# h\n", "```go\n", "\n```\n", "- item\n", "> q\n", "[l](http://x.y/_z_)", "😀", "`c`", "**b**"})
		text := strings.Join(rapid.SliceOfN(piece, 0, 1500).Draw(t, "pieces"), "")
		for _, m := range textsOf(text, true) {
			if n := units(m); n > maxUnits || n == 0 {
				t.Fatalf("a message has %d units", n)
			}
		}
	})
	code := "before\n\n```go\n" + strings.Repeat("line of code\n", 500) + "```\n\nafter"
	for _, m := range textsOf(code, true) {
		if strings.Count(m, "```")%2 != 0 {
			t.Errorf("a message has half of a fence: %.60q", m)
		}
	}
}
