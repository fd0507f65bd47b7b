package store

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// conversation writes one turn whose messages are texts, the first by the user maria, and returns its session.
func conversation(t *testing.T, s *Store, id string, texts ...string) Session {
	t.Helper()
	v := Session{ID: id, Key: "chat:dm:" + id, Platform: "chat", User: "maria", State: "idle", CreatedAt: noon, LastActivityAt: noon}
	converse(t, s, v, "turn-"+id, texts...)
	return v
}

// converse writes one turn of a session.
func converse(t *testing.T, s *Store, v Session, id string, texts ...string) {
	t.Helper()
	turn := Turn{ID: id, SessionID: v.ID, Life: "l", StartedAt: noon, State: TurnRunning}
	must(t, s.BeginTurn(t.Context(), v, turn, Message{Role: "user", Who: "maria", Content: texts[0], At: noon.Add(time.Second)}))
	var rest []Message
	for _, text := range texts[1:] {
		rest = append(rest, Message{Role: "assistant", Content: text})
	}
	turn.State, turn.EndedAt = TurnDone, noon.Add(time.Minute)
	must(t, s.EndTurn(t.Context(), v, turn, rest))
}

// CV13: a page of messages is bounded by its rows and by its bytes, and the pages together are the conversation.
func TestCV13_PagesOfMessagesAreBounded(t *testing.T) {
	s := open(t, t.TempDir())
	texts := []string{"first", strings.Repeat("x", 1000), strings.Repeat("y", 1000)}
	for i := range 20 {
		texts = append(texts, strconv.Itoa(i))
	}
	v := conversation(t, s, "a", texts...)
	conversation(t, s, "b", "of another conversation")
	for name, bound := range map[string]struct{ limit, bytes, first int }{
		"by rows":  {4, 1 << 20, 4},
		"by bytes": {100, 900, 2},
		"neither":  {100, 1 << 20, len(texts)},
		"one huge": {1, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			after, more := int64(0), true
			for more {
				var page []Entry
				var err error
				page, more, err = s.Entries(t.Context(), v.ID, after, bound.limit, bound.bytes)
				must(t, err)
				if len(page) == 0 || len(page) > bound.limit || after == 0 && len(page) != bound.first {
					t.Fatalf("a page behind %d has %d rows: %+v", after, len(page), bound)
				}
				for _, e := range page {
					got = append(got, e.Content)
				}
				after = page[len(page)-1].Seq
			}
			if strings.Join(got, " ") != strings.Join(texts, " ") {
				t.Errorf("the pages have %q", got)
			}
		})
	}
	page, _, err := s.Entries(t.Context(), v.ID, 0, 2, 1<<20)
	must(t, err)
	if page[0].Who != "maria" || page[0].Turn != "turn-a" || !page[0].At.Equal(noon.Add(time.Second)) {
		t.Errorf("the user's message is %+v", page[0])
	}
	if !page[1].At.Equal(noon) {
		t.Errorf("a message without a time has %v, want that of its turn", page[1].At)
	}
}

// CV13: a title stays once it is set, until a person changes it.
func TestCV13_OnlyAPersonChangesATitle(t *testing.T) {
	s := open(t, t.TempDir())
	v := conversation(t, s, "a", "hello")
	title := func() string {
		t.Helper()
		got, found, err := s.SessionByID(t.Context(), "a")
		must(t, err)
		if !found {
			t.Fatal("the session is gone")
		}
		return got.Title
	}
	v.Title = "first words"
	converse(t, s, v, "2", "first words and more")
	v.Title = "later words"
	converse(t, s, v, "3", "later words and more")
	if title() != "first words" {
		t.Errorf("the title is %q", title())
	}
	if found, err := s.SetTitle(t.Context(), "a", "chosen"); err != nil || !found || title() != "chosen" {
		t.Errorf("chosen: %v, %v, %q", found, err, title())
	}
	v.Title = ""
	converse(t, s, v, "4", "bye")
	if title() != "chosen" {
		t.Errorf("a write of the session made it %q", title())
	}
	if found, err := s.SetTitle(t.Context(), "none", "x"); err != nil || found {
		t.Errorf("an unknown session: %v, %v", found, err)
	}
}

// OP2: read from its end in pages of any size, a conversation is the same, and no page has more than it may.
func TestOP2_AConversationIsReadFromItsEnd(t *testing.T) {
	s := open(t, t.TempDir())
	texts := []string{"first", strings.Repeat("x", 1000), "third", "fourth", "last"}
	v := conversation(t, s, "a", texts...)
	conversation(t, s, "b", "of another conversation")
	for _, bound := range []struct{ limit, bytes int }{{1, 1 << 20}, {2, 1 << 20}, {100, 500}, {100, 1 << 20}} {
		var got []string
		before, more := int64(1<<62), true
		for more {
			var page []Entry
			var err error
			page, more, err = s.EntriesBefore(t.Context(), v.ID, before, bound.limit, bound.bytes)
			must(t, err)
			if len(page) == 0 || len(page) > bound.limit {
				t.Fatalf("a page before %d has %d rows: %+v", before, len(page), bound)
			}
			var part []string
			for _, e := range page {
				part = append(part, e.Content)
			}
			got, before = append(part, got...), page[0].Seq
		}
		if strings.Join(got, " ") != strings.Join(texts, " ") {
			t.Errorf("%+v: the pages have %q", bound, got)
		}
	}
}
