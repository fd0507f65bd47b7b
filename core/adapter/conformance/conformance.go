// Package conformance is what every platform must do (PL2). A platform's tests run it against the platform's own double, in
// virtual time; gatewaytui adapter test runs it against the program of an author.
package conformance

import (
	"context"
	"slices"
	"time"

	"gatewaytui/core/adapter"
)

// downLimit bounds a teardown.
const downLimit = 5 * time.Second

// Test is what the suite needs of a test; *testing.T is one. Fatal and Fatalf end the goroutine that calls them.
type Test interface {
	Helper()
	Log(args ...any)
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Context() context.Context
}

// Runner is a Test with tests below it, which are a T each; *testing.T is one.
type Runner[T any] interface {
	Test
	Run(name string, f func(t T)) bool
}

// Row is one promise of the suite.
type Row struct {
	// Name is the promise as a sentence.
	Name string
	// Needs is the ability without which there is nothing to check; empty: none.
	Needs adapter.Ability
	run   func(s *suite) (notShown string)
}

// Rows are the promises in the order in which they are best read.
func Rows() []Row { return slices.Clone(rows) }

var rows = []Row{
	{"it connects and hears its peer", "", (*suite).connects},
	{"a message is received once, also by the next connection", "", (*suite).receivesOnce},
	{"a message is sent once, and its id is known", "", (*suite).sendsOnce},
	{"a long text is split within the bound, and goes on where it stopped", "", (*suite).splits},
	{"a message is edited and removed", adapter.AbilityEdit, (*suite).edits},
	{"a draft is shown, and is not a message", adapter.AbilityDrafts, (*suite).drafts},
	{"it types", adapter.AbilityTyping, (*suite).types},
	{"a file comes with its message, and a later connection fetches it", adapter.AbilityFilesIn, (*suite).fetches},
	{"a file is sent once, with its text", adapter.AbilityFilesOut, (*suite).sendsFiles},
	{"a reaction is the only one of the bot", adapter.AbilityReactions, (*suite).reacts},
	{"the press of a button is a message of who pressed", adapter.AbilityButtons, (*suite).isPressed},
	{"it does what its abilities promise, and refuses the rest", "", (*suite).isAble},
	{"a connection that broke ends, and the next one works", "", (*suite).reconnects},
	{"a rate limit is returned at once", "", (*suite).returnsRateLimits},
	{"a chat that takes nothing is refused for ever", "", (*suite).returnsRefusals},
	{"a refused credential is named", "", (*suite).namesCredentials},
	{"another consumer is a conflict", "", (*suite).namesConflicts},
	{"a half-dead peer is not taken for a live one", "", (*suite).noticesSilence},
	{"a teardown of a half-dead peer is bounded", "", (*suite).tearsDown},
	{"nothing is left after many failed connects", "", (*suite).leavesNothing},
}

// Check checks the promise with a fresh peer, which it leaves healed and without a connection. It returns why the platform or its peer
// cannot show the promise; empty: it was checked, and t has the faults.
func (r Row) Check(t Test, p Peer) (notShown string) {
	s := &suite{Test: t, peer: p, times: virtual}
	if timed, is := p.(Timed); is {
		s.times = timed.Times()
	}
	defer s.end()
	return r.run(s)
}

// Run runs the suite. simulate runs f with a fresh peer, and fails the test if something of the platform is left when f has
// returned.
func Run[T Runner[T]](t T, simulate func(t T, f func(t T, p Peer))) {
	for _, row := range rows {
		t.Run(row.Name, func(t T) {
			simulate(t, func(t T, p Peer) {
				if why := row.Check(t, p); why != "" {
					t.Log("not shown: " + why)
				}
			})
		})
	}
}

// suite is one row with its peer.
type suite struct {
	Test
	peer  Peer
	times Times
	conns []adapter.Conn

	Receiver
}

func (s *suite) try() (adapter.Conn, error) {
	ctx, cancel := context.WithTimeout(s.Context(), s.times.Call)
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
	if s.comes(func() bool { return len(s.Messages()) >= n }) {
		got := s.Messages()
		return got[len(got)-n:]
	}
	s.Fatalf("%d messages were received, want %d", len(s.Messages()), n)
	return nil
}

func (s *suite) send(c adapter.Conn, m adapter.Outgoing) (adapter.Sent, error) {
	ctx, cancel := context.WithTimeout(s.Context(), s.times.Call)
	defer cancel()
	return c.Send(ctx, m)
}

func (s *suite) can(a adapter.Ability) bool {
	p, able := s.peer.Platform().(adapter.Able)
	return able && slices.Contains(p.Abilities(), a)
}

// comes lets time pass until f holds, and reports whether it came to that.
func (s *suite) comes(f func() bool) bool {
	for passed := time.Duration(0); passed < s.times.Come && s.Context().Err() == nil; passed += s.times.Step {
		s.peer.Pass(s.times.Step)
		if f() {
			return true
		}
	}
	return false
}

// shows reports whether f holds, or does as soon as the peer shows what a call has done.
func (s *suite) shows(f func() bool) bool {
	for passed := time.Duration(0); !f(); passed += s.times.Step {
		if passed >= s.times.Lag || s.Context().Err() != nil {
			return false
		}
		s.peer.Pass(s.times.Step)
	}
	return true
}

// settle lets d pass, or as much of it as this peer is looked at for what must not come.
func (s *suite) settle(d time.Duration) { s.peer.Pass(min(d, s.times.Settle)) }

// has fails the test unless these are the texts of the bot's messages.
func (s *suite) has(want ...string) {
	s.Helper()
	if !s.shows(func() bool { return slices.Equal(s.peer.Texts(), want) }) {
		s.Errorf("the chat has %q, want %q", s.peer.Texts(), want)
	}
}
