package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
		manner := Manner{Progress: rapid.SampledFrom([]Progress{ProgressOff, ProgressShort, progressFull}).Draw(rt, "progress"), Stream: rapid.Bool().Draw(rt, "stream"), Draft: rapid.Bool().Draw(rt, "draft")}
		lasts := rapid.SampledFrom([]time.Duration{0, 30 * time.Second}).Draw(rt, "how long the chat shows a draft")
		fates := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 40).Draw(rt, "fates")
		steps := rapid.SliceOfN(rapid.IntRange(0, 4000), 1, 30).Draw(rt, "steps")
		synctest.Test(t, func(t *testing.T) {
			s, o := newStage(t, manner)
			s.bounds.Drafts = lasts
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
			if n := len(s.sketches); n > 0 && (lasts == 0 || !manner.Draft || s.sketches[n-1].at.After(s.final)) {
				rt.Error("a draft was shown after the answer began, or where none should be")
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

// CV6: however many turns stream into a chat, in each minute it gets no more edits, and no more messages with them, than its platform allows.
func TestCV6_NoChatGetsMoreEditsThanItsPlatformAllows(t *testing.T) {
	for name, bounds := range map[string]adapter.Bounds{
		"a direct message": {Message: 4096, Messages: 60, Edits: 60, Typing: 5 * time.Second},
		"a group":          {Message: 4096, Messages: 20, Edits: 20, Typing: 5 * time.Second},
		"a slow platform":  {Message: 4096, Messages: 10, Edits: 5, Typing: 5 * time.Second},
		"a chat of drafts": {Message: 4096, Messages: 60, Edits: 60, Typing: 5 * time.Second, Drafts: 30 * time.Second},
	} {
		for _, turns := range []int{1, 4} {
			t.Run(fmt.Sprintf("%s, %d turns", name, turns), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, o := newStage(t, Manner{Progress: ProgressShort, Stream: true, Draft: true})
					s.bounds = bounds
					var edits, all []time.Time
					s.weather = func(call string) weather {
						if call != "typing" {
							all = append(all, time.Now())
						}
						if strings.HasSuffix(call, "edit") || call == "sketch" {
							edits = append(edits, time.Now())
						}
						return weather{}
					}
					var writing sync.WaitGroup
					for i := range turns {
						show := o.Show(context.Background(), to("1", fmt.Sprint("m", i)))
						writing.Go(func() {
							for n := range 1000 { // five minutes
								if n%100 == 0 {
									show.Doing(fmt.Sprintf("step %d", n))
								}
								show.Delta(fmt.Sprintf("word%d ", n))
								time.Sleep(300 * time.Millisecond)
							}
							show.Settle()
							show.End()
						})
					}
					writing.Wait()
					synctest.Wait()
					if turns == 1 && len(edits) < 5 {
						t.Errorf("the chat saw %d edits in five minutes", len(edits))
					}
					most := func(at []time.Time) (n int) {
						for i := range at {
							end := i
							for end < len(at) && at[end].Sub(at[i]) < time.Minute {
								end++
							}
							n = max(n, end-i)
						}
						return n
					}
					if n := most(edits); n > bounds.Edits {
						t.Errorf("%d edits in a minute, where the platform allows %d", n, bounds.Edits)
					}
					if n := most(all); n > bounds.Messages {
						t.Errorf("%d messages and edits in a minute, where the platform allows %d", n, bounds.Messages)
					}
				})
			})
		}
	}
}
