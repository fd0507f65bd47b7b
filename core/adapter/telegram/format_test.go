package telegram

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/telegram/botapitest"
)

// shown is a message with its entities in words: "bold(text)".
func shown(t *testing.T, m formatted) string {
	t.Helper()
	list := ""
	if len(m.entities) > 0 {
		raw, err := json.Marshal(m.entities)
		if err != nil {
			t.Fatal(err)
		}
		list = string(raw)
	}
	entities, err := botapitest.Entities(m.text, list)
	if err != nil {
		t.Fatalf("Telegram refuses %q with %s: %v", m.text, list, err)
	}
	words := []string{}
	for _, e := range entities {
		word := e.Type
		if e.URL != "" || e.Language != "" {
			word += " " + e.URL + e.Language
		}
		words = append(words, word+"("+e.Text+")")
	}
	return strings.Join(append([]string{m.text}, words...), "\n~ ")
}

func TestCV8_TF12_MarkdownIsShownAsTelegramsOwnFormat(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"styles", "**b** *i* ~~s~~ `c` ***both***", "b i s c both\n~ bold(b)\n~ italic(i)\n~ strikethrough(s)\n~ code(c)\n~ bold(both)\n~ italic(both)"},
		{"code has no style", "**a `b` c**", "a b c\n~ bold(a )\n~ code(b)\n~ bold( c)"},
		{"a fence with its language", "look:\n```go\nx := 1 // **no**\n\n}\n```\nend", "look:\nx := 1 // **no**\n\n}\nend\n~ pre go(x := 1 // **no**\n\n})"},
		{"a fence that is not closed", "```\na\nb", "a\nb\n~ pre(a\nb)"},
		{"headings", "# Title\ntext\n\n## Two", "Title\ntext\n\nTwo\n~ bold(Title)\n~ bold(Two)"},
		{"lists", "- a\n- b\n  - c\n\n1. x\n2. y", "• a\n• b\n    • c\n\n1. x\n2. y"},
		{"loose lists", "- a\n\n  more\n\n- b", "• a\n\n   more\n\n• b"},
		{"tasks", "- [x] done\n- [ ] open", "• ☑ done\n• ☐ open"},
		{"a quote", "> one\n> **two**\n\nback", "one\ntwo\n\nback\n~ blockquote(one\ntwo)\n~ bold(two)"},
		{"code in a quote", "> one\n> ```\n> x\n> ```\n> two", "one\nx\ntwo\n~ blockquote(one)\n~ pre(x)\n~ blockquote(two)"},
		{"links", "[a](https://x.org/?a=1&b=2) <https://y.org> [p](./f.go) ![pic](http://z.org/p.png)", "a https://y.org p (./f.go) pic\n~ text_link https://x.org/?a=1&b=2(a)\n~ text_link http://z.org/p.png(pic)"},
		{"a table", "|a|long|\n|-|-:|\n|**x**|1|\n|日本|22|", "a    | long\n-----|-----\nx    |    1\n日本 |   22\n~ pre(a    | long\n-----|-----\nx    |    1\n日本 |   22)"},
		{"a line across", "a\n\n---\n\nb", "a\n\n———\n\nb"},
		{"no Markdown", "2 * 3 < 4 & snake_case <b>x</b> \\* &lt;", "2 * 3 < 4 & snake_case <b>x</b> * <"},
		{"line ends stay", "one\ntwo  \nthree<br>four", "one\ntwo\nthree\nfour"},
		{"characters of two units", "😀 **😀**", "😀 😀\n~ bold(😀)"},
		{"what would be lost makes it plain", "[docs]: https://x.org", "[docs]: https://x.org"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			messages := messagesOf(tc.in, true)
			if len(messages) != 1 {
				t.Fatalf("%d messages: %v", len(messages), messages)
			}
			got := shown(t, messages[0])
			// Spaces align the columns of a table; their number is the table's own test.
			if squeeze(got) != squeeze(tc.want) {
				t.Errorf("%q is shown as\n%s\nwant\n%s", tc.in, got, tc.want)
			}
		})
	}
}

// squeeze makes runs of spaces and dashes one.
func squeeze(s string) string {
	for _, sign := range []string{"  ", "--"} {
		for strings.Contains(s, sign) {
			s = strings.ReplaceAll(s, sign, sign[:1])
		}
	}
	return s
}

func TestCV8_ALongAnswerIsCutBetweenParagraphsAndNeverInsideAFence(t *testing.T) {
	code := "```go\n" + strings.Repeat("fmt.Println(\"a line of code\")\n", 300) + "```"
	text := strings.Repeat("A paragraph of the answer, in words. ", 30) + "\n\n"
	answer := strings.Repeat(text, 5) + "# The code\n\n" + code + "\n\n" + strings.Repeat(text, 3)
	messages := messagesOf(answer, true)
	if len(messages) < 5 {
		t.Fatalf("%d messages", len(messages))
	}
	for i, m := range messages {
		if length(m.text) > maxUnits {
			t.Errorf("message %d has %d units", i, length(m.text))
		}
		shown(t, m)
		if strings.Contains(m.text, "Println") && !strings.HasPrefix(m.text, "The code\n\nfmt") && !strings.HasPrefix(m.text, "fmt") {
			t.Errorf("message %d begins with %.40q: a heading belongs to its code, and code is cut between lines", i, m.text)
		}
		for line := range strings.Lines(m.text) {
			if strings.Contains(line, "Println") && strings.TrimSpace(line) != `fmt.Println("a line of code")` {
				t.Errorf("message %d cuts a line of code: %q", i, line)
			}
		}
		for _, e := range m.entities {
			if e.Type == "pre" && e.Language != "go" {
				t.Errorf("message %d lost the fence's language", i)
			}
		}
		if !strings.Contains(m.text, "Println") && !strings.HasSuffix(strings.TrimSpace(m.text), "words.") {
			t.Errorf("message %d is cut inside a paragraph: …%q", i, m.text[len(m.text)-30:])
		}
	}
}

func TestCV8_APartThatTelegramRefusesGoesOutAsPlainText(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.api.Fail("sendMessage", botapitest.Fault{Code: 400, Description: "Bad Request: can't parse entities: byte 3", Times: 1})
			sent, err := c.Send(w.Context(), adapter.Outgoing{Target: "4711", Text: "**a** [b](https://x.org)", Markdown: true})
			if err != nil || len(sent.IDs) != 1 {
				w.Fatalf("sent %v: %v", sent, err)
			}
			if got := w.api.Sent(); len(got) != 1 || got[0].Text != "a b (https://x.org)" || got[0].Entities != "" {
				w.Errorf("sent %+v", got)
			}
			w.api.Fail("editMessageText", botapitest.Fault{Code: 400, Description: "Bad Request: ENTITIES_TOO_LONG", Times: 1})
			if _, err := c.Edit(w.Context(), sent.IDs[0], adapter.Outgoing{Target: "4711", Text: "**c**", Markdown: true}); err != nil {
				w.Error(err)
			}
			w.wantSent("c")
			w.api.Fail("sendMessage", botapitest.Fault{Code: 400, Description: "Bad Request: chat not found", Times: 1})
			if _, err := c.Send(w.Context(), adapter.Outgoing{Target: "4711", Text: "**a**", Markdown: true}); !is[*adapter.RefusedError](err) {
				w.Errorf("another refusal returned %v", err)
			}
		})
	})
}

func TestCV8_ARepeatedAnswerKeepsItsStyles(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			if _, err := c.Send(w.Context(), adapter.Outgoing{Target: "4711", Text: "**a** b", Markdown: true, Repeated: true}); err != nil {
				w.Fatal(err)
			}
			got := w.api.Sent()
			entities, err := botapitest.Entities(got[0].Text, got[0].Entities)
			if err != nil || len(entities) != 1 || entities[0].Text != "a" || !strings.HasPrefix(got[0].Text, adapter.RepeatMark) {
				w.Errorf("sent %+v: %v", got, err)
			}
		})
	})
}

func TestCV12_TheMenuIsWrittenOnlyWhenItChanged(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			menu := []adapter.MenuCommand{{Name: "new", About: "begin again"}, {Name: "stop", About: strings.Repeat("x", 300)}}
			for range 3 {
				if err := c.SetMenu(w.Context(), menu); err != nil {
					w.Fatal(err)
				}
			}
			if n := w.api.Calls("setMyCommands"); n != 1 || len(w.api.Menu()) != 2 {
				w.Errorf("the menu was written %d times, and is %v", n, w.api.Menu())
			}
			if err := c.SetMenu(w.Context(), menu[:1]); err != nil || len(w.api.Menu()) != 1 {
				w.Errorf("a changed menu is %v: %v", w.api.Menu(), err)
			}
		})
	})
}

func TestAFormattedAnswerTakesLittleTime(t *testing.T) {
	for name, text := range map[string]string{
		"quotes": strings.Repeat(">", 100_000), "brackets": strings.Repeat("[", 100_000), "stars": strings.Repeat("*a ", 40_000),
		"links": strings.Repeat("[a](", 40_000), "backticks": strings.Repeat("`a``", 40_000), "lists": strings.Repeat("- ", 60_000),
		"tildes": strings.Repeat("~~a", 40_000), "html": strings.Repeat("<a ", 40_000), "table": strings.Repeat("|", 2000) + "\n" + strings.Repeat("|-", 2000),
		"underscores": strings.Repeat("_a__", 40_000), "images": strings.Repeat("![", 60_000), "words": strings.Repeat("word ", 50_000),
		"entities": strings.Repeat("&amp", 50_000), "lines": strings.Repeat("a\n\n", 60_000),
	} {
		began := time.Now()
		messagesOf(text, true)
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s took %s", name, took)
		} else {
			t.Logf("%s: %s", name, took)
		}
	}
}

func FuzzAnyMarkdownIsAcceptedAndKeepsItsLetters(f *testing.F) {
	for _, seed := range []string{
		"", "**a** _b_ `c`", "```go\nx\n```", "- a\n  - b\n\n1. c", "> q\n> > r", "|a|b|\n|-|-|\n|c|d|e|", "[a](http://b) ![c](d)", "# h\n\n---\n\n<b>x</b>",
		"[r]: /x\n[r]", "&amp; \\* 😀\u200d", "- [x] t", "a\r\nb\x00\xff", "~~~ a b\n~~~", strings.Repeat("**a** ", 150), "1. ```\n   x\n   ```", "- - - a",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		messages := messagesOf(text, true)
		have := map[rune]int{}
		for _, m := range messages {
			if length(m.text) > maxUnits {
				t.Fatalf("a message of %d units of %q", length(m.text), text)
			}
			shown(t, m)
			shown(t, m.plain())
			for _, c := range m.text {
				have[c]++
			}
			for _, e := range m.entities {
				for _, c := range e.URL + e.Language {
					have[c]++
				}
			}
		}
		for _, c := range letters(text) {
			if have[c]--; have[c] < 0 {
				t.Fatalf("%q of %q is lost in %v", c, text, messages)
			}
		}
	})
}

var markup = regexp.MustCompile(`(?i)<br\s*/?>|&[a-z0-9#]+;|\[x\]`)

// letters are the letters of a text that have to be seen.
func letters(text string) (all []rune) {
	for _, c := range markup.ReplaceAllString(strings.ToValidUTF8(text, "\uFFFD"), "") {
		if unicode.IsLetter(c) {
			all = append(all, c)
		}
	}
	return all
}
