package telegram

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/telegram/botapitest"
	"gatewaytui/core/ops"
)

// maxStrangers is how many notices to unknown users may wait, strangerPace the time between two.
const (
	maxStrangers = 16
	strangerPace = time.Second
)

// HF16: the reproduction, in virtual time: every send takes 0.3 s, 300 unknown users write before an allowed user does.
func TestHF16_UnknownUsersDoNotDelayAnAllowedUser(t *testing.T) {
	simulate(t, func(w *world) {
		const unknown = 300
		w.api.Fail("sendMessage", botapitest.Fault{Delay: 300 * time.Millisecond})
		w.crowd(unknown)
		w.say("/stop")
		w.up(func(c *conn) {
			w.after(2 * time.Second)
			w.wantTexts("/stop")
			w.after(time.Minute)
			w.wantUnconfirmed(0)
			noticed := len(w.api.Sent())
			if noticed < 1 || noticed > maxStrangers+5 {
				w.Errorf("%d unknown users got a notice, want about %d", noticed, maxStrangers)
			}
			if counters := w.Counters(); len(counters) != 1 || counters[0].Value() != uint64(unknown-noticed) {
				w.Errorf("%d unknown users got no answer, want %d counted", counters[0].Value(), unknown-noticed)
			}
		})
	})
}

func TestHF16_NoticesToUnknownUsersGoOutOneASecond(t *testing.T) {
	simulate(t, func(w *world) {
		w.crowd(10)
		w.up(func(c *conn) {
			for i := range 10 {
				w.after(strangerPace)
				// The first goes out at once, and the poll is there at the latest after a second.
				if n := len(w.api.Sent()); n < i || n > i+2 {
					w.Fatalf("after %d s %d notices were sent", i+1, n)
				}
			}
			w.after(strangerPace)
			if n := len(w.api.Sent()); n != 10 {
				w.Errorf("%d of 10 unknown users got a notice", n)
			}
		})
	})
}

func TestHF16_AfterANoticeThatFailsUnknownUsersGetNoAnswerForAMinute(t *testing.T) {
	simulate(t, func(w *world) {
		w.api.Fail("sendMessage", botapitest.Fault{Code: 429, RetryAfter: 90, Times: 1})
		w.up(func(c *conn) {
			w.crowd(5)
			w.after(80 * time.Second)
			if n := w.api.Calls("sendMessage"); n != 1 {
				w.Errorf("%d notices were tried within the time that Telegram asked for, want 1", n)
			}
			w.after(20 * time.Second)
			w.api.Inject(botapitest.Update{User: 20_000, Text: "hello"})
			w.after(time.Second)
			w.wantSent("You are not on this bot's allow list. Your user id is 20000.")
		})
	})
}

func TestHF16_WithinABatchAllowedUsersGoFirst(t *testing.T) {
	simulate(t, func(w *world) {
		w.in.Decide(func(_ context.Context, m adapter.Inbound) error {
			if w.log.Count("telegram.stranger") != 0 {
				w.Errorf("an unknown user was handled before %q", m.Text)
			}
			return nil
		})
		for i := range 20 {
			w.api.Inject(botapitest.Update{User: int64(10_000 + i), Text: "hello"})
			w.say(fmt.Sprint(i))
		}
		w.up(func(c *conn) {
			w.after(time.Second)
			var want []string
			for i := range 20 {
				want = append(want, fmt.Sprint(i))
			}
			w.wantTexts(want...)
			if n := w.log.Count("telegram.stranger"); n != 20 {
				w.Errorf("%d unknown users were seen, want 20", n)
			}
		})
	})
}

// To confirm an update confirms all before it, so that one that was taken out of turn is not confirmed before them.
func TestAMessageTakenOutOfTurnConfirmsNothingBeforeIt(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.in.Decide(func(_ context.Context, m adapter.Inbound) error {
				if m.Text == "taken" {
					return nil
				}
				return &ops.Error{Code: ops.CodeDraining, Message: "the gateway is draining"}
			})
			w.api.Fail("sendMessage", botapitest.Fault{Code: 500}) // so the refusal is not sent, and the message not confirmed
			w.api.Inject(botapitest.Update{User: other, Text: "from outside"})
			w.say("taken")
			w.say("refused")
			w.after(time.Second)
		})
		w.wantTexts("taken")
		w.wantUnconfirmed(3) // the unknown user's is not, so none after it is
		w.api.Heal()
		w.in.Decide(nil)
		w.up(func(c *conn) {
			w.after(time.Second)
			w.wantTexts("taken", "refused")
			w.wantUnconfirmed(0)
		})
	})
}

// A stop does not wait for a notice that hangs, and leaves nothing of usher.
func TestHF16_AStopEndsTheNoticesToUnknownUsers(t *testing.T) {
	simulate(t, func(w *world) {
		w.api.Fail("sendMessage", botapitest.Fault{Hang: true})
		c := w.dialUp()
		w.crowd(5)
		w.after(time.Second)
		began := time.Now()
		if err := c.CancelTasks(w.Context()); err != nil {
			w.Error(err)
		}
		if took := time.Since(began); took != 0 {
			w.Errorf("the stop waited %s", took)
		}
		w.down(c)
		if strings.Contains(w.log.String(), "panic") {
			w.Error(w.log.String())
		}
	})
}
