package telegram

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/telegram/botapitest"
	"gatewaytui/core/ops"
)

func TestMessagesArriveOnceAndInOrder(t *testing.T) {
	simulate(t, func(w *world) {
		w.say("one") // it waited for the bot
		w.up(func(c *conn) {
			synctest.Wait()
			for _, s := range []string{"two", "three"} {
				w.say(s)
			}
			w.after(time.Millisecond)
			w.say("four")
			w.after(time.Minute)
			w.wantTexts("one", "two", "three", "four")
			w.wantUnconfirmed(0)
		})
		w.up(func(c *conn) {
			w.say("five")
			w.after(time.Minute)
		})
		w.wantTexts("one", "two", "three", "four", "five")
	})
}

func TestE15_ARedeliveredUpdateIsHandledOnce(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			for range 3 {
				w.api.Inject(botapitest.Update{ID: 5000, User: owner, Text: "once"})
				w.after(time.Second)
			}
		})
		w.up(func(c *conn) {
			w.api.Inject(botapitest.Update{ID: 5000, User: owner, Text: "once"})
			w.after(time.Minute)
		})
		w.wantTexts("once")
		w.wantUnconfirmed(0)
	})
}

func TestE15_TheNameOfAMessageIsTheSameInTheNextLife(t *testing.T) {
	simulate(t, func(w *world) {
		u := botapitest.Update{ID: 5000, User: owner, Text: "once"}
		w.api.Inject(u)
		w.up(func(c *conn) { w.after(time.Second) })
		second := New(w.o)
		second.dial = w.dial
		w.Platform = second
		w.api.Inject(u)
		w.up(func(c *conn) { w.after(time.Second) })
		got := w.in.Messages()
		if len(got) != 2 || got[0].Dedupe == "" || got[0].Dedupe != got[1].Dedupe {
			w.Errorf("two lives got %+v, want the message twice with one name", got)
		}
	})
}

// After a week without updates Telegram goes on with a random id, which may be lower. The next poll must ask for what
// follows that one: a higher offset would confirm, and so discard, what came in the meantime.
func TestE1_LowerUpdateIDsAfterAWeekAreHeard(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.api.Inject(botapitest.Update{ID: 900_000, User: owner, Text: "before"})
			w.after(time.Minute)
			w.in.Decide(func(_ context.Context, m adapter.Inbound) error {
				if m.Text == "after" {
					w.api.Inject(botapitest.Update{ID: 13, User: owner, Text: "between two polls"})
				}
				return nil
			})
			w.api.Inject(botapitest.Update{ID: 12, User: owner, Text: "after"})
			w.after(time.Minute)
			w.wantTexts("before", "after", "between two polls")
		})
	})
}

func TestABatchOutOfOrderIsConfirmedToo(t *testing.T) {
	simulate(t, func(w *world) {
		w.api.Inject(botapitest.Update{ID: 5007, User: owner, Text: "later"})
		w.api.Inject(botapitest.Update{ID: 5005, User: owner, Text: "sooner"})
		w.up(func(c *conn) {
			w.after(time.Minute)
			w.wantTexts("later", "sooner")
			w.wantUnconfirmed(0)
		})
	})
}

func TestAnUpdateIsConfirmedOnlyOnceItWasAccepted(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			release := make(chan struct{})
			w.in.Decide(func(context.Context, adapter.Inbound) error { <-release; return nil })
			w.say("slow")
			w.after(20 * time.Second)
			w.wantUnconfirmed(1)
			close(release)
			w.after(time.Second)
			w.wantUnconfirmed(0)
		})
	})
}

func TestE6_ADayOfSilenceCausesNoReconnect(t *testing.T) {
	simulate(t, func(w *world) {
		w.supervised(adapter.Options{}, func(s *adapter.Supervisor) {
			for range 24 {
				w.after(time.Hour)
				if row := s.Rows()[0]; row.State != ops.AdapterConnected {
					w.Fatalf("the adapter is %+v, want connected", row)
				}
			}
			if n := w.api.Calls("getMe"); n != 1 {
				w.Errorf("%d connections were made, want 1", n)
			}
		})
	})
}

func TestE1_ABlackHoleIsStaleWithinTheBoundAndHealsByItself(t *testing.T) {
	simulate(t, func(w *world) {
		w.supervised(adapter.Options{MaxBackoff: 10 * time.Second}, func(s *adapter.Supervisor) {
			w.after(10 * time.Second)
			w.api.Fail("", botapitest.Fault{Hang: true})
			// A poll that hung before is answered in time; the one after it hangs.
			w.after(w.poll + w.StaleAfter())
			if row := s.Rows()[0]; row.State == ops.AdapterConnected {
				w.Fatalf("with a server that swallows everything the adapter is %+v, want anything but connected", row)
			}
			w.api.Heal()
			w.after(time.Minute)
			w.say("back")
			w.after(time.Second)
			if row := s.Rows()[0]; row.State != ops.AdapterConnected {
				w.Errorf("after the outage the adapter is %+v, want connected", row)
			}
			w.wantTexts("back")
		})
	})
}

func TestTheBlackHoleIsCalledStale(t *testing.T) {
	simulate(t, func(w *world) {
		var stale atomic.Bool
		o := adapter.Options{OnState: func(a ops.Adapter) {
			if a.State == ops.AdapterStale {
				stale.Store(true)
			}
		}}
		w.supervised(o, func(s *adapter.Supervisor) {
			synctest.Wait()
			w.api.Fail("getUpdates", botapitest.Fault{Hang: true})
			w.after(w.poll + w.StaleAfter())
			if !stale.Load() {
				w.Errorf("the adapter is %+v and was never stale", s.Rows()[0])
			}
		})
	})
}

func TestAPollThatNeverEndsIsEndedWithoutASupervisorToo(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			synctest.Wait()
			w.api.Fail("getUpdates", botapitest.Fault{Hang: true})
			w.after(w.poll + w.poll + 2*w.grace + time.Second)
			if err := c.Err(); !errors.Is(err, context.DeadlineExceeded) {
				w.Errorf("the connection's end is %v, want a timeout", err)
			}
			if age := time.Since(c.LastInbound()); age < w.poll {
				w.Errorf("the last completed poll was %s ago, want over %s: a poll that failed is not a sign of life", age, w.poll)
			}
		})
	})
}

func TestAFailedPollIsTriedAgainInPlaceAndARefusalOrAnOutageEndsTheConnection(t *testing.T) {
	some := func(err error) bool { return err != nil }
	for _, tc := range []struct {
		name  string
		fault botapitest.Fault
		ends  func(error) bool // nil: the connection stays
	}{
		{"one failed poll is tried again", botapitest.Fault{Code: 500, Times: 1}, nil},
		{"two failed polls are tried again", botapitest.Fault{Code: 502, Times: 2}, nil},
		{"two lost connections are made again", botapitest.Fault{Drop: true, Times: 2}, nil},
		{"a server that goes on failing ends it", botapitest.Fault{Code: 500}, some},
		{"a network that goes on failing ends it", botapitest.Fault{Drop: true}, some},
		{"E9: another poller is a conflict", botapitest.Fault{Code: 409}, is[*adapter.ConflictError]},
		{"a token that was revoked is a credential", botapitest.Fault{Code: 401}, is[*adapter.CredentialsError]},
		{"E8: a rate limit is returned at once, without a sleep", botapitest.Fault{Code: 429, RetryAfter: 6000}, func(err error) bool {
			l, ok := errors.AsType[*adapter.RateLimitError](err)
			return ok && l.RetryAfter == 6000*time.Second
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			simulate(t, func(w *world) {
				w.up(func(c *conn) {
					synctest.Wait()
					w.api.Fail("getUpdates", tc.fault)
					w.after(w.poll + time.Second)
					if refused := tc.fault.Code >= 400 && tc.fault.Code < 500; refused != (c.Err() != nil) {
						w.Errorf("after one poll the connection's end is %v", c.Err())
					}
					w.after(5 * w.pace)
					w.say("still there?")
					w.after(w.poll + time.Minute)
					if tc.ends != nil {
						if err := c.Err(); !tc.ends(err) {
							w.Errorf("the connection's end is %#v", err)
						}
						return
					}
					if err := c.Err(); err != nil {
						w.Errorf("the connection ended: %v", err)
					}
					w.wantTexts("still there?")
				})
			})
		})
	}
}

func is[E error](err error) bool { _, ok := errors.AsType[E](err); return ok }

func TestE9_AConflictForFortySecondsPassesAndOneForEverEscalates(t *testing.T) {
	for _, forever := range []bool{false, true} {
		t.Run(fmt.Sprintf("for ever %v", forever), func(t *testing.T) {
			simulate(t, func(w *world) {
				w.supervised(adapter.Options{}, func(s *adapter.Supervisor) {
					synctest.Wait()
					w.api.Fail("getUpdates", botapitest.Fault{Code: 409})
					w.after(40 * time.Second)
					if !forever {
						w.api.Heal()
					}
					w.after(10 * time.Minute)
					row, warnings := s.Rows()[0], s.Warnings()
					if !forever && (row.State != ops.AdapterConnected || row.Conflicts != 0 || len(warnings) != 0) {
						w.Errorf("after the conflict: %+v %+v, want connected without a warning", row, warnings)
					}
					if forever && (row.State == ops.AdapterConnected || row.Conflicts < 3 || len(warnings) != 1) {
						w.Errorf("in the conflict: %+v %+v, want it counted, and one warning", row, warnings)
					}
				})
			})
		})
	}
}

func TestAServerThatDoesNotHoldPollsIsNotHammered(t *testing.T) {
	simulate(t, func(w *world) {
		w.limits.poll = 0 // what such a server makes of it
		w.limits.grace = time.Minute
		w.up(func(c *conn) {
			w.after(time.Minute)
			if n := w.api.Calls("getUpdates"); n > 65 {
				w.Errorf("%d polls in a minute, want about one a second", n)
			}
			w.say("quick")
			w.after(2 * w.pace)
			w.wantTexts("quick")
		})
	})
}

// supervised runs f next to a Supervisor of the platform.
func (w *world) supervised(o adapter.Options, f func(s *adapter.Supervisor)) {
	w.Helper()
	o.Receiver, o.CallTimeout = w.in, 5*time.Second
	s := adapter.NewSupervisor(o)
	s.Add(w.Platform)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			w.Errorf("Run returned %v", err)
		}
	}()
	f(s)
}
