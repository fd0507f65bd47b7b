package conformance

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"time"

	"gatewaytui/core/adapter"
)

func (s *suite) edits() {
	c := s.connect()
	to := s.chat("hello")
	editor, is := c.(adapter.Editor)
	if is != s.can(adapter.AbilityEdit) {
		s.Fatalf("the connection edits: %t, the platform says %t", is, !is)
	}
	if !is {
		return
	}
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
	if got := s.peer.Texts(); !slices.Equal(got, []string{"answer"}) {
		s.Errorf("the chat has %q", got)
	}
	for range 2 {
		if err := editor.Remove(s.Context(), to, id); err != nil {
			s.Errorf("the removal: %v", err)
		}
	}
	if got := s.peer.Texts(); len(got) != 0 {
		s.Errorf("the chat still has %q", got)
	}
	_, err = editor.Edit(s.Context(), id, adapter.Outgoing{Target: to, Text: "late"})
	if _, refused := errors.AsType[*adapter.RefusedError](err); !refused {
		s.Errorf("the edit of a message that is gone returned %v", err)
	}
}

func (s *suite) drafts() {
	peer, able := peerWith[DraftPeer](s, adapter.AbilityDrafts)
	if !able {
		return
	}
	c := s.connect()
	to := s.chat("hello")
	drafter, is := c.(adapter.Drafter)
	if !is {
		s.Fatal("the connection shows no drafts")
	}
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
}

func (s *suite) types() {
	c := s.connect()
	to := s.chat("hello")
	typer, is := c.(adapter.Typer)
	if is != s.can(adapter.AbilityTyping) {
		s.Fatalf("the connection types: %t, the platform says %t", is, !is)
	}
	if !is {
		return
	}
	if err := typer.Typing(s.Context(), to); err != nil {
		s.Error(err)
	}
	if len(s.peer.Texts()) != 0 {
		s.Errorf("typing left %q in the chat", s.peer.Texts())
	}
	if b, is := s.peer.Platform().(adapter.Bounded); !is || b.Bounds(to).Typing <= 0 {
		s.Error("the platform does not say for how long it shows typing")
	}
}

func (s *suite) isAble() {
	c := s.connect()
	for a, is := range map[adapter.Ability]bool{
		adapter.AbilityTyping: ok[adapter.Typer](c), adapter.AbilityEdit: ok[adapter.Editor](c), adapter.AbilityReactions: ok[adapter.Reactor](c),
		adapter.AbilityFilesIn: ok[adapter.Fetcher](c), adapter.AbilityFilesOut: ok[adapter.FileSender](c), adapter.AbilityMenu: ok[adapter.MenuSetter](c),
		adapter.AbilityDrafts: ok[adapter.Drafter](c),
	} {
		if s.can(a) != is {
			s.Errorf("%q: the platform says %t, the connection %t", a, !is, is)
		}
	}
}

func ok[T any](c adapter.Conn) bool {
	_, is := c.(T)
	return is
}

// refused fails the test unless err is one that is for ever.
func (s *suite) refused(what string, err error) {
	s.Helper()
	if _, is := errors.AsType[*adapter.RefusedError](err); !is {
		s.Errorf("%s returned %v, want a refusal", what, err)
	}
}

// peerWith is the peer as one that shows the ability a; false if the platform does not have it.
func peerWith[T any](s *suite, a adapter.Ability) (peer T, able bool) {
	s.Helper()
	if !s.can(a) {
		return peer, false
	}
	peer, able = s.peer.(T)
	if !able {
		s.Fatalf("the platform declares %q, and its peer does not show that", a)
	}
	return peer, true
}

func (s *suite) fetches() {
	peer, able := peerWith[FilePeer](s, adapter.AbilityFilesIn)
	if !able {
		return
	}
	first := s.connect()
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
	f, is := s.connect().(adapter.Fetcher)
	if !is {
		s.Fatal("the connection fetches no files")
	}
	ref := got[0].Files[0].Ref
	if content, err := f.Fetch(s.Context(), ref, 7); err != nil || string(content) != "content" {
		s.Errorf("fetched %q: %v", content, err)
	}
	_, err := f.Fetch(s.Context(), ref, 6)
	s.refused("a file that is too large", err)
	_, err = f.Fetch(s.Context(), "no file", 7)
	s.refused("a file that there is not", err)
}

func (s *suite) sendsFiles() {
	peer, able := peerWith[FilePeer](s, adapter.AbilityFilesOut)
	if !able {
		return
	}
	c := s.connect()
	to := s.chat("hello")
	files, is := c.(adapter.FileSender)
	if !is {
		s.Fatal("the connection sends no files")
	}
	f := adapter.OutgoingFile{Name: "../b/report \"1\".txt", Type: "text/plain", Content: []byte("content"), Caption: "look"}
	sent, err := files.SendFile(s.Context(), to, f)
	if err != nil || len(sent.IDs) != 1 {
		s.Fatalf("sent %+v: %v", sent, err)
	}
	want := []SentFile{{Name: "report \"1\".txt", Content: "content", Text: "look"}}
	if got := peer.Files(); !slices.Equal(got, want) {
		s.Errorf("the chat has %q, want %q", got, want)
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
	s.peer.Pass(farAway)
	if got := peer.Files(); len(got) != 1 {
		s.Errorf("the chat has %q, want one file", got)
	}
}

func (s *suite) reacts() {
	peer, able := peerWith[ReactionPeer](s, adapter.AbilityReactions)
	if !able {
		return
	}
	c := s.connect()
	to := s.chat("hello")
	id := s.heard().ID
	r, is := c.(adapter.Reactor)
	if !is || id == "" {
		s.Fatalf("the connection reacts: %t, to the message %q", is, id)
	}
	for _, emoji := range []string{"👀", "👍", "👍", "", ""} {
		if err := r.React(s.Context(), to, id, emoji); err != nil {
			s.Fatalf("the reaction %q: %v", emoji, err)
		}
		want := []string{emoji}
		if emoji == "" {
			want = nil
		}
		if got := peer.Reactions(id); !slices.Equal(got, want) {
			s.Errorf("the message has %q, want %q", got, want)
		}
	}
	s.refused("a sign that is not an emoji", r.React(s.Context(), to, id, "no emoji"))
	s.refused("a message that there is not", r.React(s.Context(), to, "987654321", "👍"))
}

func (s *suite) isPressed() {
	peer, able := peerWith[ButtonPeer](s, adapter.AbilityButtons)
	if !able {
		return
	}
	c := s.connect()
	to := s.chat("hello")
	asked := s.heard()
	id := strings.TrimSuffix(asked.User[strings.LastIndexByte(asked.User, '(')+1:], ")")
	s.Only([]string{id})
	m := adapter.Outgoing{Target: to, Text: "run it?", Buttons: [][]adapter.Button{{{Label: "Yes", Text: "/approve 1"}, {Label: "No", Text: "/deny 1"}}}}
	sent, err := s.send(c, m)
	if err != nil || len(sent.IDs) != 1 {
		s.Fatalf("sent %+v: %v", sent, err)
	}
	if !peer.Press("Yes", true) || !peer.Press("No", false) {
		s.Fatal("there are no such buttons")
	}
	got := s.await(2)[1]
	s.peer.Pass(time.Minute)
	if n := len(s.Messages()); n != 2 {
		s.Errorf("%d messages were received, want two: a stranger's press is none", n)
	}
	if got.Text != "/deny 1" || got.Session != asked.Session || adapter.ChatOf(got.Target) != adapter.ChatOf(to) || !got.Mentioned || got.Dedupe == "" {
		s.Errorf("received %+v", got)
	}
	editor, is := c.(adapter.Editor)
	if !is {
		return
	}
	if _, err := editor.Edit(s.Context(), sent.IDs[0], adapter.Outgoing{Target: to, Text: "it ran"}); err != nil {
		s.Error(err)
	}
	if peer.Press("Yes", false) {
		s.Error("the button is still there after an edit without buttons")
	}
}
