package conformance

import (
	"slices"
	"strings"
	"time"

	"gatewaytui/core/adapter"
)

func (s *suite) connects() (notShown string) {
	c := s.connect()
	s.settle(time.Minute)
	select {
	case <-c.Done():
		s.Fatalf("the connection ended: %v", c.Err())
	default:
	}
	if c.Err() != nil || time.Since(c.LastInbound()) > time.Minute {
		s.Errorf("Err is %v, LastInbound %s ago", c.Err(), time.Since(c.LastInbound()))
	}
	if err := s.down(c); err != nil {
		s.Errorf("the teardown: %v", err)
	}
	return ""
}

func (s *suite) receivesOnce() (notShown string) {
	s.peer.Say("hello")
	first := s.connect()
	s.await(1)
	s.settle(time.Minute)
	if err := s.down(first); err != nil {
		s.Errorf("the teardown: %v", err)
	}
	s.connect()
	s.settle(time.Minute)
	got := s.Messages()
	if len(got) != 1 {
		s.Fatalf("received %d messages, want one", len(got))
	}
	name := s.peer.Platform().Name()
	m := got[0]
	if m.Text != "hello" || m.Adapter != name || !strings.HasPrefix(m.Session, name+":") || m.User == "" || m.Target == "" || m.Chat != adapter.ChatDM {
		s.Errorf("received %+v", m)
	}
	return ""
}

func (s *suite) sendsOnce() (notShown string) {
	s.peer.Say("hello")
	c := s.connect()
	to := s.chat("again")
	sent, err := s.send(c, adapter.Outgoing{Target: to, Text: "answer"})
	if err != nil || len(sent.IDs) != 1 || s.can(adapter.AbilityEdit) && sent.IDs[0] == "" {
		s.Errorf("sent %+v: %v", sent, err)
	}
	s.settle(farAway)
	s.has("answer")
	return ""
}

func (s *suite) splits() (notShown string) {
	c := s.connect()
	to := s.chat("hello")
	p, bounded := s.peer.Platform().(adapter.Bounded)
	if !bounded || p.Bounds(to).Message == 0 {
		return "a message takes a text of any length"
	}
	most := p.Bounds(to).Message
	text := strings.Repeat("word ", most) // five messages
	sent, err := s.send(c, adapter.Outgoing{Target: to, Text: text})
	s.shows(func() bool { return len(s.peer.Texts()) == len(sent.IDs) })
	got := s.peer.Texts()
	if err != nil || len(sent.IDs) != len(got) || len(got) < 5 {
		s.Fatalf("sent %d messages, the chat has %d: %v", len(sent.IDs), len(got), err)
	}
	for _, part := range got {
		if len(part) > most {
			s.Errorf("a message has %d characters, at most %d may be", len(part), most)
		}
	}
	if strings.Join(strings.Fields(strings.Join(got, " ")), " ") != strings.TrimSpace(text) {
		s.Error("the messages together are not the text")
	}
	if rest, err := s.send(c, adapter.Outgoing{Target: to, Text: text, Skip: len(got) - 1}); err != nil || len(rest.IDs) != 1 {
		s.Errorf("the rest was sent as %d messages: %v", len(rest.IDs), err)
	}
	last := got[len(got)-1]
	if !s.shows(func() bool { return slices.Equal(s.peer.Texts(), append(slices.Clone(got), last)) }) {
		again := s.peer.Texts()
		s.Errorf("the chat has %d messages after the rest, want %d; the last is %.40q, want %.40q", len(again), len(got)+1, again[len(again)-1], last)
	}
	return ""
}
