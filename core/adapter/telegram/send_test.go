package telegram

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/telegram/botapitest"
)

func (w *world) send(c *conn, target, text string) error {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 30*time.Second)
	defer cancel()
	_, err := c.Send(ctx, adapter.Outgoing{Target: target, Text: text})
	wantNoToken(w.T, err)
	return err
}

// long is a text of n parts of one character each, so that the parts tell where they come from.
func long(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(string(rune('a'+i)), maxUnits))
	}
	return b.String()
}

func TestAnAnswerGoesWhereTheMessageCameFrom(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.api.Inject(botapitest.Update{User: owner, Text: "alone"})
			w.api.Inject(botapitest.Update{User: owner, Chat: -100, Text: "in a group"})
			w.api.Inject(botapitest.Update{User: owner, Chat: -100, Thread: 7, Text: "in a topic"})
			w.after(time.Second)
			for _, m := range w.in.Messages() {
				if err := w.send(c, m.Target, m.Session); err != nil {
					w.Error(err)
				}
			}
			want := []botapitest.Sent{
				{ChatID: owner, Text: "telegram:dm:4711"},
				{ChatID: -100, Text: "telegram:group:-100:user:4711", ReplyTo: 1001},
				{ChatID: -100, ThreadID: 7, Text: "telegram:group:-100:topic:7", ReplyTo: 1002},
			}
			got := w.api.Sent()
			if len(got) != len(want) {
				w.Fatalf("sent %+v, want %+v", got, want)
			}
			for i := range want {
				if got[i] != want[i] {
					w.Errorf("sent %+v, want %+v", got[i], want[i])
				}
			}
		})
	})
}

func TestALongTextIsSentInParts(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			text := strings.Repeat("😀", 3000) + "\n\xff*_[broken](markup" + strings.Repeat(" \n", 4096) + "end"
			if err := w.send(c, "1", text); err != nil {
				w.Fatal(err)
			}
			var got strings.Builder
			for _, s := range w.api.Sent() {
				got.WriteString(s.Text)
			}
			squeeze := func(s string) string { return strings.Join(strings.Fields(s), " ") }
			if want := squeeze(strings.ToValidUTF8(text, "\uFFFD")); squeeze(got.String()) != want {
				w.Errorf("what was sent differs from the text in more than white space")
			}
		})
	})
}

func TestWhatASendThatFailsReturns(t *testing.T) {
	refused := is[*adapter.RefusedError]
	for _, tc := range []struct {
		name         string
		target, text string
		fault        botapitest.Fault
		want         func(error) bool
		calls        int
	}{
		{"a user who blocked the bot is refused for ever", "1", "hi", botapitest.Fault{Code: 403}, refused, 1},
		{"a chat that is gone is refused for ever", "1", "hi", botapitest.Fault{Code: 400}, refused, 1},
		{"no address is refused for ever", "alice", "hi", botapitest.Fault{}, refused, 0},
		{"a blank text is refused for ever", "1", " \n", botapitest.Fault{}, refused, 0},
		{"E8: a rate limit is returned at once", "1", "hi", botapitest.Fault{Code: 429, RetryAfter: 6000}, func(err error) bool {
			l, ok := errors.AsType[*adapter.RateLimitError](err)
			return ok && l.RetryAfter == 6000*time.Second
		}, 1},
		{"a rate limit without an end is a second", "1", "hi", botapitest.Fault{Code: 429}, func(err error) bool {
			l, ok := errors.AsType[*adapter.RateLimitError](err)
			return ok && l.RetryAfter == time.Second
		}, 1},
		{"a fault of the server is not sent again", "1", "hi", botapitest.Fault{Code: 500}, is[*callError], 1},
		{"an answer that got lost is not sent again", "1", "hi", botapitest.Fault{Drop: true}, is[*callError], 1},
		{"no answer ends with the caller's patience", "1", "hi", botapitest.Fault{Hang: true}, func(err error) bool {
			return errors.Is(err, context.DeadlineExceeded)
		}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			simulate(t, func(w *world) {
				w.up(func(c *conn) {
					w.api.Fail("sendMessage", tc.fault)
					began := time.Now()
					if err := w.send(c, tc.target, tc.text); !tc.want(err) {
						w.Errorf("got %#v", err)
					}
					if took := time.Since(began); took > 31*time.Second {
						w.Errorf("it took %s, want the caller's 30s at most", took)
					}
					w.after(time.Minute)
					if n := w.api.Calls("sendMessage"); n != tc.calls {
						w.Errorf("%d calls were made, want %d", n, tc.calls)
					}
				})
			})
		})
	}
}

func TestAnotherTryGoesOnWhereTheFirstStopped(t *testing.T) {
	for _, tc := range []struct {
		name     string
		fault    botapitest.Fault
		repeated bool
		want     []string
	}{
		{"after a refusal no part is sent twice", botapitest.Fault{Code: 429, RetryAfter: 1, After: 2, Times: 1}, false, []string{"a", "b", "c", "d"}},
		{"after a lost answer only that part may be", botapitest.Fault{Drop: true, After: 2, Times: 1}, true, []string{"a", "b", "c", adapter.RepeatMark, "c", "d"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			simulate(t, func(w *world) {
				m := adapter.Outgoing{Target: "1", Text: long(4)}
				w.up(func(c *conn) {
					w.api.Fail("sendMessage", tc.fault)
					sent, err := c.Send(w.Context(), m)
					if err == nil || !strings.HasPrefix(err.Error(), "part 3 of 4: ") || len(sent.IDs) != 2 {
						w.Errorf("the first try ended with %v and %v, want it to name part 3 of 4 and the two messages before it", sent, err)
					}
					if adapter.MayHaveArrived(err) != tc.repeated {
						w.Errorf("the part may have arrived: %t, want %t", !tc.repeated, tc.repeated)
					}
					m.Skip, m.Repeated = len(sent.IDs), adapter.MayHaveArrived(err)
				})
				w.up(func(c *conn) {
					if _, err := c.Send(w.Context(), m); err != nil {
						w.Error(err)
					}
					w.wantSent(tc.want...)
				})
			})
		})
	}
}

func TestCV7_AMessageThatMayHaveArrivedSaysSoInItself(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			if _, err := c.Send(w.Context(), adapter.Outgoing{Target: "1", Text: "hello", Repeated: true}); err != nil {
				w.Fatal(err)
			}
			w.wantSent(adapter.RepeatMark + "\n\nhello")
		})
	})
}

func TestPartsOfTwoTextsForOneChatDoNotMix(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.api.Fail("sendMessage", botapitest.Fault{Delay: 100 * time.Millisecond})
			var wg sync.WaitGroup
			for _, text := range []string{long(3), strings.ToUpper(long(3))} {
				wg.Go(func() {
					if err := w.send(c, "1", text); err != nil {
						w.Error(err)
					}
				})
			}
			wg.Wait()
			var order string
			for _, s := range w.api.Sent() {
				order += s.Text[:1]
			}
			if order != "abcABC" && order != "ABCabc" {
				w.Errorf("the parts came as %s", order)
			}
		})
	})
}

func TestASlowChatHoldsUpNoOther(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.api.Fail("sendMessage", botapitest.Fault{Hang: true, Times: 1})
			slow, cancel := context.WithCancel(w.Context())
			var wg sync.WaitGroup
			wg.Go(func() {
				if _, err := c.Send(slow, adapter.Outgoing{Target: "1", Text: "slow"}); !errors.Is(err, context.Canceled) {
					w.Errorf("the hung send returned %v", err)
				}
			})
			w.after(time.Second)
			ctx, stop := context.WithTimeout(w.Context(), time.Second)
			defer stop()
			if _, err := c.Send(ctx, adapter.Outgoing{Target: "1", Text: "after it"}); !errors.Is(err, context.DeadlineExceeded) {
				w.Errorf("the send after a hung one returned %v, want its own timeout", err)
			}
			if err := w.send(c, "2", "meanwhile"); err != nil {
				w.Error(err)
			}
			w.wantSent("meanwhile")
			cancel()
			wg.Wait()
		})
	})
}

func TestAGroupThatMovedGetsTheMessage(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.api.Fail("sendMessage", botapitest.Fault{Code: 400, Migrate: -1009, Times: 1})
			if err := w.send(c, "-100", "hi"); err != nil {
				w.Fatal(err)
			}
			if got := w.api.Sent(); len(got) != 1 || got[0].ChatID != -1009 {
				w.Errorf("sent %+v, want one message to -1009", got)
			}
		})
	})
}
