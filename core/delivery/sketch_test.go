package delivery

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
)

// sketching is a stage whose chats show a draft for 30 s.
func sketching(t *testing.T, m Manner) (*stage, *Outbox) {
	s, o := newStage(t, m)
	s.bounds.Drafts = 30 * time.Second
	return s, o
}

func TestCV7_ADraftOfThePlatformIsPacedAndRenewedAndTheAnswerIsTheOnlyMessage(t *testing.T) {
	for _, progress := range []Progress{ProgressOff, ProgressShort, progressFull} {
		t.Run(string(progress), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, o := sketching(t, Manner{Progress: progress, Draft: true})
				began := time.Now()
				show := turn(o)
				for i := range 40 {
					show.Delta(fmt.Sprintf("word%d ", i))
					time.Sleep(250 * time.Millisecond)
				}
				written := len(s.sketches)
				show.Doing("terminal: make") // and the model writes nothing for minutes
				time.Sleep(5 * time.Minute)
				if len(s.stands()) != 0 || len(s.drafts) != 0 || show.Shows() != "draft" {
					t.Errorf("the chat has %q, the journal %v, the row says %q", s.stands(), s.drafts, show.Shows())
				}
				answer(o, show, "the whole answer")
				ended := time.Now()
				time.Sleep(time.Minute)
				if got := s.stands(); !slices.Equal(got, []string{"the whole answer"}) || s.count("send") != 1 || s.count("edit")+s.count("draft send")+s.count("remove") != 0 {
					t.Errorf("the chat has %q after %q", got, s.calls)
				}
				if written < 4 || s.sketches[0].at.Sub(began) > 2*time.Second || !strings.HasPrefix(s.sketches[0].text, "word0 word1") {
					t.Fatalf("while the model wrote, the draft was %+v", s.sketches[:written])
				}
				if tells := strings.Contains(s.sketches[len(s.sketches)-1].text, "Running make"); tells != (progress != ProgressOff) {
					t.Errorf("the last draft is %q", s.sketches[len(s.sketches)-1].text)
				}
				for i, d := range s.sketches[1:] {
					if gap := d.at.Sub(s.sketches[i].at); gap < leastGap || gap > s.bounds.Drafts || d.id != s.sketches[0].id || d.id <= 0 {
						t.Errorf("%s after the draft %d came the draft %d", gap, s.sketches[i].id, d.id)
					}
				}
				if last := s.sketches[len(s.sketches)-1].at; last.After(ended) || ended.Sub(last) > s.bounds.Drafts {
					t.Errorf("the last draft came %s before the answer", ended.Sub(last))
				}
			})
		})
	}
}

func TestCV7_ADraftThatIsRefusedIsTheLastOfItsTurn(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		more bool
	}{
		"refused":            {&adapter.RefusedError{Why: "method not found"}, false},
		"rate-limited":       {&adapter.RateLimitError{RetryAfter: time.Hour}, false},
		"not able":           {adapter.ErrUnable, false},
		"a broken line":      {errors.New("connection reset"), true},
		"no connection":      {adapter.ErrNotConnected, true},
		"certainly not sent": {&adapter.UnsentError{Err: errors.New("no route")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, o := sketching(t, Manner{Progress: ProgressShort, Draft: true})
				var tried []time.Time
				s.weather = func(call string) weather {
					if call == "sketch" {
						tried = append(tried, time.Now())
						return weather{err: tc.err, lost: true}
					}
					return weather{}
				}
				show := turn(o)
				show.Doing(ops.DoingModelAnswer)
				for range 100 {
					show.Delta("word ")
					time.Sleep(250 * time.Millisecond)
				}
				if took := answer(o, show, "answer"); took != 0 {
					t.Errorf("the answer took %s", took)
				}
				synctest.Wait()
				if got := s.stands(); !slices.Equal(got, []string{"answer"}) || s.count("send") != 1 || s.count("draft send") != 0 {
					t.Errorf("the chat has %q after %q", got, s.calls)
				}
				if tc.more != (len(tried) > 1) {
					t.Errorf("%d drafts were tried", len(tried))
				}
				for i := range tried[1:] {
					if gap := tried[i+1].Sub(tried[i]); gap < draftRetry {
						t.Errorf("a draft was tried again after %s", gap)
					}
				}
			})
		})
	}
}

func TestCV7_ADraftThatHangsDelaysTheAnswerByAMomentAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := sketching(t, Manner{Progress: ProgressShort, Draft: true})
		s.weather = func(call string) weather { return weather{hangs: call == "sketch"} }
		show := turn(o)
		show.Delta("word")
		time.Sleep(10 * time.Second)
		if took := answer(o, show, "answer"); took > settleWait+typingWait || s.count("sketch") != 1 {
			t.Errorf("the answer took %s after %q", took, s.calls)
		}
		synctest.Wait()
		if got := s.stands(); !slices.Equal(got, []string{"answer"}) || len(s.notes) != 0 {
			t.Errorf("the chat has %q, the journal %+v", got, s.notes)
		}
	})
}

func TestCV7_InAChatWithoutDraftsTheModeDraftIsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := newStage(t, Manner{Progress: ProgressOff, Draft: true})
		show := turn(o)
		for range 40 {
			show.Delta("word ")
			time.Sleep(250 * time.Millisecond)
		}
		answer(o, show, "answer")
		synctest.Wait()
		if s.count("sketch")+s.count("draft send") != 0 || !slices.Equal(s.stands(), []string{"answer"}) {
			t.Errorf("the chat has %q after %q", s.stands(), s.calls)
		}
	})
}
