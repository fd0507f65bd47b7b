package delivery

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/ops"
)

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
