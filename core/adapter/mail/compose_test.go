package mail

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/mail/mailtest"
)

func TestCV8_MarkdownIsHTMLBesideItsText(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			const text = "# Ships\n\nOne **bold** and `code` <script>x</script>\n\n```go\nif a < b {}\n```\n\n- [here](https://x.example/?a=1&b=2)\n- [there](javascript:x)\n\n> said"
			if _, err := c.Send(w.Context(), adapter.Outgoing{Target: owner, Text: text, Markdown: true}); err != nil {
				w.Fatal(err)
			}
			got := w.mails.Sent()[0]
			if strings.TrimSpace(got.Text) != text {
				w.Errorf("the text is %q", got.Text)
			}
			for _, want := range []string{
				"<h1>Ships</h1>", "<b>bold</b>", "<code>code</code>", "&lt;script&gt;", "<pre><code>if a &lt; b {}</code></pre>", `<a href="https://x.example/?a=1&amp;b=2">here</a>`,
				"there (javascript:x)", "<blockquote>",
			} {
				if !strings.Contains(got.HTML, want) {
					w.Errorf("the HTML lacks %q: %s", want, got.HTML)
				}
			}
		})
	})
}

func TestCV7_ARepeatHasTheSameMessageIDAndSaysThatItIsOne(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			for _, m := range []adapter.Outgoing{{Text: "answer", Key: "k"}, {Text: "answer", Key: "k", Repeated: true}, {Text: "answer", Key: "other"}, {Text: "answer"}, {Text: "answer"}} {
				m.Target = owner + "/0123456789abcdef"
				if _, err := c.Send(w.Context(), m); err != nil {
					w.Fatal(err)
				}
			}
			got := w.mails.Sent()
			if got[0].ID != got[1].ID || strings.TrimSpace(got[1].Text) != adapter.RepeatMark+"\n\nanswer" {
				w.Errorf("the repeat is %s", got[1].Raw)
			}
			var ids []string
			for _, m := range got[1:] {
				ids = append(ids, m.ID)
			}
			slices.Sort(ids)
			if len(slices.Compact(ids)) != 4 {
				w.Errorf("the Message-IDs are %q", ids)
			}
			if sent, err := c.Send(w.Context(), adapter.Outgoing{Target: owner, Text: "answer", Skip: 1}); err != nil || len(sent.IDs) != 0 || len(w.mails.Sent()) != 5 {
				w.Errorf("the rest of a text that arrived was sent: %+v, %v", sent, err)
			}
		})
	})
}

func TestNoTextOfAModelBreaksOutOfItsMail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		d := draft{
			from: mailtest.Bot, to: []string{owner}, id: "<1@x>", about: mailed{root: "<2@x>", id: "<3@x>"}, subject: subjectOf(mailed{subject: rapid.SampledFrom([]string{"", "Ships", "RE: Ships"}).Draw(t, "subject")}, text),
			at: time.Unix(0, 0), plain: strings.ToValidUTF8(text, "\uFFFD"), html: formatted(text),
			file: &adapter.OutgoingFile{Name: rapid.String().Draw(t, "name"), Type: rapid.SampledFrom([]string{"", "text/plain", "x\r\nBcc: y", "multipart/mixed"}).Draw(t, "type"), Content: []byte(text)},
		}
		raw, err := d.write()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			if len(line) > 1000 || !strings.HasSuffix(line, "\r\n") || strings.Count(line, "\r") != 1 {
				t.Fatalf("the mail has the line %q", line)
			}
		}
		got, err := mailtest.Read(raw)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Files) != 1 || got.Files[0].Content != text || got.Header.Get("Bcc") != "" || len(got.Header.Values("Subject")) != 1 {
			t.Fatalf("the mail is\n%s", raw)
		}
		lines := func(s string) string {
			return strings.Trim(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s), "\n")
		}
		if d.plain != "" && lines(got.Text) != lines(d.plain) {
			t.Fatalf("the text is %q, want %q", got.Text, d.plain)
		}
	})
}

func TestFilesComeAndGo(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			content := strings.Repeat("\x00binary\xff", 20_000)
			w.mails.Say(mailtest.Says{From: owner, Text: "two", Files: map[string]string{"a.bin": content, "b.txt": "text"}})
			w.after(time.Second)
			files := w.in.Messages()[0].Files
			for i, want := range []string{content, "text"} {
				got, err := c.Fetch(w.Context(), files[i].Ref, int64(len(want)))
				if err != nil || string(got) != want {
					w.Errorf("fetched %d bytes of %s: %v", len(got), files[i].Name, err)
				}
			}
			for _, ref := range []string{"", "1/2", "1/2/3/4", files[0].Ref + "0", "1/999/1", "x/y/z", "99/1/1"} {
				if _, err := c.Fetch(w.Context(), ref, 10); !is[*adapter.RefusedError](err) {
					w.Errorf("the file %q is %v", ref, err)
				}
			}
			if _, err := c.SendFile(w.Context(), w.in.Messages()[0].Target, adapter.OutgoingFile{Name: "ü" + strings.Repeat("long", 200) + ".pdf", Type: "application/pdf", Content: []byte(content)}); err != nil {
				w.Fatal(err)
			}
			got := w.mails.Sent()[0]
			if len(got.Files) != 1 || got.Files[0].Content != content || got.Files[0].Type != "application/pdf" || got.Subject != "Message" {
				w.Errorf("sent %q: %d files", got.Subject, len(got.Files))
			}
		})
	})
}
