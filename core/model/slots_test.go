package model

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// take acquires a slot that must be free.
func take(t *testing.T, s *Slots, session string) (release func()) {
	t.Helper()
	release, err := s.Acquire(t.Context(), session, func() { t.Errorf("a call of %s waited", session) })
	if err != nil {
		t.Fatal(err)
	}
	return release
}

func TestFreeSlotsGoToTheWaitingSessionsInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSlots(1)
		release := take(t, s, "running")
		var order []string // each call appends while it has the one slot
		call := func(session string) {
			go func() {
				release, err := s.Acquire(t.Context(), session, nil)
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, session)
				release()
			}()
			synctest.Wait()
		}
		for range 3 {
			call("greedy")
		}
		call("a")
		call("b")
		if n := s.Waiting(); n != 5 {
			t.Errorf("%d calls wait, want 5", n)
		}
		release()
		synctest.Wait()
		if want := []string{"greedy", "a", "b", "greedy", "greedy"}; !slices.Equal(order, want) {
			t.Errorf("served %v, want %v", order, want)
		}
	})
}

// However many calls sessions make and however long these take: never more run than there are slots, a call waits only
// while all are taken, and while a session waits no other session is given two slots.
func TestAdmissionIsFairBetweenSessions(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		slots := rapid.IntRange(1, 4).Draw(rt, "slots")
		calls := rapid.SliceOfN(rapid.IntRange(1, 12), 2, 6).Draw(rt, "calls of each session")
		seed := rapid.Uint64().Draw(rt, "seed")
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			s := NewSlots(slots)
			var hold []func()
			for range slots { // all are taken while the calls arrive
				hold = append(hold, take(t, s, "before"))
			}
			type request struct {
				session int
				begins  time.Duration
				lasts   time.Duration
			}
			var requests []request
			for session, n := range calls {
				for range n {
					requests = append(requests, request{session, time.Duration(random.IntN(50)) * time.Millisecond, time.Duration(1 + random.Int64N(int64(50*time.Millisecond)))}) // no two end in one instant, so that the order of the grants is known
				}
			}
			running, served, waiting := 0, 0, make([]int, len(calls))
			since := make([][]int, len(calls)) // of each waiting session, what every other was given since it began to wait
			events := make(chan func(), len(requests)*3)
			grant := func(session int) {
				running++
				served++
				if running > slots {
					t.Errorf("%d calls run with %d slots", running, slots)
				}
				for other := range calls {
					if other == session || waiting[other] == 0 {
						continue
					}
					if since[other][session]++; since[other][session] > 1 {
						t.Errorf("session %d was given %d slots while session %d waited", session, since[other][session], other)
					}
				}
				waiting[session]--
				since[session] = make([]int, len(calls))
			}
			for _, w := range requests {
				go func() {
					time.Sleep(w.begins)
					waited := false
					release, err := s.Acquire(t.Context(), fmt.Sprint(w.session), func() { waited = true })
					if err != nil {
						t.Error(err)
						return
					}
					if !waited {
						t.Error("a call did not wait though every slot was taken")
					}
					events <- func() { grant(w.session) }
					time.Sleep(w.lasts)
					events <- func() { running-- }
					release()
				}()
			}
			time.Sleep(60 * time.Millisecond) // every call waits now
			synctest.Wait()
			for session, n := range calls {
				waiting[session], since[session] = n, make([]int, len(calls))
			}
			if s.Waiting() != len(requests) {
				t.Errorf("%d calls wait, want %d", s.Waiting(), len(requests))
			}
			for _, release := range hold {
				release()
				synctest.Wait() // one grant at a time, so that the order is known
				for len(events) > 0 {
					(<-events)()
				}
			}
			for served < len(requests) || running > 0 {
				(<-events)()
			}
		})
	})
}

func TestACallThatEndsWhileItWaitsLosesNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSlots(1)
		release := take(t, s, "running")
		stop := errors.New("interrupted")
		ctx, interrupt := context.WithCancelCause(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := s.Acquire(ctx, "a", nil)
			ended <- err
		}()
		synctest.Wait()
		began := time.Now()
		interrupt(stop)
		if err := <-ended; !errors.Is(err, stop) || time.Since(began) != 0 {
			t.Errorf("the call ended with %v after %s, want the interrupt's cause at once", err, time.Since(began))
		}
		release()
		release() // a second time is harmless
		take(t, s, "b")()
		if s.Waiting() != 0 {
			t.Errorf("%d calls wait", s.Waiting())
		}
	})
}

// A slot that comes in the same instant as the end of the call goes on to the next one.
func TestASlotIsNotLostBetweenAGrantAndAnInterrupt(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			s := NewSlots(1)
			release := take(t, s, "running")
			ctx, interrupt := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				if release, err := s.Acquire(ctx, "a", nil); err == nil {
					release()
				}
			}()
			synctest.Wait()
			go release()
			go interrupt()
			<-done
			synctest.Wait()
			take(t, s, "b")()
		})
	}
}
