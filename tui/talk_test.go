package tui

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

func uttered(id int, text string) ops.Message {
	return ops.Message{ID: fmt.Sprint(id), Turn: "t", Role: "user", Who: "maria", At: ops.At(began), Text: text}
}

// talks runs f on a console of 140x40 with the sessions open; the gateway has n messages in each conversation.
func talks(t *testing.T, n int, o Options, f func(l *pulse, g *gateway)) {
	synctest.Test(t, func(t *testing.T) {
		tasks := newTasks(context.Background())
		g := newGateway()
		g.said.Messages = []ops.Message{}
		for i := range n {
			g.said.Messages = append(g.said.Messages, uttered(i+1, fmt.Sprintf("message <%d>", i+1)))
		}
		m := newModel(g, tasks, o)
		l := &pulse{m: m, msgs: make(chan tea.Msg, 100)}
		l.send(tea.WindowSizeMsg{Width: 140, Height: 40})
		l.send(fetchRequest{full: true, order: m.order()}.fetch(context.Background(), m.console))
		l.send(press("2"))
		defer synctest.Wait()
		defer tasks.end(time.Second)
		l.pass(10 * time.Millisecond)
		f(l, g)
	})
}

func (l *pulse) text() string { return strings.Join(l.m.draw(), "\n") }

func (l *pulse) mustShow(t *testing.T, want ...string) {
	t.Helper()
	for _, w := range want {
		if text := l.text(); !strings.Contains(text, w) {
			t.Fatalf("%q is not in\n%s", w, text)
		}
	}
}

// OP2: the newest messages of the selected session are there at once, what is said comes without a key, and older messages when
// the person scrolls up to them, which stay where they are.
func TestOP2_AConversationIsReadLiveAndBackwards(t *testing.T) {
	talks(t, 60, Options{}, func(l *pulse, g *gateway) {
		l.pass(time.Second)
		l.mustShow(t, "message <59>", "message <60>")
		if talk := l.m.screen().Talk; !talk.Older || talk.Messages[0].ID == "1" {
			t.Fatalf("all of it was read at once: %d messages", len(talk.Messages))
		}
		g.said.Say(uttered(61, "message <61>"))
		l.pass(talkRests + time.Second)
		l.mustShow(t, "message <61>")
		for range 200 {
			before := l.m.screen()
			l.send(press("K"))
			l.pass(50 * time.Millisecond)
			if now := l.m.screen(); len(now.Talk.Messages) > len(before.Talk.Messages) && now.Detail.Scroll < before.Detail.Scroll {
				t.Fatalf("older messages moved the page from line %d to line %d", before.Detail.Scroll, now.Detail.Scroll)
			}
		}
		l.mustShow(t, "message <1>")
		if strings.Contains(l.text(), "older messages") || strings.Contains(l.text(), "message <61>") {
			t.Errorf("the page is not at the begin:\n%s", l.text())
		}
		l.send(press("f"))
		l.mustShow(t, "message <61>")
	})
}

// OP2: a conversation that was reset is read afresh: nothing of the old one stays.
func TestOP2_ANewConversationReplacesTheOldOne(t *testing.T) {
	talks(t, 2, Options{}, func(l *pulse, g *gateway) {
		l.mustShow(t, "message <2>")
		g.change(func(g *gateway) {
			for i := range g.snap.Sessions {
				g.snap.Sessions[i].ID += "-new"
			}
		})
		g.said.Messages = []ops.Message{uttered(9, "a new subject")}
		l.send(fetchRequest{full: true, order: l.m.order()}.fetch(context.Background(), l.m.console))
		l.pass(talkRests + time.Second)
		l.mustShow(t, "a new subject")
		if strings.Contains(l.text(), "message <2>") {
			t.Errorf("the old conversation is still there:\n%s", l.text())
		}
	})
}

// OP2: from a search the conversation is open at the message that was found, and goes on below it.
func TestOP2_ASearchOpensTheConversationAtTheMessage(t *testing.T) {
	talks(t, 9, Options{}, func(l *pulse, g *gateway) {
		row := g.snap.Sessions[0]
		g.hits = []ops.Hit{{Session: row.Key, Conversation: row.ID, ID: "4", Who: "maria", Snippet: "message <4>", At: ops.At(began)}}
		l.send(press(":"))
		for _, c := range "search four" {
			l.send(press(string(c)))
		}
		l.send(press("enter"))
		l.pass(10 * time.Millisecond)
		l.mustShow(t, "search: four")
		l.send(press("enter"))
		l.pass(time.Second)
		if l.m.lists[views.Sessions].Selected != row.Key {
			t.Fatalf("%q is selected", l.m.lists[views.Sessions].Selected)
		}
		l.mustShow(t, "message <3>", "message <4>", "newer messages")
		if text := l.text(); strings.Contains(text, "message <9>") {
			t.Errorf("the page is not at the message:\n%s", text)
		}
		l.send(press("f")) // to the newest
		for range 5 {
			l.pass(time.Second)
		}
		l.mustShow(t, "message <9>")
		l.pass(talkRests / 2)

		g.hits[0].ID = "2" // of the conversation that is open, whose page waits for its next look
		l.send(press(":"))
		for _, c := range "search two" {
			l.send(press(string(c)))
		}
		l.send(press("enter"))
		l.pass(10 * time.Millisecond)
		l.send(press("enter"))
		l.pass(300 * time.Millisecond)
		if talk := l.m.screen().Talk; talk.Found != "2" {
			t.Errorf("the page is still at the message %q", talk.Found)
		}
	})
}

// OP2: w writes into the session: what was typed and pasted is one message with its lines, sent as the operator's; esc keeps it.
func TestOP2_WWritesIntoTheSession(t *testing.T) {
	talks(t, 1, Options{}, func(l *pulse, g *gateway) {
		key := l.m.lists[views.Sessions].Selected
		l.send(press("w"))
		for _, c := range "hi all:" {
			l.send(press(string(c)))
		}
		l.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("\none\r\ntwo \x1b[31m"), Paste: true})
		l.mustShow(t, "> (2 lines above) two")
		l.send(press("esc"))
		if len(g.given) != 0 {
			t.Fatalf("esc sent %+v", g.given)
		}
		l.send(press("w"))
		l.mustShow(t, "> (2 lines above) two")
		l.send(press("enter"))
		l.pass(time.Second)
		if len(g.given) != 1 || g.given[0].Verb != ops.VerbMessage || g.given[0].Target != key || g.given[0].Text != "hi all:\none\ntwo ␛[31m" || g.given[0].By.Via != "console" {
			t.Fatalf("it gave %+v", g.given)
		}
		l.send(press("w"))
		l.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(strings.Repeat("x", maxPasted+1)), Paste: true})
		l.mustShow(t, "too long")
		l.send(press("enter")) // nothing was written
		if l.m.dialog != nil || len(g.given) != 1 {
			t.Errorf("an empty line gave %+v", g.given[1:])
		}
	})
}

// OP2: a console that only looks cannot write.
func TestOP2_AReadOnlyConsoleDoesNotWrite(t *testing.T) {
	talks(t, 1, Options{ReadOnly: true}, func(l *pulse, _ *gateway) {
		l.send(press("w"))
		if l.m.dialog != nil || !l.m.bad || l.m.message != readOnlyNote {
			t.Errorf("w opened %T and said %q", l.m.dialog, l.m.message)
		}
	})
}

// OP2: f lets the selection follow the session with the most work; it stays while a turn runs, and for a moment after it; a key that
// moves ends it.
func TestOP2_FFollowsTheBusiestSession(t *testing.T) {
	talks(t, 1, Options{}, func(l *pulse, g *gateway) {
		work := func(calls ...int) {
			g.change(func(g *gateway) {
				g.snap.Sessions = nil
				for i, n := range calls {
					row := ops.Session{Key: fmt.Sprint("cli:", i), ID: fmt.Sprint(i), State: ops.SessionIdle, LastActivityAt: ops.At(time.Now())}
					if n > 0 {
						row.State, row.Turn, row.Calls, row.TurnStartedAt, row.LastProgressAt = ops.SessionRunning, "t", n, ops.At(time.Now()), ops.At(time.Now())
					}
					g.snap.Sessions = append(g.snap.Sessions, row)
				}
				g.snap.At = ops.At(time.Now())
			})
			l.m.looking = true
			l.send(fetchRequest{full: true, order: l.m.order()}.fetch(context.Background(), l.m.console))
		}
		selected := func(want, when string) {
			t.Helper()
			if got := l.m.lists[views.Sessions].Selected; got != want {
				t.Fatalf("%s: %q is selected, want %q", when, got, want)
			}
		}
		work(1, 7, 0)
		l.send(press("g"))
		l.pass(time.Second)
		l.send(press("f"))
		selected("cli:1", "f")
		l.mustShow(t, "following the busiest session")
		work(9, 1, 0)
		selected("cli:1", "its turn runs")
		work(9, 0, 0)
		selected("cli:1", "its turn is over")
		l.pass(busyRests + time.Second)
		l.m.now = time.Now()
		work(9, 0, 0)
		selected("cli:0", "after a moment")
		l.send(press("j"))
		if l.m.busiest.on {
			t.Error("a key that moves does not end it")
		}
	})
}

// OP2: the output of a process is read from its end, and what it writes comes while the page is in sight, up to its exit.
func TestOP2_TheOutputOfAProcessIsLive(t *testing.T) {
	talks(t, 1, Options{}, func(l *pulse, g *gateway) {
		g.said.Printed = strings.Repeat("early line\n", 10_000) + "collecting\n"
		l.send(press("4"))
		l.send(press("]"))
		l.pass(time.Second)
		l.mustShow(t, "[output]", "collecting", "written")
		g.said.Print("done: 312 passed\n")
		l.pass(2 * outputEvery)
		l.mustShow(t, "done: 312 passed")
		if out := l.m.screen().Output; len(out.Text) > outputFirst+100 || out.Cut == 0 || !strings.HasPrefix(out.Text, "early line\n") {
			t.Errorf("%d bytes were read, %d are cut, and it begins with %.20q", len(out.Text), out.Cut, out.Text)
		}
	})
}

// OP2: export writes the conversation into a new file that the owner alone reads, says where, and replaces none.
func TestOP2_ExportWritesAPrivateFile(t *testing.T) {
	t.Chdir(t.TempDir())
	talks(t, 5, Options{}, func(l *pulse, _ *gateway) {
		for range 2 { // within one second: the second one has the same name
			l.send(press(":"))
			for _, c := range "export cli:local" {
				l.send(press(string(c)))
			}
			l.send(press("enter"))
			l.pass(10 * time.Millisecond)
		}
		if !l.m.bad || !strings.Contains(l.m.message, "exists already") {
			t.Errorf("a second export says %q", l.m.message)
		}
	})
	files, err := filepath.Glob("cli-local-*.md")
	if err != nil || len(files) != 1 {
		t.Fatalf("the folder has %v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if info, e := os.Stat(files[0]); err != nil || e != nil || info.Mode().Perm() != 0o600 || !strings.Contains(string(text), "message <1>") || !strings.Contains(string(text), "message <5>") {
		t.Errorf("%v, %v: %s", err, e, text)
	}
}
