package irc

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"gatewaytui/core/adapter"
)

func TestALineIsReadAsTheSpecificationSays(t *testing.T) {
	for line, want := range map[string]message{
		"PING :a b":                {command: "PING", params: []string{"a b"}},
		":irc.example 001 bot :Hi": {source: "irc.example", command: "001", params: []string{"bot", "Hi"}},
		"@a=1\\s\\:;+b;c= :n!u@h  privmsg  #c  ::-) \r\n": {tags: map[string]string{"a": "1 ;", "+b": "", "c": ""}, source: "n!u@h", command: "PRIVMSG", params: []string{"#c", ":-) "}},
		"QUIT": {command: "QUIT"},
	} {
		got, err := parse(line)
		if err != nil || got.source != want.source || got.command != want.command || !slices.Equal(got.params, want.params) || len(got.tags) != len(want.tags) {
			t.Errorf("%q is %+v: %v", line, got, err)
		}
		for name, value := range want.tags {
			if got.tags[name] != value {
				t.Errorf("%q has the tag %s=%q", line, name, got.tags[name])
			}
		}
	}
	for _, line := range []string{"", " ", ":a", "@a", "@a :b ", "\r\n"} {
		if m, err := parse(line); err == nil {
			t.Errorf("%q is %+v", line, m)
		}
	}
}

// FuzzLine: no line makes the adapter panic, and what it makes of one is a message that can be handed on and answered.
func FuzzLine(f *testing.F) {
	for _, seed := range []string{
		"@account=alice;msgid=1;time=2026-01-01T00:00:00.000Z :alice!a@h PRIVMSG bot :hello", ":alice!a@h PRIVMSG #help :bot: !stop", ":a!b@c PRIVMSG #help :\x01ACTION x\x01",
		":bot!b@h JOIN #help", ":op!o@h KICK #help bot :out", "PING :x", ":s 433 * bot :in use", ":s 439 bot alice :wait 7 seconds", ":s CAP * LS * :a=b", ":s 005 bot BOT=B :x", "AUTHENTICATE +", "ERROR :x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := parse(text)
		if err != nil {
			return
		}
		for _, begun := range []bool{false, true} {
			c := newConn(New(Options{Nick: "bot", Channels: []string{"#help"}, Password: "secret word"}), nil)
			c.caps["account-tag"], c.caps["sasl"] = true, true
			c.rooms[0].enter(time.Now())
			c.waits = &confirmation{target: "alice", done: make(chan error, 1)}
			if !begun {
				c.begin = &beginning{done: make(chan error, 1), offered: map[string]string{}}
			}
			c.take(m)
			for range len(c.out) {
				if out := <-c.out; strings.ContainsAny(out, "\r\n\x00") {
					t.Errorf("%q had %q written", text, out)
				}
			}
			for range len(c.in) {
				e := <-c.in
				for _, name := range e.names {
					in := e.as(name).message
					to, _, err := parseTarget(in.Target)
					if err != nil || to != e.at || strings.ContainsFunc(in.Text+in.Session+in.User, unicode.IsControl) || strings.ContainsAny(in.Session, " \n") {
						t.Errorf("%q became %+v: %v", text, in, err)
					}
				}
			}
		}
	})
}

// FuzzCut: the parts of any text are short, are whole characters, and together are the text.
func FuzzCut(f *testing.F) {
	f.Add("hello **world**\nnext", 100)
	f.Fuzz(func(t *testing.T, text string, most int) {
		c := newConn(New(Options{Nick: "bot"}), nil)
		for _, l := range c.lines(chat{"#help"}, "", adapter.Outgoing{Text: text, Markdown: most%2 == 0}) {
			if len(l) > maxText || strings.TrimSpace(l) == "" || strings.ContainsAny(l, "\r\n\x00\x01") {
				t.Errorf("a line is %q", l)
			}
		}
	})
}
