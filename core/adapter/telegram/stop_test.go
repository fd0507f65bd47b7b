package telegram

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/telegram/botapitest"
)

func TestS4_AfterDisconnectNothingIsSentOrReceived(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.dialUp()
		synctest.Wait()
		w.down(c)
		calls := w.api.Calls("")
		w.say("too late")
		if err := w.send(c, "1", "too late"); !errors.Is(err, adapter.ErrDisconnected) {
			w.Errorf("a send after the end returned %v", err)
		}
		w.after(10 * time.Minute)
		w.wantTexts()
		w.wantSent()
		if n := w.api.Calls(""); n != calls {
			w.Errorf("%d calls were made after the end, want none", n-calls)
		}
		select {
		case <-c.Done():
			w.Error("Done is closed, as if the connection had ended without a Disconnect")
		default:
		}
	})
}

func TestS4_CancelTasksEndsAReceiveUnderWayAndTakesNoNewMessages(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.dialUp()
		defer w.down(c)
		entered := make(chan struct{}, 1)
		w.in.Decide(func(ctx context.Context, _ adapter.Inbound) error {
			entered <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		})
		w.say("one")
		<-entered
		w.say("two")
		if err := c.CancelTasks(w.Context()); err != nil {
			w.Fatal(err)
		}
		w.in.Decide(nil)
		w.after(time.Minute)
		w.wantTexts()
		// The last words of a stop go out even now.
		if err := w.send(c, "1", "last words"); err != nil {
			w.Error(err)
		}
		w.down(c)
		w.wantUnconfirmed(2) // those that were not taken
	})
}

func TestE15_DisconnectConfirmsWhatWasTaken(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.dialUp()
		w.in.Decide(func(ctx context.Context, m adapter.Inbound) error {
			if m.Text == "second" {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		})
		w.say("first")
		w.say("second")
		w.after(time.Second)
		w.down(c)
		w.wantTexts("first")
		w.wantUnconfirmed(1) // the one that was not taken
		w.in.Decide(nil)
		second := New(w.o) // the next life
		second.dial = w.dial
		w.Platform = second
		w.up(func(c *conn) { w.after(time.Second) })
		w.wantTexts("first", "second")
	})
}

func TestE9_AConnectionThatLostAConflictDoesNotCutTheOtherOff(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.dialUp()
		synctest.Wait()
		w.api.Fail("getUpdates", botapitest.Fault{Code: 409})
		w.say("taken")
		w.after(w.poll)
		if err := c.Err(); !is[*adapter.ConflictError](err) {
			w.Fatalf("the connection's end is %v", err)
		}
		w.wantTexts("taken")
		calls := w.api.Calls("getUpdates")
		w.down(c)
		if n := w.api.Calls("getUpdates"); n != calls {
			w.Errorf("%d polls were made after the conflict, want none", n-calls)
		}
	})
}

func TestS20_DisconnectIsBoundedInABlackHole(t *testing.T) {
	for _, tc := range []struct {
		name          string
		taken         bool
		within, limit time.Duration
	}{
		{"at once where everything was confirmed", false, 5 * time.Second, 100 * time.Millisecond},
		{"after the last confirmation's bound where not", true, 5 * time.Second, usual.confirm + 100*time.Millisecond},
		{"in half of its time where that is shorter", true, time.Second, 500 * time.Millisecond},
	} {
		t.Run(tc.name, func(t *testing.T) {
			simulate(t, func(w *world) {
				c := w.dialUp()
				if tc.taken {
					w.in.Decide(func(context.Context, adapter.Inbound) error {
						w.api.Fail("", botapitest.Fault{Hang: true})
						return nil
					})
					w.say("taken")
				}
				synctest.Wait()
				w.api.Fail("", botapitest.Fault{Hang: true})
				var wg sync.WaitGroup
				for range 3 {
					wg.Go(func() {
						if err := w.send(c, "1", "into the hole"); err == nil {
							w.Error("a send into the hole came through")
						}
					})
				}
				w.after(time.Second)
				began := time.Now()
				ctx, cancel := context.WithTimeout(context.Background(), tc.within)
				defer cancel()
				if err := c.CancelTasks(ctx); err != nil {
					w.Errorf("cancel tasks: %v", err)
				}
				if err := c.Disconnect(ctx); tc.taken != (err != nil) || err != nil && !strings.Contains(err.Error(), "confirm the last updates") {
					w.Errorf("disconnect: %v", err)
				}
				if took := time.Since(began); took > tc.limit {
					w.Errorf("the teardown took %s, want at most %s", took, tc.limit)
				}
				wg.Wait()
			})
		})
	}
}

func TestTeardownIsIdempotentAndSafeFromEverywhere(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.dialUp()
		w.say("taken")
		synctest.Wait()
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if err := c.CancelTasks(w.Context()); err != nil {
					w.Errorf("cancel tasks: %v", err)
				}
			})
			wg.Go(func() {
				if err := c.Disconnect(w.Context()); err != nil {
					w.Errorf("disconnect: %v", err)
				}
			})
			wg.Go(func() { _, _ = c.Send(w.Context(), adapter.Outgoing{Target: "1", Text: "hi"}) }) // before the end or after it
			wg.Go(func() { c.LastInbound() })
		}
		wg.Wait()
		w.wantTexts("taken")
		w.wantUnconfirmed(0)
	})
}

func TestDisconnectGivesUpOnAReceiverThatIgnoresItsContext(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.dialUp()
		release := make(chan struct{})
		w.in.Decide(func(context.Context, adapter.Inbound) error { <-release; return nil })
		w.say("stuck")
		synctest.Wait()
		for name, f := range map[string]func(context.Context) error{"cancel tasks": c.CancelTasks, "disconnect": c.Disconnect} {
			ctx, cancel := context.WithTimeout(w.Context(), time.Second)
			if err := f(ctx); !errors.Is(err, context.DeadlineExceeded) {
				w.Errorf("%s returned %v, want its context's end", name, err)
			}
			cancel()
		}
		close(release)
		synctest.Wait()
		w.down(c)
	})
}
