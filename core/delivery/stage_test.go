package delivery

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"gatewaytui/core/adapter"
)

// stage is a platform with chats that can be looked at. weather decides what becomes of each call.
type stage struct {
	*world
	bounds  adapter.Bounds
	weather func(call string) weather

	mu       sync.Mutex
	messages []said // by id, from 1
	typed    []time.Time
	sketches []sketched
	calls    []string
	hung     chan struct{}
	final    time.Time // when the first call for an answer began
	unknown  int       // drafts that arrived and of which the gateway cannot know
}

type said struct {
	text    string
	removed bool
	passing bool
}

// sketched is a draft as the chat showed it.
type sketched struct {
	id   int64
	text string
	at   time.Time
}

// weather is how a call fares: it is done or not, after a delay, and its caller hears err. A call that hangs ignores its context.
type weather struct {
	lost, hangs bool
	delay       time.Duration
	err         error
}

func newStage(t *testing.T, m Manner) (*stage, *Outbox) {
	s := &stage{world: newWorld(), bounds: adapter.Bounds{Message: 4096, Messages: 60, Edits: 60, Typing: 5 * time.Second}, hung: make(chan struct{})}
	s.manner = m
	o := NewOutbox(OutboxOptions{
		Tasks: s.world, Meter: s.world, Log: slog.New(slog.DiscardHandler), NewID: s.newID, Manner: func(string) Manner { return s.manner }, Files: s.world,
	})
	o.Open(s.world, s)
	return s, o
}

func (s *stage) Can(_ string, a adapter.Ability) bool {
	return a == adapter.AbilityEdit || a == adapter.AbilityTyping || a == adapter.AbilityDrafts
}

func (s *stage) Bounds(string, string) adapter.Bounds { return s.bounds }

// do is one call that change carries out.
func (s *stage) do(ctx context.Context, call string, change func() error) error {
	s.mu.Lock()
	s.calls = append(s.calls, call)
	if s.final.IsZero() && (call == "send" || call == "edit") {
		s.final = time.Now()
	}
	var w weather
	if s.weather != nil {
		w = s.weather(call)
	}
	s.mu.Unlock()
	if w.hangs {
		select { // as Supervisor does, the caller is let go, and the call goes on
		case <-s.hung:
		case <-ctx.Done():
		}
		return ctx.Err()
	}
	carry := func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		return change()
	}
	if w.delay > 0 {
		select {
		case <-time.After(w.delay):
		case <-ctx.Done():
			return ctx.Err() // the request never left
		}
	}
	if w.err != nil && !adapter.MayHaveArrived(w.err) {
		return w.err
	}
	if !w.lost {
		if err := carry(); err != nil {
			return err
		}
		if call == "draft send" && w.err != nil {
			s.mu.Lock()
			s.unknown++
			s.mu.Unlock()
		}
	}
	return w.err
}

func (s *stage) Send(ctx context.Context, _ string, m adapter.Outgoing) (sent adapter.Sent, err error) {
	text := m.Text
	if m.Repeated {
		text = adapter.RepeatMark + " " + text
	}
	err = s.do(ctx, kind("send", m), func() error {
		s.messages = append(s.messages, said{text: text, passing: m.Passing})
		sent.IDs = []string{strconv.Itoa(len(s.messages))}
		return nil
	})
	if err != nil {
		return adapter.Sent{}, err
	}
	return sent, nil
}

func (s *stage) Edit(ctx context.Context, _, id string, m adapter.Outgoing) (adapter.Sent, error) {
	err := s.do(ctx, kind("edit", m), func() error {
		n, _ := strconv.Atoi(id)
		if s.messages[n-1].removed {
			return &adapter.RefusedError{Why: "message to edit not found"}
		}
		s.messages[n-1] = said{text: m.Text, passing: m.Passing}
		return nil
	})
	if err != nil {
		return adapter.Sent{}, err
	}
	return adapter.Sent{IDs: []string{id}}, nil
}

func (s *stage) Remove(ctx context.Context, _, _, id string) error {
	return s.do(ctx, "remove", func() error {
		n, _ := strconv.Atoi(id)
		s.messages[n-1].removed = true
		return nil
	})
}

func (s *stage) Draft(ctx context.Context, _ string, id int64, m adapter.Outgoing) error {
	return s.do(ctx, "sketch", func() error {
		s.sketches = append(s.sketches, sketched{id, m.Text, time.Now()})
		return nil
	})
}

func (s *stage) Typing(ctx context.Context, _, _ string) error {
	return s.do(ctx, "typing", func() error {
		s.typed = append(s.typed, time.Now())
		return nil
	})
}

// kind names a call: "draft send" or "send".
func kind(call string, m adapter.Outgoing) string {
	if m.Passing {
		return "draft " + call
	}
	return call
}

// stands are the texts that the chat has now.
func (s *stage) stands() (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.messages {
		if !m.removed {
			out = append(out, m.text)
		}
	}
	return out
}

func (s *stage) count(call string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		if c == call {
			n++
		}
	}
	return n
}

// turn begins to show a turn that works on message "m".
func turn(o *Outbox) *Show { return o.Show(context.Background(), to("1", "m")) }

// answer ends the turn: its answer is in the journal and goes out, and the Show ends. It returns how long that took.
func answer(o *Outbox, show *Show, text string) time.Duration {
	began := time.Now()
	o.Reply(to("1", "m"), text)
	took := time.Since(began)
	show.End()
	return took
}
