package views

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/ops"
)

// chat is a conversation of the session telegram:dm:4412, whose turn runs.
func chat() []ops.Message {
	at := func(d time.Duration) ops.Time { return before(192*time.Second - d) }
	return []ops.Message{
		{ID: "1", Turn: "t0", Role: "user", Who: "maria", At: before(26 * time.Hour), Text: "good morning"},
		{ID: "2", Turn: "t0", Role: "assistant", At: before(26*time.Hour - 3*time.Second), Text: "Good morning, **Maria**. See [the plan](https://example.org/plan).\n\n## Today\n\n1. *build* the image\n2. run `make test`\n   - the slow ones too\n\n| job | state |\n|---|---|\n| lint | done |\n| e2e | running |\n\n> quoted words"},
		{ID: "3", Turn: "t1", Role: "user", Who: "maria", At: before(193 * time.Second), Text: "wrong chat, sorry", Undone: true},
		{ID: "4", Turn: "01KAT", Role: "user", Who: "maria", At: at(0), Text: "can you clean the build\nand run the tests?"},
		{ID: "5", Turn: "01KAT", Role: "assistant", At: at(2 * time.Second), Text: "I will look at the folder first.", Calls: []ops.MessageCall{
			{ID: "a", Name: "terminal", Arguments: `{"command":"ls -la build"}`}, {ID: "b", Name: "files_read", Arguments: `{"path":"build/notes.md","limit":20}`},
		}},
		{ID: "6", Turn: "01KAT", Role: "tool", Who: "terminal", Call: "a", At: at(2100 * time.Millisecond), Exit: new(0), Text: `{"output":"total 312\ndrwxr-xr-x 2 maria maria 4096 a.out\n","exit_code":0,"pid":9}`},
		{ID: "7", Turn: "01KAT", Role: "tool", Who: "files_read", Call: "b", At: at(2200 * time.Millisecond), Text: `{"error":"build/notes.md: no such file"}`},
		{ID: "8", Turn: "01KAT", Role: "assistant", At: at(70 * time.Second), Calls: []ops.MessageCall{{ID: "a", Name: "terminal", Arguments: `{"command":"make clean","timeout":20}`}}},
		{ID: "9", Turn: "01KAT", Role: "tool", Who: "terminal", Call: "a", At: at(92 * time.Second), Exit: new(2), Text: `{"output":"make: *** No rule to make target 'clean'.  Stop.\n","exit_code":2}`},
		{ID: "10", Turn: "01KAT", Role: "assistant", At: at(150 * time.Second), Text: "There is no such target:\n\n```sh\nmake clean   # fails\n```\n\nI remove the files myself and run the tests.", Calls: []ops.MessageCall{
			{ID: "c", Name: "terminal", Arguments: `{"command":"pytest -q tests/gateway"}`},
		}},
	}
}

func talking(messages ...ops.Message) Screen {
	s := screen(Sessions, fiveRows())
	s.Table.Selected, s.Detail = "telegram:dm:4412", Detail{Page: PageTalk, Open: true, End: true}
	s.Talk = Talk{Messages: messages, Read: true, Drawn: &Drawn{}}
	return s
}

var talks = []struct {
	name string
	make func() Screen
}{
	{"live", func() Screen { return talking(chat()...) }},
	{"unfolded", func() Screen {
		s := talking(chat()...)
		s.Detail.Unfolded = true
		return s
	}},
	{"withheld", func() Screen {
		s := talking(chat()...)
		for i := range s.Talk.Messages {
			m := &s.Talk.Messages[i]
			m.Length, m.Tokens, m.Withheld = len(m.Text), len(m.Text)/4+6, true
			m.Text = ""
			for j := range m.Calls {
				m.Calls[j].Arguments = ""
			}
		}
		return s
	}},
	{"asks", func() Screen {
		s := talking(chat()...)
		row := &s.Snap.Sessions[0]
		for i := range s.Snap.Sessions {
			if s.Snap.Sessions[i].Key == s.Table.Selected {
				row = &s.Snap.Sessions[i]
			}
		}
		row.State, row.WaitingFor, row.LastProgressAt = ops.SessionWaitingApproval, ops.WaitsForApproval+"K7Q2", before(40*time.Second)
		return s
	}},
	{"found", func() Screen {
		s := talking(chat()[:4]...)
		s.Talk.Found, s.Talk.Older, s.Talk.Newer, s.Detail.End = "2", true, true, false
		return s
	}},
	{"waits", func() Screen { return talking(chat()[:4]...) }},
	{"empty", func() Screen {
		s := talking()
		s.Table.Selected = "cli:local"
		return s
	}},
	{"reading", func() Screen {
		s := talking()
		s.Talk = Talk{}
		return s
	}},
	{"refused", func() Screen {
		s := talking()
		s.Talk, s.Detail.Errs[0] = Talk{}, `operators do not see conversations: console.texts is "none"`
		return s
	}},
	{"hostile", func() Screen {
		const bad = "\x1b]0;owned\x07\x1b[2J\u202egnp.exe\u200b\r\nsecond\tline \x00 " + "👩‍👩‍👧‍👦 日本語テキスト"
		return talking(
			ops.Message{ID: "1", Turn: bad, Role: "user", Who: bad, At: before(time.Minute), Text: bad + strings.Repeat("x", 500)},
			ops.Message{ID: "2", Turn: "t", Role: "assistant", At: before(time.Minute), Text: "[" + bad + "](https://" + bad + ") **" + bad + "** `" + bad + "`\n\n```\n" + bad + "\n```", Calls: []ops.MessageCall{{ID: "a", Name: bad, Arguments: `{"command":"` + bad}}},
			ops.Message{ID: "3", Turn: "t", Role: "tool", Who: bad, Call: "a", At: before(time.Minute), Text: bad},
			ops.Message{ID: "4", Turn: "t", Role: bad, At: before(-time.Hour), Text: bad},
		)
	}},
}

// OP2: the conversation looks as reviewed, on every screen, with and without what was kept from the frame before.
func TestOP2_TheConversationLooksAsReviewed(t *testing.T) {
	for _, c := range talks {
		t.Run(c.name, func(t *testing.T) {
			s := c.make()
			var a album
			for _, size := range [][2]int{{40, 6}, {60, 15}, {80, 24}, {140, 40}, {200, 60}} {
				s.W, s.H = size[0], size[1]
				lines := Draw(s)
				exact(t, lines, s.W, s.H)
				inert(t, lines)
				a.add(fmt.Sprintf("%dx%d", s.W, s.H), lines)
				if again := Draw(s); strings.Join(again, "\n") != strings.Join(lines, "\n") {
					t.Errorf("the second frame of %dx%d is another one", s.W, s.H)
				}
				fresh := s
				fresh.Talk.Drawn = nil
				if again := Draw(fresh); strings.Join(again, "\n") != strings.Join(lines, "\n") {
					t.Errorf("the frame of %dx%d that keeps nothing is another one", s.W, s.H)
				}
			}
			a.check(t, "talk-"+c.name)
		})
	}
}

// OP2: the console finds the line of the message that a search found.
func TestOP2_TheLineOfAFoundMessageIsKnown(t *testing.T) {
	s := talks[4].make()
	s.W, s.H = 140, 40
	p, _ := s.openPane()
	lines, _ := s.talk(sessionOf(&s, s.Table.Selected), p)
	if at := TalkLine(s); at < 0 || !strings.Contains(lines[at], "Good morning") || !strings.HasPrefix(lines[at], ">") {
		t.Errorf("line %d of\n%s", TalkLine(s), strings.Join(lines, "\n"))
	}
	s.Talk.Found = "17"
	if at := TalkLine(s); at != -1 {
		t.Errorf("a message that is not there is in line %d", at)
	}
}

// OP2: any text of a model has lines that fit and carry nothing that a terminal acts on.
func FuzzMarkdownOfAConversation(f *testing.F) {
	for _, m := range chat() {
		f.Add(m.Text, 40)
	}
	f.Add("- - - deep\n  - \x1b[31m*x*\u202e`y`", 3)
	f.Fuzz(func(t *testing.T, text string, w int) {
		w = 1 + max(w, -w)%200
		if w < 1 || len(text) > 4096 {
			return
		}
		o := Opts{W: w, H: 1, Now: noon}
		lines := o.markdown(text, w)
		for _, line := range lines {
			if have := cellsOf(line); have > max(w, 2) { // a wide character is wider than the narrowest pane
				t.Fatalf("a line of %d cells for %d: %q", have, w, line)
			}
		}
		inert(t, lines)
	})
}

// OP2: the output of a process looks as reviewed: live, ended, withheld, and with what a program writes to a terminal.
func TestOP2_TheOutputOfAProcessLooksAsReviewed(t *testing.T) {
	outputs := map[string]Output{
		"reading":  {},
		"live":     {Read: true, Text: "collected 312 items\n\ntests/test_stop.py ....... [ 43%]\n\tindented\nprogress 1%\rprogress 70%\n", Cut: 4 << 10, Tail: ops.Output{PID: 4203, Session: "telegram:dm:4412", Total: 9120, Next: 9120, LastAt: before(3 * time.Second)}},
		"ended":    {Read: true, Text: "boom\n", Tail: ops.Output{PID: 4203, Session: "telegram:dm:4412", Total: 5, Next: 5, LastAt: before(time.Minute), Exit: new(1)}},
		"silent":   {Read: true, Tail: ops.Output{PID: 4203, Session: "telegram:dm:4412"}},
		"withheld": {Read: true, Tail: ops.Output{PID: 4203, Session: "telegram:dm:4412", Total: 9120, Next: 9120, Withheld: true}},
		"hostile":  {Read: true, Text: "\x1b[2J\x1b]52;c;aGk=\x07\x1b[31mred\x1b[0m \u202egnp\x00\x9b0m\r\n" + strings.Repeat("wide 日本", 60), Tail: ops.Output{PID: 4203, Session: "telegram:dm:4412", Total: 500}},
	}
	for name, out := range outputs {
		t.Run(name, func(t *testing.T) {
			var a album
			s := screen(Processes, fiveRows())
			s.Table.Selected, s.Detail, s.Output = "4203", Detail{Page: PageOutput, Open: true, End: true}, out
			for _, size := range [][2]int{{40, 6}, {80, 24}, {140, 40}} {
				s.W, s.H = size[0], size[1]
				lines := Draw(s)
				exact(t, lines, s.W, s.H)
				inert(t, lines)
				a.add(fmt.Sprintf("%dx%d", s.W, s.H), lines)
			}
			s = screen(Sessions, fiveRows())
			s.Table.Selected, s.Detail, s.Output = "telegram:dm:4412", Detail{Page: PageProcesses, Open: true}, out
			s.W, s.H = 80, 24
			lines := Draw(s)
			exact(t, lines, s.W, s.H)
			inert(t, lines)
			a.add("of a session 80x24", lines)
			a.check(t, "output-"+name)
		})
	}
}

func BenchmarkTalkOf500Messages(b *testing.B) {
	var messages []ops.Message
	for i := range 100 {
		for _, m := range chat()[4:9] {
			m.ID = fmt.Sprint(i, m.ID)
			messages = append(messages, m)
		}
	}
	s := talking(messages...)
	s.W, s.H = 200, 60
	for b.Loop() {
		Draw(s)
	}
}
