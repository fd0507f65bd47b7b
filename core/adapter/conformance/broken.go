package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
)

// lacks is why a fault cannot be shown.
func lacks(f Fault) string { return fmt.Sprintf("the peer has no fault %q", f) }

// ends reports whether a connection that is to end does.
func (s *suite) ends(c adapter.Conn) bool {
	return s.comes(func() bool {
		select {
		case <-c.Done():
			return true
		default:
			return false
		}
	})
}

func (s *suite) reconnects() (notShown string) {
	c := s.connect()
	if !s.peer.Fail(Gone) {
		return lacks(Gone)
	}
	switch {
	case !s.ends(c):
		s.Error("the connection did not end")
	case c.Err() == nil:
		s.Error("the connection ended without a reason")
	}
	if _, err := s.try(); err == nil {
		s.Error("connected to a peer that is gone")
	}
	if _, err := s.send(c, adapter.Outgoing{Target: "1", Text: "lost"}); err == nil {
		s.Error("a message was sent to a peer that is gone")
	}
	s.peer.Heal()
	next := s.connect()
	if _, err := s.send(next, adapter.Outgoing{Target: s.chat("hello"), Text: "answer"}); err != nil {
		s.Errorf("the next connection: %v", err)
	}
	return ""
}

func (s *suite) returnsRateLimits() (notShown string) {
	c := s.connect()
	to := s.chat("hello")
	if !s.peer.Fail(Flood) {
		return lacks(Flood)
	}
	began := time.Now()
	_, err := s.send(c, adapter.Outgoing{Target: to, Text: "answer"})
	limit, is := errors.AsType[*adapter.RateLimitError](err)
	if !is || limit.RetryAfter < Limit || time.Since(began) >= time.Second+s.times.Lag {
		s.Errorf("after %s it returned %v, want a rate limit of %s at once", time.Since(began), err, Limit)
	}
	s.peer.Heal()
	s.peer.Pass(Limit + s.times.Settle)
	if got := s.peer.Texts(); len(got) != 0 {
		s.Errorf("the platform sent %q again without being asked", got)
	}
	return ""
}

func (s *suite) returnsRefusals() (notShown string) {
	c := s.connect()
	to := s.chat("hello")
	if !s.peer.Fail(Refusal) {
		return lacks(Refusal)
	}
	_, err := s.send(c, adapter.Outgoing{Target: to, Text: "answer"})
	s.refused("a message", err)
	return ""
}

func (s *suite) namesCredentials() (notShown string) {
	if !s.peer.Fail(BadToken) {
		return lacks(BadToken)
	}
	_, err := s.try()
	if wrong, is := errors.AsType[*adapter.CredentialsError](err); !is || wrong.Variable == "" {
		s.Errorf("it returned %v, want an error that names the credential", err)
	}
	return ""
}

func (s *suite) namesConflicts() (notShown string) {
	if !s.peer.Fail(Conflict) {
		return lacks(Conflict)
	}
	c, err := s.try()
	if err == nil {
		s.ends(c)
		err = c.Err()
	}
	if _, is := errors.AsType[*adapter.ConflictError](err); !is {
		s.Errorf("it returned %v, want a conflict", err)
	}
	return ""
}

func (s *suite) noticesSilence() (notShown string) {
	before := s.peer.Platform()
	p, is := before.(interface{ StaleAfter() time.Duration })
	if !is {
		return "the platform says nothing about when it is stale"
	}
	c := s.connect()
	s.settle(time.Second)
	if !s.peer.Fail(HalfDead) {
		return lacks(HalfDead)
	}
	if s.peer.Platform() == before { // else the fault is that of another platform
		s.hearsNothing(c, p.StaleAfter())
	}
	if err := s.down(c); err != nil {
		s.Log(err) // a peer that does not answer need not let go
	}
	if s.times.Silence < p.StaleAfter() {
		return "" // there is no time for a second silence
	}
	if c, err := s.try(); err == nil { // a platform need not call that a connection
		s.hearsNothing(c, p.StaleAfter())
	}
	return ""
}

// hearsNothing fails the test if a connection seems alive after a silence of its peer.
func (s *suite) hearsNothing(c adapter.Conn, stale time.Duration) {
	silence := min(2*stale+time.Second, s.times.Silence)
	s.peer.Pass(silence)
	select {
	case <-c.Done():
	default:
		if quiet := time.Since(c.LastInbound()); quiet < min(stale, silence/2) {
			s.Errorf("after %s of silence it heard something %s ago", silence, quiet)
		}
	}
}

func (s *suite) tearsDown() (notShown string) {
	v := adapter.NewSupervisor(adapter.Options{ConnectTimeout: s.times.Call, CallTimeout: downLimit, SendTimeout: s.times.Call, Receiver: s})
	healthy := s.peer.Platform()
	v.Add(healthy)
	ctx, cancel := context.WithCancel(s.Context())
	ended := make(chan error, 1)
	go func() { ended <- v.Run(ctx) }()
	defer func() {
		cancel()
		<-ended
	}()
	s.comes(func() bool { return v.Rows()[0].State == ops.AdapterConnected })
	if !s.peer.Fail(HalfDead) {
		return lacks(HalfDead)
	}
	sent := make(chan error, 1)
	go func() {
		_, err := v.Send(ctx, healthy.Name(), adapter.Outgoing{Target: "1", Text: "answer"})
		sent <- err
	}()
	s.settle(time.Second)
	began := time.Now()
	_ = v.Stop(ctx, healthy.Name()) // its error names what hung
	if took := time.Since(began); took > downLimit+time.Second {
		s.Errorf("the teardown took %s", took)
	}
	if row := v.Rows()[0]; row.State != ops.AdapterStopped {
		s.Errorf("the platform is %s", row.State)
	}
	s.peer.Heal()
	<-sent
	return ""
}

func (s *suite) leavesNothing() (notShown string) {
	if !s.peer.Fail(Gone) {
		return lacks(Gone)
	}
	before := descriptors()
	for range s.times.Fails {
		if _, err := s.try(); err == nil {
			s.Fatal("connected to a peer that is gone")
		}
	}
	s.settle(farAway)
	if after := descriptors(); after > before+5 {
		s.Errorf("%d descriptors before, %d after %d failed connects", before, after, s.times.Fails)
	}
	return ""
}

// descriptors is how many descriptors the process has, or 0 where the system does not say.
func descriptors() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}
