package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gatewaytui/core/adapter"
)

func (s *suite) edits() (notShown string) {
	c := s.connect()
	to := s.chat("hello")
	if !s.can(adapter.AbilityEdit) {
		return lacksAbility(adapter.AbilityEdit)
	}
	editor := able[adapter.Editor](s, c)
	sent, err := s.send(c, adapter.Outgoing{Target: to, Text: "draft", Passing: true})
	if err != nil || len(sent.IDs) != 1 {
		s.Fatalf("sent %+v: %v", sent, err)
	}
	id := sent.IDs[0]
	for range 2 {
		again, err := editor.Edit(s.Context(), id, adapter.Outgoing{Target: to, Text: "answer"})
		if err != nil || len(again.IDs) != 1 || again.IDs[0] != id {
			s.Errorf("the edit returned %+v, %v", again, err)
		}
	}
	s.has("answer")
	for range 2 {
		if err := editor.Remove(s.Context(), to, id); err != nil {
			s.Errorf("the removal: %v", err)
		}
	}
	s.has()
	_, err = editor.Edit(s.Context(), id, adapter.Outgoing{Target: to, Text: "late"})
	s.refused("the edit of a message that is gone", err)
	return ""
}

func (s *suite) drafts() (notShown string) {
	c := s.connect()
	peer, why := peerWith[DraftPeer](s, adapter.AbilityDrafts)
	if why != "" {
		return why
	}
	to := s.chat("hello")
	drafter := able[adapter.Drafter](s, c)
	for _, text := range []string{"one", "one two", "one two"} {
		if err := drafter.Draft(s.Context(), 7, adapter.Outgoing{Target: to, Text: text, Passing: true}); err != nil {
			s.Error(err)
		}
	}
	if got := peer.Drafts(); !slices.Equal(got, []string{"one", "one two", "one two"}) || len(s.peer.Texts()) != 0 {
		s.Errorf("the drafts are %q, the messages %q", got, s.peer.Texts())
	}
	s.refused("a blank draft", drafter.Draft(s.Context(), 7, adapter.Outgoing{Target: to, Text: " ", Passing: true}))
	if b, is := s.peer.Platform().(adapter.Bounded); !is || b.Bounds(to).Drafts <= 0 {
		s.Error("the platform does not say for how long it shows a draft")
	}
	return ""
}

func (s *suite) types() (notShown string) {
	c := s.connect()
	to := s.chat("hello")
	if !s.can(adapter.AbilityTyping) {
		return lacksAbility(adapter.AbilityTyping)
	}
	if err := able[adapter.Typer](s, c).Typing(s.Context(), to); err != nil {
		s.Error(err)
	}
	if len(s.peer.Texts()) != 0 {
		s.Errorf("typing left %q in the chat", s.peer.Texts())
	}
	if b, is := s.peer.Platform().(adapter.Bounded); !is || b.Bounds(to).Typing <= 0 {
		s.Error("the platform does not say for how long it shows typing")
	}
	return ""
}

// isAble checks the methods of the connection. One whose abilities are known only once it is made may have the methods of all, and
// refuses those of abilities that the platform does not declare.
func (s *suite) isAble() (notShown string) {
	c, ctx := s.connect(), s.Context()
	for a, call := range map[adapter.Ability]func() error{
		adapter.AbilityTyping:    method(c, func(c adapter.Typer) error { return c.Typing(ctx, "1") }),
		adapter.AbilityEdit:      method(c, func(c adapter.Editor) error { return c.Remove(ctx, "1", "1") }),
		adapter.AbilityReactions: method(c, func(c adapter.Reactor) error { return c.React(ctx, "1", "1", "👍") }),
		adapter.AbilityFilesIn: method(c, func(c adapter.Fetcher) error {
			_, err := c.Fetch(ctx, "1", 1)
			return err
		}),
		adapter.AbilityFilesOut: method(c, func(c adapter.FileSender) error {
			_, err := c.SendFile(ctx, "1", adapter.OutgoingFile{Name: "a.txt", Content: []byte("content")})
			return err
		}),
		adapter.AbilityMenu: method(c, func(c adapter.MenuSetter) error { return c.SetMenu(ctx, nil) }),
		adapter.AbilityDrafts: method(c, func(c adapter.Drafter) error {
			return c.Draft(ctx, 7, adapter.Outgoing{Target: "1", Text: "one"})
		}),
	} {
		switch can := s.can(a); {
		case can && call == nil:
			s.Errorf("the platform declares %q, and its connection lacks the method", a)
		case !can && call != nil:
			if err := call(); !errors.Is(err, adapter.ErrUnable) {
				s.refused(fmt.Sprintf("%q, which the platform does not declare,", a), err)
			}
		}
	}
	return ""
}

// method is a call of f with the connection, or nil if that lacks the methods of T.
func method[T any](c adapter.Conn, f func(T) error) func() error {
	t, is := c.(T)
	if !is {
		return nil
	}
	return func() error { return f(t) }
}

// able is a connection that does what the platform declares.
func able[T any](s *suite, c adapter.Conn) T {
	s.Helper()
	t, is := c.(T)
	if !is {
		s.Fatalf("the connection %T lacks the methods of an ability that the platform declares", c)
	}
	return t
}

func lacksAbility(a adapter.Ability) string {
	return fmt.Sprintf("the platform does not declare %q", a)
}

// refused fails the test unless err is one that is for ever.
func (s *suite) refused(what string, err error) {
	s.Helper()
	if _, is := errors.AsType[*adapter.RefusedError](err); !is {
		s.Errorf("%s returned %v, want a refusal", what, err)
	}
}

// peerWith is the peer as one that shows the ability a, or why there is none. The platform is connected.
func peerWith[T any](s *suite, a adapter.Ability) (peer T, notShown string) {
	s.Helper()
	if !s.can(a) {
		return peer, lacksAbility(a)
	}
	peer, is := s.peer.(T)
	if !is {
		s.Fatalf("the platform declares %q, and its peer does not show that", a)
	}
	return peer, ""
}

func (s *suite) fetches() (notShown string) {
	first := s.connect()
	peer, why := peerWith[FilePeer](s, adapter.AbilityFilesIn)
	if why != "" {
		return why
	}
	s.chat("hello")
	peer.SayFile("read it", "a.txt", "content")
	s.await(2)
	peer.SayFile("", "b.txt", "more")
	got := s.await(3)[1:]
	for i, want := range []struct {
		text string
		size int64
	}{{"read it", 7}, {"", 4}} {
		if m := got[i]; m.Text != want.text || len(m.Files) != 1 || m.Files[0].Size != want.size && m.Files[0].Size != 0 || m.Files[0].Ref == "" || m.Session != s.Messages()[0].Session {
			s.Fatalf("received %+v", m)
		}
	}
	if err := s.down(first); err != nil {
		s.Errorf("the teardown: %v", err)
	}
	f := able[adapter.Fetcher](s, s.connect())
	ref := got[0].Files[0].Ref
	if content, err := f.Fetch(s.Context(), ref, 7); err != nil || string(content) != "content" {
		s.Errorf("fetched %q: %v", content, err)
	}
	_, err := f.Fetch(s.Context(), ref, 6)
	s.refused("a file that is too large", err)
	_, err = f.Fetch(s.Context(), "no file", 7)
	s.refused("a file that there is not", err)
	return ""
}

func (s *suite) sendsFiles() (notShown string) {
	c := s.connect()
	peer, why := peerWith[FilePeer](s, adapter.AbilityFilesOut)
	if why != "" {
		return why
	}
	to := s.chat("hello")
	files := able[adapter.FileSender](s, c)
	f := adapter.OutgoingFile{Name: "../b/report \"1\".txt", Type: "text/plain", Content: []byte("content"), Caption: "look"}
	sent, err := files.SendFile(s.Context(), to, f)
	if err != nil || len(sent.IDs) != 1 {
		s.Fatalf("sent %+v: %v", sent, err)
	}
	want := []SentFile{{Name: "report \"1\".txt", Content: "content", Text: "look"}}
	if !s.shows(func() bool { return slices.Equal(peer.Files(), want) }) {
		s.Errorf("the chat has %q, want %q", peer.Files(), want)
	}
	large := f
	large.Content = bytes.Repeat([]byte("x"), 51<<20)
	_, err = files.SendFile(s.Context(), to, large)
	s.refused("a file that is too large", err)
	if s.peer.Fail(Flood) {
		_, err := files.SendFile(s.Context(), to, f)
		if limit, is := errors.AsType[*adapter.RateLimitError](err); !is || limit.RetryAfter < Limit {
			s.Errorf("a rate limit returned %v", err)
		}
		s.peer.Heal()
	}
	if s.peer.Fail(Refusal) {
		_, err := files.SendFile(s.Context(), to, f)
		s.refused("a chat that takes nothing", err)
		s.peer.Heal()
	}
	s.settle(farAway)
	if got := peer.Files(); len(got) != 1 {
		s.Errorf("the chat has %q, want one file", got)
	}
	return ""
}

func (s *suite) reacts() (notShown string) {
	c := s.connect()
	peer, why := peerWith[ReactionPeer](s, adapter.AbilityReactions)
	if why != "" {
		return why
	}
	to := s.chat("hello")
	id := s.heard().ID
	r := able[adapter.Reactor](s, c)
	if id == "" {
		s.Fatal("the message that was received has no id")
	}
	for _, emoji := range []string{"👀", "👍", "👍", "", ""} {
		if err := r.React(s.Context(), to, id, emoji); err != nil {
			s.Fatalf("the reaction %q: %v", emoji, err)
		}
		want := []string{emoji}
		if emoji == "" {
			want = nil
		}
		if !s.shows(func() bool { return slices.Equal(peer.Reactions(id), want) }) {
			s.Errorf("the message has %q, want %q", peer.Reactions(id), want)
		}
	}
	s.refused("a sign that is not an emoji", r.React(s.Context(), to, id, "no emoji"))
	s.refused("a message that there is not", r.React(s.Context(), to, "987654321", "👍"))
	return ""
}

func (s *suite) isPressed() (notShown string) {
	c := s.connect()
	peer, why := peerWith[ButtonPeer](s, adapter.AbilityButtons)
	if why != "" {
		return why
	}
	to := s.chat("hello")
	asked := s.heard()
	id := strings.TrimSuffix(asked.User[strings.LastIndexByte(asked.User, '(')+1:], ")")
	s.Only([]string{id})
	ask := func(buttons ...adapter.Button) (id string) {
		sent, err := s.send(c, adapter.Outgoing{Target: to, Text: "run it?", Buttons: [][]adapter.Button{buttons}})
		if err != nil || len(sent.IDs) != 1 {
			s.Fatalf("sent %+v: %v", sent, err)
		}
		return sent.IDs[0]
	}
	ask(adapter.Button{Label: "Always", Text: "/approve 0"})
	if !s.shows(func() bool { return peer.Press("Always", true) }) {
		s.Fatal("the first message has no button")
	}
	s.settle(time.Minute)
	if n := len(s.Messages()); n != 1 {
		s.Errorf("%d messages were received, want one: a stranger's press is none", n)
	}
	message := ask(adapter.Button{Label: "Yes", Text: "/approve 1"}, adapter.Button{Label: "No", Text: "/deny 1"}) // the last one again, also where the stranger was answered
	if !s.shows(func() bool { return peer.Press("No", false) }) {
		s.Fatal("the second message has no button")
	}
	got := s.await(2)[1]
	if got.Text != "/deny 1" || got.Session != asked.Session || adapter.ChatOf(got.Target) != adapter.ChatOf(to) || !got.Mentioned || got.Dedupe == "" {
		s.Errorf("received %+v", got)
	}
	if !s.can(adapter.AbilityEdit) {
		return ""
	}
	editor := able[adapter.Editor](s, c)
	if _, err := editor.Edit(s.Context(), message, adapter.Outgoing{Target: to, Text: "it ran"}); err != nil {
		s.Error(err)
	}
	if !s.shows(func() bool { return !peer.Press("Yes", false) }) {
		s.Error("the button is still there after an edit without buttons")
	}
	return ""
}
