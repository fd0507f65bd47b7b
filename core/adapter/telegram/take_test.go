package telegram

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/telegram/botapitest"
	"gatewaytui/core/ops"
)

func TestAMessageOfWhichNothingCanBeReadGetsANotice(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.api.Inject(botapitest.Update{User: owner, Message: fields{"story": fields{}}})
			w.api.Inject(botapitest.Update{User: owner, Message: fields{"game": fields{}}})
			w.api.Inject(botapitest.Update{User: owner, Chat: -100, Message: fields{"game": fields{}}})
			w.api.Inject(botapitest.Update{User: owner, Message: fields{"pinned_message": fields{}}})
			w.after(time.Minute)
			w.wantTexts()
			w.wantSent("I cannot read this kind of message (story), so it was ignored.", "I cannot read this kind of message (game), so it was ignored.")
		})
	})
}

func TestAPoliteNoticeThatFailsHoldsUpNothing(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.api.Fail("sendMessage", botapitest.Fault{Hang: true})
			for range 10 {
				w.api.Inject(botapitest.Update{User: owner, Message: fields{"game": fields{}}})
			}
			w.say("and now?")
			w.after(w.notice + time.Second)
			w.wantTexts("and now?")
			if err := c.Err(); err != nil {
				w.Errorf("the connection ended: %v", err)
			}
		})
	})
}

var draining = &ops.Error{Code: ops.CodeDraining, Message: "the gateway takes no new work", Hint: "your message was not taken; send it again later"}

func TestE13_TwentyMessagesInADrainGetOneNoticeThatIsTrue(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.in.Decide(func(context.Context, adapter.Inbound) error { return draining })
			for i := range 20 {
				w.say(fmt.Sprint(i))
				w.after(time.Minute)
			}
			const said = "The gateway takes no new work. Your message was not taken; send it again later. The same goes for what you send until then."
			w.wantSent(said)
			w.wantUnconfirmed(0)
			w.in.Decide(nil)
			w.say("later")
			w.after(time.Second)
			w.in.Decide(func(context.Context, adapter.Inbound) error { return draining })
			w.say("too late")
			w.after(time.Second)
			w.wantSent(said, said)
			w.wantTexts("later")
		})
	})
}

func TestARefusalOfOneMessageIsSentEachTime(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.in.Decide(func(context.Context, adapter.Inbound) error {
				return &ops.Error{Code: ops.CodeInvalid, Message: "the message is empty"}
			})
			w.say("a")
			w.say("b")
			w.after(time.Second)
			w.wantSent("The message is empty.", "The message is empty.")
		})
	})
}

func TestE12_AMessageWhoseRefusalCannotBeSentIsNotConfirmed(t *testing.T) {
	simulate(t, func(w *world) {
		w.in.Decide(func(context.Context, adapter.Inbound) error { return draining })
		w.api.Fail("sendMessage", botapitest.Fault{Code: 429, RetryAfter: 30})
		w.up(func(c *conn) {
			w.say("hello?")
			w.after(time.Second)
			if err := c.Err(); !is[*adapter.RateLimitError](err) {
				w.Errorf("the connection's end is %v, want the rate limit", err)
			}
		})
		if n := w.api.Unconfirmed(); n != 1 {
			w.Fatalf("%d messages are left, want the one whose sender knows nothing", n)
		}
		w.api.Heal()
		w.in.Decide(nil)
		w.up(func(c *conn) { w.after(time.Second) })
		w.wantTexts("hello?")
		w.wantSent()
	})
}

func TestARefusedMessageOfAUserWhoBlockedTheBotIsConfirmed(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.in.Decide(func(context.Context, adapter.Inbound) error { return draining })
			w.api.Fail("sendMessage", botapitest.Fault{Code: 403})
			w.say("and away")
			w.after(time.Second)
			if n, err := w.api.Unconfirmed(), c.Err(); n != 0 || err != nil {
				w.Errorf("%d messages are left, and the connection's end is %v, want none", n, err)
			}
		})
	})
}

func TestAMessageOnWhichTheGatewayFailsIsTriedThreeTimesAndThenReported(t *testing.T) {
	for name, fail := range map[string]func() error{
		"by an error": func() error { return errors.New("a store that is full") },
		"by a panic":  func() error { panic("a bug") },
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *world) {
				tries := 0
				w.in.Decide(func(_ context.Context, m adapter.Inbound) error {
					if m.Text == "poison" {
						tries++
						return fail()
					}
					return nil
				})
				w.supervised(adapter.Options{}, func(*adapter.Supervisor) {
					w.say("poison")
					w.say("next")
					w.after(5 * time.Minute)
					w.wantTexts("next")
					w.wantSent("Your message could not be taken")
					if tries != maxAttempts {
						w.Errorf("it was tried %d times, want %d", tries, maxAttempts)
					}
				})
			})
		})
	}
}

func TestI2_NoMessageBodyIsLogged(t *testing.T) {
	simulate(t, func(w *world) {
		const canary = "c4nary-body"
		w.up(func(c *conn) {
			w.say(canary)
			w.api.Inject(botapitest.Update{User: other, Text: canary})
			w.after(time.Second)
			w.in.Decide(func(context.Context, adapter.Inbound) error { return draining })
			w.say(canary)
			w.after(time.Second)
		})
		if n := w.log.Count(canary); n != 0 {
			w.Errorf("a message's text is in the log %d times:\n%s", n, w.log)
		}
	})
}
