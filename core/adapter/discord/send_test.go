package discord

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/discord/discordtest"
)

// long is a text of n messages, of which the first is of a, the second of b.
func long(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(string(rune('a'+i)), maxUnits))
	}
	return b.String()
}

func TestALongTextIsSentInOrder(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			var wg sync.WaitGroup
			for _, text := range []string{long(3), strings.ToUpper(long(3))} {
				wg.Go(func() {
					if err := w.send(c, text); err != nil {
						w.Error(err)
					}
				})
			}
			wg.Wait()
			var order string
			for _, m := range w.api.Sent() {
				order += m.Text[:1]
			}
			if order != "abcABC" && order != "ABCabc" {
				w.Errorf("the parts came as %s", order)
			}
			if err := w.send(c, " \n "); !is[*adapter.RefusedError](err) {
				w.Errorf("a blank text returned %v", err)
			}
		})
	})
}

func TestCV7_AnAnswerWhoseArrivalIsUnknownExistsOnce(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			m := adapter.Outgoing{Target: dm, Text: long(2), Key: "01J"}
			w.api.Fail("POST /channels/", discordtest.Fault{Status: 502, Arrives: true, Times: 1})
			sent, err := c.Send(w.Context(), m)
			if err == nil || !adapter.MayHaveArrived(err) || len(sent.IDs) != 0 {
				w.Fatalf("the send returned %v, %v", sent, err)
			}
			m.Repeated = true
			if sent, err = c.Send(w.Context(), m); err != nil || len(sent.IDs) != 2 {
				w.Fatalf("the repeat returned %v, %v", sent, err)
			}
			w.wantSent("a", "b")
			for i, m := range w.api.Sent() {
				if m.ID != sent.IDs[i] || len(m.Nonce) != maxNonce {
					w.Errorf("message %d is %+v, the send has %q", i, m, sent.IDs)
				}
			}
			m.Key, m.Text = "01K", "another"
			if _, err := c.Send(w.Context(), m); err != nil {
				w.Error(err)
			}
			w.wantSent("a", "b", adapter.RepeatMark)
		})
	})
}

func TestASendGoesOnWhereTheLastOneStopped(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			m := adapter.Outgoing{Target: dm, Text: long(3), Key: "01J", Skip: 2}
			if sent, err := c.Send(w.Context(), m); err != nil || len(sent.IDs) != 1 {
				w.Fatalf("the send returned %v, %v", sent, err)
			}
			w.wantSent("c")
		})
	})
}

func TestE8_ARateLimitIsReturnedAndNotSleptOn(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.api.Fail("POST /channels/", discordtest.Fault{Status: 429, RetryAfter: 12.3, Times: 1})
			began := time.Now()
			err := w.send(c, "hello")
			limit, limited := errors.AsType[*adapter.RateLimitError](err)
			if !limited || limit.RetryAfter != 12300*time.Millisecond || time.Since(began) > 0 {
				w.Errorf("the send returned %v after %s", err, time.Since(began))
			}
			w.wantSent()
		})
	})
}

func TestWhatIsKnownAfterASend(t *testing.T) {
	for _, tc := range []struct {
		name    string
		fault   discordtest.Fault
		refused bool
	}{
		{"the bot may not write there", discordtest.Fault{Status: 403, Code: 50001}, true},
		{"the channel is gone", discordtest.Fault{Status: 404, Code: 10003}, true},
		{"the text is not acceptable", discordtest.Fault{Status: 400, Code: 50035}, true},
		{"an outage", discordtest.Fault{Status: 503}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			simulate(t, func(w *world) {
				w.up(func(c *conn) {
					w.api.Fail("POST /channels/", tc.fault)
					err := w.send(c, "hello")
					if err == nil || is[*adapter.RefusedError](err) != tc.refused || adapter.MayHaveArrived(err) == tc.refused {
						w.Errorf("the send returned %v", err)
					}
				})
			})
		})
	}
}

func TestAMessageIsEditedAndRemoved(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			sent, err := c.Send(w.Context(), adapter.Outgoing{Target: dm, Text: "draft", Passing: true})
			if err != nil {
				w.Fatal(err)
			}
			id := sent.IDs[0]
			if all, err := c.Edit(w.Context(), id, adapter.Outgoing{Target: dm, Text: long(2), Key: "01J"}); err != nil || len(all.IDs) != 2 || all.IDs[0] != id {
				w.Errorf("the edit returned %v, %v", all, err)
			}
			w.wantSent("a", "b")
			for range 2 {
				if err := c.Remove(w.Context(), dm, id); err != nil {
					w.Error(err)
				}
			}
			w.wantSent("b")
			if _, err := c.Edit(w.Context(), id, adapter.Outgoing{Target: dm, Text: "x"}); !is[*adapter.RefusedError](err) {
				w.Errorf("the edit of a message that is gone returned %v", err)
			}
			if err := c.Typing(w.Context(), dm); err != nil || len(w.api.Calls("POST /channels/"+dm+"/typing")) != 1 {
				w.Errorf("typing returned %v", err)
			}
		})
	})
}

func TestASlowChannelHoldsUpNoOther(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.api.Fail("POST /channels/1/", discordtest.Fault{Hang: true})
			slow, cancel := context.WithCancel(w.Context())
			var wg sync.WaitGroup
			wg.Go(func() {
				if _, err := c.Send(slow, adapter.Outgoing{Target: "1", Text: "slow"}); !errors.Is(err, context.Canceled) {
					w.Errorf("the hung send returned %v", err)
				}
			})
			w.after(time.Second)
			if err := w.send(c, "other"); err != nil {
				w.Error(err)
			}
			w.wantSent("other")
			cancel()
			wg.Wait()
		})
	})
}

func TestNothingThatAModelWritesNotifiesAnyone(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			if err := w.send(c, "@everyone <@1> https://example.com/?q=secret"); err != nil {
				w.Fatal(err)
			}
			if m := w.api.Sent()[0]; m.Flags != suppressEmbeds || m.Notifies != `{"parse":[]}` {
				w.Errorf("sent %+v", m)
			}
		})
	})
}
