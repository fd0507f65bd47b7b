package delivery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

// stage is a platform with chats that can be looked at. weather decides what becomes of each call.
type stage struct {
	*world
	bounds  adapter.Bounds
	weather func(call string) weather

	mu       sync.Mutex
	messages []said // by id, from 1
	typed    []time.Time
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
	return a == adapter.AbilityEdit || a == adapter.AbilityTyping
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

func TestCV6_AChatShowsWithinASecondThatTheBotWorksUntilTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := newStage(t, Manner{Progress: ProgressOff})
		began := time.Now()
		show := turn(o)
		time.Sleep(time.Minute)
		answer(o, show, "done")
		ended := time.Now()
		time.Sleep(time.Minute)
		if len(s.typed) == 0 || s.typed[0].Sub(began) > time.Second {
			t.Fatalf("typing was shown at %v", s.typed)
		}
		shown := s.typed[0]
		for _, at := range s.typed[1:] {
			if at.Sub(shown) > s.bounds.Typing {
				t.Errorf("the sign went out between %s and %s", shown.Sub(began), at.Sub(began))
			}
			shown = at
		}
		if shown.After(ended) {
			t.Error("typing was shown after the answer")
		}
		if ended.Sub(shown) > s.bounds.Typing {
			t.Error("the sign went out before the answer")
		}
	})
}

func TestCV6_AQuickTurnIsAnsweredWithOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := newStage(t, Manner{Progress: ProgressShort, Stream: true})
		show := turn(o)
		show.Delta("hi")
		answer(o, show, "hi")
		time.Sleep(time.Minute)
		if !slices.Equal(s.calls, []string{"send"}) {
			t.Errorf("the calls were %q", s.calls)
		}
	})
}

func TestCV6_ALongTurnTellsItsProgressInOneMessageThatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := newStage(t, Manner{Progress: ProgressShort})
		show := turn(o)
		show.Doing(ops.DoingModelCall)
		time.Sleep(5 * time.Second)
		show.Doing("terminal: pytest")
		time.Sleep(4 * time.Second)
		if got := s.stands(); len(got) != 0 {
			t.Fatalf("after 9s the chat has %q", got)
		}
		time.Sleep(36 * time.Second)
		if show.Shows() != "progress" {
			t.Errorf("the row says that the chat sees %q", show.Shows())
		}
		if got := s.stands(); !slices.Equal(got, []string{"Running pytest (0:35)"}) {
			t.Errorf("after 45s the chat has %q", got)
		}
		show.Doing("terminal: ls")
		time.Sleep(stepGap)
		if got := s.stands(); len(got) != 1 || !strings.HasPrefix(got[0], "Running ls") {
			t.Errorf("after another step the chat has %q", got)
		}
		answer(o, show, "done")
		synctest.Wait()
		if got := s.stands(); !slices.Equal(got, []string{"done"}) || len(s.drafts) != 0 {
			t.Errorf("at the end the chat has %q, the journal %v", got, s.drafts)
		}
	})
}

func TestCV6_FullProgressTellsTheStepsBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := newStage(t, Manner{Progress: progressFull})
		show := turn(o)
		for _, step := range []string{"terminal: make", ops.DoingModelCall, "terminal: make test"} {
			show.Doing(step)
			time.Sleep(6 * time.Second)
		}
		want := "running make (0:06)\nRunning make test (0:03)\n0:15 in all"
		if got := s.stands(); len(got) != 1 || got[0] != want {
			t.Errorf("the chat has %q, want %q", got, want)
		}
		answer(o, show, "done")
		synctest.Wait()
	})
}

func TestCV7_TheDraftBecomesTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := newStage(t, Manner{Progress: ProgressShort, Stream: true})
		began := time.Now()
		var edits []time.Time
		s.weather = func(call string) weather {
			if strings.HasPrefix(call, "draft") {
				edits = append(edits, time.Now())
			}
			return weather{}
		}
		show := turn(o)
		for i := range 40 {
			show.Delta(fmt.Sprintf("word%d ", i))
			time.Sleep(250 * time.Millisecond)
		}
		if got := s.stands(); len(got) != 1 || !strings.HasPrefix(got[0], "word0 word1") {
			t.Errorf("the chat has %q", got)
		}
		synctest.Wait()
		for i, at := range edits[1:] {
			if gap := at.Sub(edits[i]); gap < leastGap {
				t.Errorf("two changes are %s apart", gap)
			}
		}
		if len(edits) < 4 || edits[0].Sub(began) > 2*time.Second {
			t.Errorf("the draft changed at %v", edits)
		}
		answer(o, show, "the whole answer")
		synctest.Wait()
		if got := s.stands(); !slices.Equal(got, []string{"the whole answer"}) || s.count("send") != 0 || s.count("edit") != 1 {
			t.Errorf("the chat has %q after %q", got, s.calls)
		}
	})
}

func TestCV7_AfterARateLimitNoDraftComesInThatTurnAndTheAnswerIsNotHeldUp(t *testing.T) {
	for _, flooded := range []string{"draft send", "draft edit", "typing"} {
		t.Run(flooded, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, o := newStage(t, Manner{Progress: ProgressShort, Stream: true})
				var after time.Time
				s.weather = func(call string) weather {
					if call == flooded && after.IsZero() {
						after = time.Now()
						return weather{err: &adapter.RateLimitError{RetryAfter: time.Hour}}
					}
					if !after.IsZero() && call == flooded {
						t.Errorf("%s came %s after the limit", call, time.Since(after))
					}
					return weather{}
				}
				show := turn(o)
				for range 100 {
					show.Delta("word ")
					time.Sleep(250 * time.Millisecond)
				}
				if took := answer(o, show, "answer"); took != 0 || after.IsZero() {
					t.Errorf("the answer took %s", took)
				}
				synctest.Wait()
				if got := s.stands(); !slices.Equal(got, []string{"answer"}) {
					t.Errorf("the chat has %q", got)
				}
			})
		})
	}
}

func TestCV6_WhatHangsDelaysTheAnswerByAMomentAtMost(t *testing.T) {
	for _, hangs := range []string{"typing", "draft send", "draft edit", "remove"} {
		t.Run(hangs, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, o := newStage(t, Manner{Progress: ProgressShort, Stream: hangs != "remove"})
				s.weather = func(call string) weather { return weather{hangs: call == hangs} }
				show := turn(o)
				for range 60 {
					show.Delta("word ")
					time.Sleep(250 * time.Millisecond)
				}
				if took := answer(o, show, "answer"); took > settleWait+typingWait {
					t.Errorf("the answer took %s", took)
				}
				synctest.Wait()
				if got := s.stands(); got[len(got)-1] != "answer" && got[0] != "answer" {
					t.Errorf("the chat has %q", got)
				}
				close(s.hung)
				time.Sleep(time.Hour)
				o.RetryDue(time.Now())
				synctest.Wait()
			})
		})
	}
}

func TestCV7_ADraftOfUnknownOutcomeIsRemovedAndTheAnswerIsAMessageOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := newStage(t, Manner{Stream: true, Progress: ProgressOff})
		s.weather = func(call string) weather {
			if call == "draft edit" {
				return weather{err: errors.New("connection reset")}
			}
			return weather{}
		}
		show := turn(o)
		for range 40 {
			show.Delta("word ")
			time.Sleep(250 * time.Millisecond)
		}
		answer(o, show, "answer")
		synctest.Wait()
		if got := s.stands(); !slices.Equal(got, []string{"answer"}) || s.count("edit") != 0 || s.count("draft edit") != 1 {
			t.Errorf("the chat has %q after %q", got, s.calls)
		}
	})
}

func TestCV7_AnAnswerWhoseDraftIsGoneIsAMessageOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := newStage(t, Manner{Stream: true, Progress: ProgressOff})
		show := turn(o)
		show.Delta("word")
		time.Sleep(2 * time.Second)
		s.mu.Lock()
		s.messages[0].removed = true // by a person
		s.mu.Unlock()
		answer(o, show, "answer")
		synctest.Wait()
		if got := s.stands(); !slices.Equal(got, []string{"answer"}) || o.Repeated() != 0 {
			t.Errorf("the chat has %q, %d repeated", got, o.Repeated())
		}
	})
}

func TestCV7_AnAnswerThatMayHaveArrivedSaysSoAndIsCounted(t *testing.T) {
	for _, tc := range []struct {
		err   error
		again string
	}{
		{errors.New("connection reset"), adapter.RepeatMark + " answer"},
		{&adapter.UnsentError{Err: errors.New("no route")}, "answer"},
		{&adapter.RateLimitError{RetryAfter: time.Second}, "answer"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, o := newStage(t, Manner{Progress: ProgressOff})
			fails := 1
			s.weather = func(call string) weather {
				if call == "send" && fails > 0 {
					fails--
					return weather{err: tc.err}
				}
				return weather{}
			}
			o.Reply(to("1", "m"), "answer")
			time.Sleep(minRetry)
			o.RetryDue(time.Now())
			synctest.Wait()
			got := s.stands()
			if got[len(got)-1] != tc.again || (o.Repeated() == 1) != (tc.again != "answer") {
				t.Errorf("after %v the chat has %q, %d repeated", tc.err, got, o.Repeated())
			}
			if last := s.notes; tc.again == "answer" && (len(last) != 2 || last[0].Tried || !last[1].Tried) {
				t.Errorf("the journal received %+v", last)
			}
		})
	}
}

func TestCV7_DraftsOfAnEarlierLifeLeaveTheirChats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := newStage(t, Manner{})
		s.messages = []said{{text: "draft …", passing: true}}
		connected := false
		s.weather = func(string) weather {
			if connected {
				return weather{}
			}
			return weather{err: adapter.ErrNotConnected}
		}
		d := store.Draft{ID: "a", Adapter: "chat", Target: "1", Message: "1"}
		s.drafts["a"], s.drafts["b"] = d, store.Draft{ID: "b", Adapter: "chat", Target: "1"}
		o.Retract(d)
		o.Retract(s.drafts["b"]) // it is not known whether it arrived
		synctest.Wait()
		if len(s.drafts) != 1 || len(s.stands()) != 1 {
			t.Fatalf("without a connection the journal has %v, the chat %q", s.drafts, s.stands())
		}
		connected = true
		o.Connected(ops.Adapter{Name: "chat", State: ops.AdapterConnected})
		synctest.Wait()
		if len(s.drafts) != 0 || len(s.stands()) != 0 || len(o.leftovers) != 0 {
			t.Errorf("the journal has %v, the chat %q", s.drafts, s.stands())
		}
	})
}

// Even if a platform loses, delays and refuses calls, a turn's answer comes out once, is marked where it may be there twice, nothing comes after
// it, and no draft stays.
func TestCV7_TheAnswerComesOutOnceUnderFloodsLossesDelaysRefusalsAndHangs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		manner := Manner{Progress: rapid.SampledFrom([]Progress{ProgressOff, ProgressShort, progressFull}).Draw(rt, "progress"), Stream: rapid.Bool().Draw(rt, "stream")}
		fates := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 40).Draw(rt, "fates")
		steps := rapid.SliceOfN(rapid.IntRange(0, 4000), 1, 30).Draw(rt, "steps")
		synctest.Test(t, func(t *testing.T) {
			s, o := newStage(t, manner)
			var mu sync.Mutex
			n, calm, undecided := 0, false, false
			s.weather = func(call string) weather {
				mu.Lock()
				defer mu.Unlock()
				if calm {
					return weather{}
				}
				fate := fates[n%len(fates)]
				n++
				switch fate {
				case 0:
					return weather{err: &adapter.RateLimitError{RetryAfter: 3 * time.Second}}
				case 1:
					undecided = undecided || call == "send"
					return weather{lost: true, err: errors.New("connection reset")}
				case 2:
					undecided = undecided || call == "send"
					return weather{err: errors.New("the answer got lost")}
				case 3:
					return weather{delay: 700 * time.Millisecond}
				case 4:
					if call != "send" && call != "edit" {
						return weather{err: &adapter.RefusedError{Why: "no"}}
					}
				case 5:
					undecided = undecided || call == "send"
					return weather{hangs: true}
				case 6:
					return weather{err: &adapter.UnsentError{Err: errors.New("no route")}}
				}
				return weather{}
			}
			show := turn(o)
			for i, ms := range steps {
				show.Doing([]string{ops.DoingModelCall, ops.DoingModelAnswer, "terminal: make"}[i%3])
				show.Delta("some words ")
				time.Sleep(time.Duration(ms) * time.Millisecond)
			}
			answer(o, show, "answer")
			mu.Lock()
			calm = true
			mu.Unlock()
			for range 10 { // the queue and what is left over
				time.Sleep(maxRetry)
				o.RetryDue(time.Now())
				synctest.Wait()
			}
			close(s.hung)
			synctest.Wait()
			s.world.tasks.Wait()
			plain, marked, drafts := 0, 0, 0
			for _, text := range s.stands() {
				switch text {
				case "answer":
					plain++
				case adapter.RepeatMark + " answer":
					marked++
				default:
					drafts++
				}
			}
			if plain > 1 || plain+marked == 0 || plain+marked > 1 && !undecided || marked > 0 && !undecided {
				rt.Errorf("the chat has %q", s.stands())
			}
			if drafts > s.unknown {
				rt.Errorf("%d drafts stay in the chat, and only %d were not known of: %q", drafts, s.unknown, s.stands())
			}
			if len(o.shows) != 0 || len(o.leftovers) != 0 || o.Waiting() != 0 {
				rt.Errorf("%d shows, %d leftovers and %d messages are kept", len(o.shows), len(o.leftovers), o.Waiting())
			}
			if n := len(s.typed); n > 0 && s.typed[n-1].After(s.final) {
				rt.Error("typing was shown after the answer began")
			}
		})
	})
}

func TestCV7_AnAnswerThatWasWrittenBeforeItsDraftArrivedLeavesNoDraftOnRecord(t *testing.T) {
	for _, delay := range []time.Duration{700 * time.Millisecond, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			s, o := newStage(t, Manner{Stream: true, Progress: ProgressOff})
			s.weather = func(call string) weather {
				if call == "draft send" {
					return weather{delay: delay}
				}
				return weather{}
			}
			show := turn(o)
			show.Delta("word")
			time.Sleep(draftAfter + 100*time.Millisecond)
			row := Answer(to("1", "m"), "answer") // the journal has it, as a turn that was released leaves it
			o.Deliver(row)
			show.End()
			synctest.Wait()
			if got := s.stands(); !slices.Equal(got, []string{"answer"}) || len(s.drafts) != 0 {
				t.Errorf("the chat has %q, the journal %v", got, s.drafts)
			}
			if taken := s.count("edit") == 1; taken != (delay < time.Second) || taken && s.notes[0].Placeholder == "" {
				t.Errorf("the answer took the place of the draft: %t; the journal has %+v", taken, s.notes)
			}
		})
	}
}
