package delivery

import (
	"errors"
	"hash/fnv"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/term"
)

// sketch makes the draft in the chat what text says. It returns after how long to look again. A draft leaves its chat without a
// call, so that one of unknown outcome is not on record and changes nothing for the answer.
func (s *Show) sketch(text string) (wait time.Duration) {
	if s.closed() {
		return 0
	}
	m := adapter.Outgoing{Target: s.in.Target, Text: text, Markdown: true, Passing: true}
	err := s.o.sender.Draft(s.ctx, s.in.Adapter, draftID(s.in.ID), m)
	_, refused := errors.AsType[*adapter.RefusedError](err)
	_, limited := errors.AsType[*adapter.RateLimitError](err)
	givenUp := refused || limited || errors.Is(err, adapter.ErrUnable)
	if givenUp {
		s.o.o.Log.Debug("draft given up", "session", s.in.Session, "adapter", s.in.Adapter, "error", term.Clean(err.Error(), 300))
	}
	if err == nil {
		s.draws.Store(true)
	}
	s.mu.Lock()
	if s.picture.over = s.picture.over || givenUp; err == nil {
		s.picture.drawn(time.Now(), text)
	}
	s.mu.Unlock()
	if err != nil && !givenUp {
		s.sleep(draftRetry, nil) // a change does not shorten this wait
	}
	return time.Millisecond
}

// draftID names the draft of the turn that works on a message. It is positive and fits into 31 bits.
func draftID(message string) int64 {
	h := fnv.New32a()
	h.Write([]byte(message))
	return int64(h.Sum32()>>1 | 1)
}
