package delivery

import (
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
)

// crowd is an Intake with what it did.
func crowd(t *testing.T) (*Intake, *house) {
	w, h := newWorld(), &house{known: map[string]string{}}
	i := NewIntake(IntakeOptions{
		Table:   session.NewTable(session.Options{Bounds: session.Bounds{QueueLimit: 8}, NewID: w.newID}),
		Gateway: h, Conversations: h, People: everyone{}, Outbox: w.outbox(t), Events: h, Tasks: w, Meter: w, Log: slog.New(slog.DiscardHandler), NewID: w.newID,
	})
	i.Open(h)
	return i, h
}

// told is a message of a group.
func told(by, text string) adapter.Inbound {
	return adapter.Inbound{
		Adapter: "chat", Session: "chat:group:1:user:" + by, User: by, Sender: by, Target: "1#9", Text: text, Chat: adapter.ChatGroup,
	}
}

func named(by, text string) adapter.Inbound {
	in := told(by, text)
	in.Mentioned = true
	return in
}

func receive(t *testing.T, i *Intake, all ...adapter.Inbound) {
	t.Helper()
	for _, in := range all {
		if _, err := i.Receive(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCV10_TF13_InAGroupWhatIsForTheBotIsAnsweredWithWhatWasSaidBefore(t *testing.T) {
	i, h := crowd(t)
	receive(t, i, told("ann", "shall we\nmeet?"), told("bob", "at 8"), told("ann", "/etc is a path"), told("ann", "/other command"), named("cleo", "when do we meet?"))
	if len(h.begun) != 1 || len(h.commands) != 0 {
		t.Fatalf("turns %q, commands %q", h.begun, h.commands)
	}
	want := "cleo says: when do we meet?\n\n[Said in this group before, for your information only:]\n> ann: shall we meet?\n> bob: at 8\n> ann: /etc is a path\n> ann: /other command"
	if h.begun[0] != want {
		t.Errorf("the model reads\n%s\nwant\n%s", h.begun[0], want)
	}
	receive(t, i, told("bob", "or 9"), told("ann", "/status"), named("bob", "what now?"))
	if !slices.Equal(h.commands, []string{"status"}) {
		t.Errorf("commands %q, want status, which names no bot and is known", h.commands)
	}
	if got := h.begun[1]; !strings.HasPrefix(got, "bob says: what now?\n\n") || !strings.Contains(got, "> ann: /other command\n> cleo: when do we meet?") {
		t.Errorf("another member's session reads\n%s", got)
	}
}

func TestCV10_ASessionHearsALineOnceAndTheLastTwentyAtMost(t *testing.T) {
	i, h := crowd(t)
	for n := range 50 {
		receive(t, i, told("ann", "line "+strconv.Itoa(n)))
	}
	receive(t, i, named("bob", "one"))
	if n := strings.Count(h.begun[0], "\n> "); n != maxLines || !strings.Contains(h.begun[0], "only:]\n> ann: line 30\n") {
		t.Errorf("it heard %d lines:\n%s", n, h.begun[0])
	}
	i.o.Table = session.NewTable(session.Options{Bounds: session.Bounds{QueueLimit: 8}, NewID: i.o.NewID}) // its turn is over
	receive(t, i, told("ann", "later"), named("bob", "two"))
	if want := "bob says: two\n\n[Said in this group before, for your information only:]\n> ann: later"; h.begun[1] != want {
		t.Errorf("it heard\n%s\nwant\n%s", h.begun[1], want)
	}
}

func TestCV10_ABareStopIsForTheBotWhileItWorksForThatPerson(t *testing.T) {
	i, h := crowd(t)
	receive(t, i, told("ann", "stop"))
	if len(h.commands) != 0 {
		t.Errorf("a word among people ran %q", h.commands)
	}
	receive(t, i, named("ann", "work"), told("bob", "stop"), told("ann", " Stop! "))
	if !slices.Equal(h.commands, []string{"stop"}) {
		t.Errorf("commands %q, want one stop", h.commands)
	}
	dm := adapter.Inbound{Adapter: "chat", Session: "chat:dm:1", User: "ann", Target: "1", Chat: adapter.ChatDM, Text: "stop."}
	receive(t, i, dm)
	if len(h.commands) != 2 {
		t.Errorf("commands %q, want a stop in the chat of one person", h.commands)
	}
}

func TestTF6_TheModelReadsWhatAMessageAnswersAndOthersOfAGroupWhichFilesItHad(t *testing.T) {
	i, h := crowd(t)
	receive(t, i, adapter.Inbound{
		Adapter: "chat", Session: "chat:dm:1", User: "ann", Target: "1", Chat: adapter.ChatDM, Text: "summarize", Quoted: "line one\nline two",
		Files: []adapter.File{{Name: "x.pdf\x1b[31m", Type: "application/pdf", Size: 12}},
	})
	want := "summarize\n\n[It answers this message:]\n> line one\n> line two" // its turn adds what becomes of the file
	if h.begun[0] != want {
		t.Errorf("the model reads\n%q\nwant\n%q", h.begun[0], want)
	}
	heard := told("ann", "look")
	heard.Files = []adapter.File{{Name: "x.pdf\x1b[31m"}, {Type: "image/png"}, {}}
	receive(t, i, heard, named("bob", "seen?"))
	if want := "> ann: look [with a file: x.pdf␛[31m] [with a file: image/png] [with a file]"; !strings.HasSuffix(h.begun[1], want) {
		t.Errorf("another member's session reads\n%s\nwant\n%s", h.begun[1], want)
	}
}

func TestAnEditOfAMessageThatWaitsTakesItsPlaceAndALaterOneIsMarked(t *testing.T) {
	i, h := crowd(t)
	message := func(id, text string, edit int) adapter.Inbound {
		return adapter.Inbound{
			Adapter: "chat", Session: "chat:dm:1", User: "ann", Target: "1", Chat: adapter.ChatDM, ID: id, Text: text, Edited: edit > 0,
			Dedupe: fmt.Sprintf("%s:%d", id, edit),
		}
	}
	receive(t, i, message("1", "first", 0), message("2", "secnd", 0), message("2", "second", 1), message("2", "second", 2), message("7", "unknown", 1))
	if row, _ := i.o.Table.Row("chat:dm:1"); row.Queued != 1 || len(h.inbox) != 3 {
		t.Fatalf("%d wait, the inbox had %d messages; want 1 and 3", row.Queued, len(h.inbox))
	}
	if got := h.inbox[2].Text; got != "second" || !slices.Equal(h.dropped, []string{h.inbox[1].ID}) {
		t.Errorf("%q takes the place, and %v ended without an answer", got, h.dropped)
	}
	receive(t, i, message("1", "first, changed", 1))
	if got := h.inbox[3].Text; got != "An earlier message, edited: first, changed" {
		t.Errorf("the change of a message that is worked on is %q", got)
	}
}

func TestTheMemoryOfGroupsIsBounded(t *testing.T) {
	var g groups
	for n := range 3 * maxGroups {
		in := named("ann", "x")
		in.Target, in.Session = strconv.Itoa(n), strconv.Itoa(n)
		g.hear(in, true, ops.RoleMember)
		in.Target = "same"
		g.hear(in, true, ops.RoleMember)
	}
	if len(g.last) > maxGroups || len(g.last["chat same"].heard) > maxGroups || len(g.last["chat same"].lines) > maxLines {
		t.Errorf("%d groups, %d sessions", len(g.last), len(g.last["chat same"].heard))
	}
	var seen taken
	for n := range 3 * maxTaken {
		seen.put(adapter.Inbound{ID: strconv.Itoa(n)}, "id")
	}
	if len(seen.by) != maxTaken || len(seen.order) != maxTaken {
		t.Errorf("%d messages are remembered", len(seen.by))
	}
}

func TestCV9_AFileAloneIsAMessageAndStaysWithItInTheInbox(t *testing.T) {
	i, h := crowd(t)
	photo := adapter.Inbound{
		Adapter: "chat", Session: "chat:dm:1", User: "ann", Target: "1", Chat: adapter.ChatDM, Files: []adapter.File{{Name: "a.jpg", Ref: "1/2"}},
	}
	receive(t, i, photo, photo)
	want := `[{"name":"a.jpg","ref":"1/2"}]`
	if h.inbox[0].Files != want || h.inbox[1].Files != want {
		t.Errorf("the inbox has the files %q and %q", h.inbox[0].Files, h.inbox[1].Files)
	}
	if waiting := i.o.Table.Drop()["chat:dm:1"]; len(waiting) != 1 || waiting[0].Files != want {
		t.Errorf("what waits is %+v", waiting)
	}
	i.Restore(t.Context(), h.inbox[0])
	if waiting := i.o.Table.Drop()["chat:dm:1"]; len(waiting) != 1 || waiting[0].Files != want {
		t.Errorf("in the next life %+v waits", waiting)
	}
}

func TestCV10_TheRulesOfAChatSayWhatIsAnsweredAndWhoseTheConversationIs(t *testing.T) {
	thread := func(by, text string) adapter.Inbound {
		in := told(by, text)
		in.Session, in.Chat = "chat:group:1:topic:7", adapter.ChatThread
		return in
	}
	for _, c := range []struct {
		name     string
		manner   Manner
		say      []adapter.Inbound
		begun    []string // what the first lines of turns read
		commands []string
		sessions []string
	}{
		{
			"a mention, an answer and a command are required",
			Manner{},
			[]adapter.Inbound{told("ann", "hello"), named("ann", "work"), told("bob", "/status")},
			[]string{"ann says: work"},
			[]string{"status"},
			[]string{"chat:group:1:user:ann"},
		},
		{
			"every message is answered",
			Manner{Rules: Rules{Mention: MentionAlways}},
			[]adapter.Inbound{told("ann", "hello"), thread("bob", "hi")},
			[]string{"ann says: hello", "bob says: hi"},
			nil,
			[]string{"chat:group:1:user:ann", "chat:group:1:topic:7"},
		},
		{
			"only commands are heard",
			Manner{Rules: Rules{Mention: MentionNever}},
			[]adapter.Inbound{told("ann", "hello"), named("ann", "work"), named("ann", "/status")},
			nil,
			[]string{"status"},
			nil,
		},
		{
			"a message to the bot alone knows no rules",
			Manner{Rules: Rules{Mention: MentionNever, Sessions: SessionsShared}},
			[]adapter.Inbound{{Adapter: "chat", Session: "chat:dm:1", User: "ann", Target: "1", Chat: adapter.ChatDM, Text: "hello"}},
			[]string{"hello"},
			nil,
			[]string{"chat:dm:1"},
		},
		{
			"one conversation for all",
			Manner{Rules: Rules{Sessions: SessionsShared}},
			[]adapter.Inbound{named("ann", "work"), thread("bob", "no")},
			[]string{"ann says: work"},
			nil,
			[]string{"chat:group:1"},
		},
		{
			"one conversation for each member, in a thread too",
			Manner{Rules: Rules{Mention: MentionAlways, Sessions: SessionsPerUser}},
			[]adapter.Inbound{told("ann", "work"), thread("bob (7)", "hi")},
			[]string{"ann says: work", "bob (7) says: hi"},
			nil,
			[]string{"chat:group:1:user:ann", "chat:group:1:topic:7:user:7"},
		},
		{
			"a bare stop is a stop in each of them",
			Manner{Rules: Rules{Mention: MentionAlways, Sessions: SessionsShared}},
			[]adapter.Inbound{told("ann", "work"), told("ann", "stop")},
			[]string{"ann says: work"},
			[]string{"stop"},
			[]string{"chat:group:1"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			i, h := crowd(t)
			i.o.Outbox.o.Manner = func(string) Manner { return c.manner }
			receive(t, i, c.say...)
			var begun []string
			for _, text := range h.begun {
				first, _, _ := strings.Cut(text, "\n")
				begun = append(begun, first)
			}
			if !slices.Equal(begun, c.begun) || !slices.Equal(h.commands, c.commands) {
				t.Errorf("turns %q and commands %q, want %q and %q", begun, h.commands, c.begun, c.commands)
			}
			for _, key := range c.sessions {
				if _, found := i.o.Table.Get(key); !found {
					t.Errorf("there is no session %s", key)
				}
			}
		})
	}
}
