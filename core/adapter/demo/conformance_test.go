package demo

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/conformance"
)

// steered is a made-up platform as the conformance suite steers it: a fault is another behaviour.
type steered struct {
	p    *Platform
	made []*Platform
}

func (s *steered) become(behaviour string) {
	s.p = New(Spec{Name: "harbour", Behaviour: behaviour}, Options{Lines: []Line{{User: "alice", Text: "hello", Pause: time.Second, Once: true}}})
	s.made = append(s.made, s.p)
}

func (s *steered) Platform() adapter.Platform { return s.p }

// Say does nothing: the people of the platform speak unasked, once after each connection.
func (s *steered) Say(string) {}

// Heal releases the calls that hang.
func (s *steered) Heal() {
	for _, p := range s.made {
		close(p.released)
	}
	s.made = nil
}

func (s *steered) Texts() (out []string) {
	m := &s.p.messages
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range slices.Sorted(maps.Keys(m.standing)) {
		out = append(out, m.standing[n])
	}
	return out
}

func (s *steered) Pass(d time.Duration) {
	time.Sleep(d) // virtual
	synctest.Wait()
}

func (s *steered) Fail(f conformance.Fault) bool {
	switch f {
	case conformance.BadToken:
		s.become("fatal")
	case conformance.HalfDead:
		s.become("black-hole")
	default:
		return false
	}
	return true
}

func TestPL2_AMadeUpPlatformConforms(t *testing.T) {
	conformance.Run(t, func(t *testing.T, f func(t *testing.T, p conformance.Peer)) {
		synctest.Test(t, func(t *testing.T) {
			s := &steered{}
			s.become("good")
			f(t, s)
			s.Heal()
		})
	})
}
