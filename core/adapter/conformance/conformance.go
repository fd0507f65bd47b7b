// Package conformance is what every platform must do, as tests that a platform runs against its own double (PL2).
package conformance

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
)

// Fault is a way in which a peer fails. It holds for the connections and the calls that begin after it.
type Fault string

// The faults.
const (
	Flood     Fault = "flood"     // a message or a file is answered with a rate limit of Limit
	Refusal   Fault = "refusal"   // the chat takes no message and no file any more
	BadToken  Fault = "bad token" // the credential is refused
	Conflict  Fault = "conflict"  // another program uses the credential
	Gone      Fault = "gone"      // nothing accepts a connection, and the open ones break
	HalfDead  Fault = "half-dead" // connections stay open, and nothing answers any more
	Limit           = 7 * time.Second
	farAway         = 10 * time.Minute
	callLimit       = 30 * time.Second
	downLimit       = 5 * time.Second
	manyFails       = 200
)

// Peer is a platform with a double of its server that a test steers, in virtual time.
type Peer interface {
	// Platform is the platform. Each call returns the same one until the next Fail.
	Platform() adapter.Platform
	// Say is a message of an allowed user to the bot in a chat with him alone. It may come before the platform connects.
	Say(text string)
	// Texts are the texts of the bot's messages as they stand in that chat.
	Texts() []string
	// Fail makes the peer fail and reports whether it can fail in that way.
	Fail(f Fault) bool
	// Heal ends every fault.
	Heal()
	// Pass lets d pass, and everything that can run run.
	Pass(d time.Duration)
}

// The interfaces that follow are for a Peer whose platform declares the ability.

// FilePeer has files in the chat of Peer.Say.
type FilePeer interface {
	// SayFile is a message of the user with a file and a text, which may be empty.
	SayFile(text, name, content string)
	// Files are the files of the bot's messages, in order.
	Files() []SentFile
}

// SentFile is a file as it arrived in a chat.
type SentFile struct{ Name, Content, Text string }

// DraftPeer has drafts in the chat of Peer.Say.
type DraftPeer interface {
	// Drafts are the texts that its draft had, in order.
	Drafts() []string
}

// ReactionPeer shows reactions in the chat of Peer.Say.
type ReactionPeer interface {
	// Reactions are the bot's to the message with this Inbound.ID.
	Reactions(message string) []string
}

// ButtonPeer has buttons in the chat of Peer.Say.
type ButtonPeer interface {
	// Press has the user, or a stranger, press the button with this label below the bot's last message, and reports whether it is
	// there.
	Press(label string, stranger bool) bool
}

// Run runs the suite. simulate runs f with a fresh peer, and fails the test if something of the platform is left when f has
// returned.
func Run(t *testing.T, simulate func(t *testing.T, f func(t *testing.T, p Peer))) {
	for _, c := range []struct {
		name string
		run  func(s *suite)
	}{
		{"it connects and hears its peer", (*suite).connects},
		{"a message is received once, also by the next connection", (*suite).receivesOnce},
		{"a message is sent once, and its id is known", (*suite).sendsOnce},
		{"a long text is split within the bound, and goes on where it stopped", (*suite).splits},
		{"a message is edited and removed", (*suite).edits},
		{"a draft is shown, and is not a message", (*suite).drafts},
		{"it types", (*suite).types},
		{"a file comes with its message, and a later connection fetches it", (*suite).fetches},
		{"a file is sent once, with its text", (*suite).sendsFiles},
		{"a reaction is the only one of the bot", (*suite).reacts},
		{"the press of a button is a message of who pressed", (*suite).isPressed},
		{"it says what the abilities promise", (*suite).isAble},
		{"a connection that broke ends, and the next one works", (*suite).reconnects},
		{"a rate limit is returned at once", (*suite).returnsRateLimits},
		{"a chat that takes nothing is refused for ever", (*suite).returnsRefusals},
		{"a refused credential is named", (*suite).namesCredentials},
		{"another consumer is a conflict", (*suite).namesConflicts},
		{"a half-dead peer is not taken for a live one", (*suite).noticesSilence},
		{"a teardown of a half-dead peer is bounded", (*suite).tearsDown},
		{"nothing is left after many failed connects", (*suite).leavesNothing},
	} {
		t.Run(c.name, func(t *testing.T) {
			simulate(t, func(t *testing.T, p Peer) {
				s := &suite{T: t, peer: p}
				defer s.end()
				c.run(s)
			})
		})
	}
}

// suite is one test with its peer.
type suite struct {
	*testing.T
	peer  Peer
	conns []adapter.Conn

	Receiver
}

func (s *suite) try() (adapter.Conn, error) {
	ctx, cancel := context.WithTimeout(s.Context(), callLimit)
	defer cancel()
	c, err := s.peer.Platform().Connect(ctx, s)
	if err == nil {
		s.conns = append(s.conns, c)
	}
	return c, err
}

func (s *suite) connect() adapter.Conn {
	s.Helper()
	c, err := s.try()
	if err != nil {
		s.Fatalf("connect: %v", err)
	}
	return c
}

// down takes a connection down.
func (s *suite) down(c adapter.Conn) error {
	s.conns = slices.DeleteFunc(s.conns, func(o adapter.Conn) bool { return o == c })
	return TakeDown(c)
}

func (s *suite) end() {
	s.peer.Heal()
	for _, c := range slices.Clone(s.conns) {
		_ = s.down(c) // the test has said what is wrong with it
	}
}

// chat is the address of the chat in which a person has just spoken.
func (s *suite) chat(text string) string {
	s.Helper()
	s.peer.Say(text)
	return s.heard().Target
}

// heard is the message that was received last, for which it waits if there is none.
func (s *suite) heard() adapter.Inbound {
	s.Helper()
	return s.await(1)[0]
}

// await waits until n messages were received, and returns the last ones up to n.
func (s *suite) await(n int) []adapter.Inbound {
	s.Helper()
	for range 60 {
		s.peer.Pass(time.Second)
		if got := s.Messages(); len(got) >= n {
			return got[len(got)-n:]
		}
	}
	s.Fatalf("%d messages were received, want %d", len(s.Messages()), n)
	return nil
}

func (s *suite) send(c adapter.Conn, m adapter.Outgoing) (adapter.Sent, error) {
	ctx, cancel := context.WithTimeout(s.Context(), callLimit)
	defer cancel()
	return c.Send(ctx, m)
}

func (s *suite) can(a adapter.Ability) bool {
	p, able := s.peer.Platform().(adapter.Able)
	return able && slices.Contains(p.Abilities(), a)
}

func (s *suite) connects() {
	c := s.connect()
	s.peer.Pass(time.Minute)
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
}

func (s *suite) receivesOnce() {
	s.peer.Say("hello")
	first := s.connect()
	for range 60 {
		s.peer.Pass(time.Second)
	}
	if err := s.down(first); err != nil {
		s.Errorf("the teardown: %v", err)
	}
	s.connect()
	s.peer.Pass(time.Minute)
	got := s.Messages()
	if len(got) != 1 {
		s.Fatalf("received %d messages, want one", len(got))
	}
	name := s.peer.Platform().Name()
	m := got[0]
	if m.Text != "hello" || m.Adapter != name || !strings.HasPrefix(m.Session, name+":") || m.User == "" || m.Target == "" || m.Chat != adapter.ChatDM {
		s.Errorf("received %+v", m)
	}
}

func (s *suite) sendsOnce() {
	s.peer.Say("hello")
	c := s.connect()
	to := s.chat("again")
	sent, err := s.send(c, adapter.Outgoing{Target: to, Text: "answer"})
	if err != nil || len(sent.IDs) != 1 || s.can(adapter.AbilityEdit) && sent.IDs[0] == "" {
		s.Errorf("sent %+v: %v", sent, err)
	}
	s.peer.Pass(farAway)
	if got := s.peer.Texts(); !slices.Equal(got, []string{"answer"}) {
		s.Errorf("the chat has %q", got)
	}
}

func (s *suite) splits() {
	p, bounded := s.peer.Platform().(adapter.Bounded)
	c := s.connect()
	to := s.chat("hello")
	if !bounded || p.Bounds(to).Message == 0 {
		return // one message takes any text
	}
	most := p.Bounds(to).Message
	text := strings.Repeat("word ", most) // five messages
	sent, err := s.send(c, adapter.Outgoing{Target: to, Text: text})
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
	if again := s.peer.Texts(); again[len(again)-1] != got[len(got)-1] {
		s.Errorf("the rest is %.40q, want %.40q", again[len(again)-1], got[len(got)-1])
	}
}

func (s *suite) reconnects() {
	c := s.connect()
	if !s.peer.Fail(Gone) {
		return
	}
	s.peer.Pass(farAway)
	select {
	case <-c.Done():
		if c.Err() == nil {
			s.Error("the connection ended without a reason")
		}
	default:
		s.Error("the connection did not end")
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
}

func (s *suite) returnsRateLimits() {
	c := s.connect()
	to := s.chat("hello")
	if !s.peer.Fail(Flood) {
		return
	}
	began := time.Now()
	_, err := s.send(c, adapter.Outgoing{Target: to, Text: "answer"})
	limit, is := errors.AsType[*adapter.RateLimitError](err)
	if !is || limit.RetryAfter < Limit || time.Since(began) >= time.Second {
		s.Errorf("after %s it returned %v", time.Since(began), err)
	}
	s.peer.Heal()
	s.peer.Pass(farAway)
	if got := s.peer.Texts(); len(got) != 0 {
		s.Errorf("the platform sent %q again without being asked", got)
	}
}

func (s *suite) returnsRefusals() {
	c := s.connect()
	to := s.chat("hello")
	if !s.peer.Fail(Refusal) {
		return
	}
	_, err := s.send(c, adapter.Outgoing{Target: to, Text: "answer"})
	if _, is := errors.AsType[*adapter.RefusedError](err); !is {
		s.Errorf("it returned %v", err)
	}
}

func (s *suite) namesCredentials() {
	if !s.peer.Fail(BadToken) {
		return
	}
	_, err := s.try()
	if wrong, is := errors.AsType[*adapter.CredentialsError](err); !is || wrong.Variable == "" {
		s.Errorf("it returned %v", err)
	}
}

func (s *suite) namesConflicts() {
	if !s.peer.Fail(Conflict) {
		return
	}
	c, err := s.try()
	if err == nil {
		s.peer.Pass(farAway)
		err = c.Err()
	}
	if _, is := errors.AsType[*adapter.ConflictError](err); !is {
		s.Errorf("it returned %v", err)
	}
}

func (s *suite) noticesSilence() {
	stale, is := s.peer.Platform().(interface{ StaleAfter() time.Duration })
	if !is || !s.peer.Fail(HalfDead) {
		return
	}
	c, err := s.try()
	if err != nil {
		return // it does not call that a connection
	}
	s.peer.Pass(2*stale.StaleAfter() + time.Second)
	select {
	case <-c.Done():
	default:
		if quiet := time.Since(c.LastInbound()); quiet < stale.StaleAfter() {
			s.Errorf("after %s of silence it heard something %s ago", 2*stale.StaleAfter(), quiet)
		}
	}
}

func (s *suite) tearsDown() {
	v := adapter.NewSupervisor(adapter.Options{ConnectTimeout: callLimit, CallTimeout: downLimit, SendTimeout: callLimit, Receiver: s})
	healthy := s.peer.Platform()
	v.Add(healthy)
	ctx, cancel := context.WithCancel(s.Context())
	ended := make(chan error, 1)
	go func() { ended <- v.Run(ctx) }()
	s.peer.Pass(time.Second)
	if !s.peer.Fail(HalfDead) {
		cancel()
		<-ended
		return
	}
	sent := make(chan error, 1)
	go func() {
		_, err := v.Send(ctx, healthy.Name(), adapter.Outgoing{Target: "1", Text: "answer"})
		sent <- err
	}()
	s.peer.Pass(time.Second)
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
	cancel()
	<-ended
}

func (s *suite) leavesNothing() {
	if !s.peer.Fail(Gone) {
		return
	}
	before := descriptors()
	for range manyFails {
		if _, err := s.try(); err == nil {
			s.Fatal("connected to a peer that is gone")
		}
	}
	s.peer.Pass(farAway)
	if after := descriptors(); after > before+5 {
		s.Errorf("%d descriptors before, %d after %d failed connects", before, after, manyFails)
	}
}

// descriptors is how many descriptors the process has, or 0 where the system does not say.
func descriptors() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}
