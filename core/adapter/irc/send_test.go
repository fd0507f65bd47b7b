package irc

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/irc/irctest"
)

func TestAnAnswerGoesToItsOwnPlace(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.server.Say(alice, "bot", "one")
			w.server.Say(alice, help, "bot: two")
			w.after(time.Second)
			for _, m := range w.in.Messages() {
				if _, err := w.send(c, m.Target, "to "+m.Text); err != nil {
					t.Error(err)
				}
			}
			if got := w.server.Sent(); !slices.Equal(got, []irctest.Sent{{To: "Alice", Text: "to one"}, {To: help, Text: "Alice: to two"}}) {
				t.Errorf("the bot said %+v", got)
			}
		})
	})
}

func TestNoTextIsACommand(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			before := len(w.server.Lines())
			for _, text := range []string{"a\r\nQUIT :x", "b\rQUIT", "c\x00QUIT", "\x01ACTION waves\x01", "\n\n \n", ":d", "e\u2028f"} {
				_, err := w.send(c, "alice", text)
				if blank := strings.TrimSpace(text) == ""; is[*adapter.RefusedError](err) != blank || err != nil && !blank {
					t.Errorf("%q returned %v", text, err)
				}
			}
			for _, target := range []string{"", "a b", "a,b", "a\r\nQUIT", ":a", "$*", "@%23help", "a\x00", "%23help#a b", strings.Repeat("x", 300)} {
				if _, err := w.send(c, target, "hello"); !is[*adapter.RefusedError](err) {
					t.Errorf("the target %q returned %v", target, err)
				}
			}
			want := []string{"a", "QUIT :x", "b", "QUIT", "cQUIT", "ACTION waves", ":d", "e f"}
			if got := w.texts(); !slices.Equal(got, want) {
				t.Errorf("the chat has %q", got)
			}
			for _, l := range w.server.Lines()[before:] {
				if !strings.HasPrefix(l, "PRIVMSG alice :") {
					t.Errorf("the bot said %q", l)
				}
			}
		})
	})
}

func TestALineHasRoomForThePrefixAndNoCharacterIsCut(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("日本語", 400), strings.Repeat("wort ", 500), strings.Repeat("x", 3000), strings.Repeat("👩‍🚀 ", 200), "**" + strings.Repeat("bold ", 300) + "** plain",
	} {
		c := newConn(New(Options{Nick: "bot"}), nil)
		var all strings.Builder
		for _, l := range c.lines(chat{help}, "alice", adapter.Outgoing{Text: text, Markdown: true}) {
			if wire := ":bot!" + strings.Repeat("u", maxPrefix) + " PRIVMSG " + help + " :" + l + "\r\n"; len(wire) > maxWire || len(l) > maxText || !utf8.ValidString(l) {
				t.Errorf("a line has %d bytes, on the wire %d: %q", len(l), len(wire), l)
			}
			all.WriteString(plain(l))
		}
		same := func(s string) string { return strings.NewReplacer(" ", "", "*", "").Replace(s) }
		if got := same(all.String()); got != "alice:"+same(text) {
			t.Errorf("the lines together are %q", got)
		}
	}
}

func TestCV8_MarkdownBecomesTheFormatOfIRC(t *testing.T) {
	for source, want := range map[string][]string{
		"a **bold** and *leaning* ~~gone~~ `code` word": {"a \x02bold\x02 and \x1dleaning\x1d \x1egone\x1e `code` word"},
		"# Head\n\ntext":                                      {"\x02Head\x02", "text"},
		"- one\n- two\n  - three\n\n1. four":                  {"• one", "• two", "  • three", "1. four"},
		"~~~go\nif x {\n\ty := \"\x02\"\n}\n~~~":              {"if x {", " y := \"\"", "}"},
		"[docs](https://a.example/b) and <https://c.example>": {"docs (https://a.example/b) and https://c.example"},
		"> quoted":       {"> quoted"},
		"**a\nb**":       {"\x02a\x02", "\x02b\x02"},
		"plain \x03text": {"plain text"},
	} {
		c := newConn(New(Options{Nick: "bot"}), nil)
		if got := c.lines(chat{"alice"}, "", adapter.Outgoing{Text: source, Markdown: true}); !slices.Equal(got, want) {
			t.Errorf("%q became %q, want %q", source, got, want)
		}
	}
	if got := cut("\x02"+strings.Repeat("wide ", 30)+"\x02end", 100); len(got) != 2 || !strings.HasPrefix(got[1], "\x02") {
		t.Errorf("a style that goes on is cut to %q", got)
	}
}

func TestCV8_AChannelThatTakesNoControlCodesGetsPlainText(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.server.Fail(irctest.Faults{NoCodes: true})
			sent, err := c.Send(w.Context(), adapter.Outgoing{Target: "%23help", Text: "a **bold** word", Markdown: true})
			if got := w.texts(); err != nil || len(sent.IDs) != 1 || !slices.Equal(got, []string{"a bold word"}) {
				t.Errorf("sent %q: %v", got, err)
			}
		})
	})
}

func TestLinesGoOutAtThePaceOfRFC1459(t *testing.T) {
	for name, o := range map[string]irctest.Options{"with what comes back": {Caps: irctest.Modern}, "with a PING": {}} {
		t.Run(name, func(t *testing.T) {
			simulateWith(t, o, func(w *world) {
				w.up(func(c *conn) {
					text := strings.TrimSpace(strings.Repeat("line\n", 40))
					began, done := time.Now(), 0
					for calls := 0; done < 40; calls++ {
						ctx, cancel := context.WithTimeout(w.Context(), 30*time.Second)
						sent, err := c.Send(ctx, adapter.Outgoing{Target: "alice", Text: text, Skip: done})
						cancel()
						done += len(sent.IDs)
						if err != nil && !is[*adapter.RateLimitError](err) || calls > 20 {
							t.Fatalf("call %d returned %v", calls, err)
						}
						if err != nil {
							w.after(w.lead)
						}
					}
					if got := len(w.texts()); got != 40 {
						t.Errorf("%d lines arrived, want 40", got)
					}
					if took := time.Since(began); took < 40*w.penalty-w.lead || took > 5*time.Minute {
						t.Errorf("40 lines took %s", took)
					}
				})
			})
		})
	}
}

func TestWhatIsKnownOfAMessageThatWasNotConfirmed(t *testing.T) {
	for name, o := range map[string]irctest.Options{"what comes back is lost": {Caps: irctest.Modern}, "the answer to the PING is lost": {}} {
		t.Run(name, func(t *testing.T) {
			simulateWith(t, o, func(w *world) {
				w.up(func(c *conn) {
					w.server.Fail(irctest.Faults{Unconfirmed: true})
					sent, err := w.send(c, "alice", "hello")
					if err == nil || len(sent.IDs) != 0 || !adapter.MayHaveArrived(err) || len(w.texts()) != 1 {
						t.Errorf("sent %+v: %v", sent, err)
					}
					w.server.Fail(irctest.Faults{})
					sent, err = c.Send(w.Context(), adapter.Outgoing{Target: "alice", Text: "hello", Repeated: true})
					if got := w.texts(); err != nil || len(sent.IDs) != 1 || !slices.Equal(got[1:], []string{adapter.RepeatMark, "hello"}) {
						t.Errorf("sent %+v: %v, %q", sent, err, got)
					}
				})
			})
		})
	}
}
