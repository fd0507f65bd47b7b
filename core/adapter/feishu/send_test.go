package feishu

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/feishu/feishutest"
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
			m := adapter.Outgoing{Target: owner, Text: long(2), Key: "01J"}
			w.api.Fail(sends, feishutest.Fault{Status: 502, Arrives: true, Times: 1})
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
				if m.ID != sent.IDs[i] || len(m.UUID) != maxKey {
					w.Errorf("message %d is %+v, the send has %q", i, m, sent.IDs)
				}
			}
			m.Key, m.Text, m.Markdown = "01K", "another", true
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
			m := adapter.Outgoing{Target: owner, Text: long(3), Key: "01J", Skip: 2}
			if sent, err := c.Send(w.Context(), m); err != nil || len(sent.IDs) != 1 {
				w.Fatalf("the send returned %v, %v", sent, err)
			}
			w.wantSent("c")
		})
	})
}

func TestE8_ARateLimitIsReturnedAndNotSleptOn(t *testing.T) {
	for _, fault := range []feishutest.Fault{
		{Status: 429, Code: 99991400, RetryAfter: 12}, {Status: 400, Code: 99991400, RetryAfter: 12}, {Status: 400, Code: 230020, RetryAfter: 12}, {Status: 429},
	} {
		simulate(t, func(w *world) {
			w.up(func(c *conn) {
				fault.Times = 1
				w.api.Fail(sends, fault)
				began := time.Now()
				err := w.send(c, "hello")
				limit, limited := errors.AsType[*adapter.RateLimitError](err)
				want := max(time.Duration(fault.RetryAfter)*time.Second, moment)
				if !limited || limit.RetryAfter != want || time.Since(began) > 0 {
					w.Errorf("after %+v the send returned %v after %s", fault, err, time.Since(began))
				}
				w.wantSent()
			})
		})
	}
}

func TestWhatIsKnownAfterASend(t *testing.T) {
	for _, tc := range []struct {
		name    string
		fault   feishutest.Fault
		refused bool
	}{
		{"the bot is not in the group", feishutest.Fault{Status: 400, Code: 230002}, true},
		{"the person may not use the bot", feishutest.Fault{Status: 400, Code: 230013}, true},
		{"the app has no permission", feishutest.Fault{Status: 400, Code: 99991672}, true},
		{"an outage", feishutest.Fault{Status: 503}, false},
		{"an outage that has a number", feishutest.Fault{Status: 500, Code: 1}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			simulate(t, func(w *world) {
				w.up(func(c *conn) {
					w.api.Fail(sends, tc.fault)
					err := w.send(c, "hello")
					if err == nil || is[*adapter.RefusedError](err) != tc.refused || adapter.MayHaveArrived(err) == tc.refused {
						w.Errorf("the send returned %v", err)
					}
				})
			})
		})
	}
}

func TestATokenIsFetchedOnceAndRenewed(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			var wg sync.WaitGroup
			for range 5 {
				wg.Go(func() {
					if err := w.send(c, "hello"); err != nil {
						w.Error(err)
					}
				})
			}
			wg.Wait()
			if n := len(w.api.Calls(auth)); n != 1 {
				w.Errorf("%d tokens were fetched for the first messages", n)
			}
			w.api.Expire() // early
			if err := w.send(c, "after its end"); err != nil {
				w.Error(err)
			}
			w.after(2 * time.Hour)
			if err := w.send(c, "hours later"); err != nil {
				w.Error(err)
			}
			if n := len(w.api.Calls(auth)); n != 3 {
				w.Errorf("%d tokens were fetched, want three", n)
			}
			w.api.Expire()
			w.api.Fail(auth, feishutest.Fault{Status: 200, Code: 10014})
			if err := w.send(c, "lost"); !is[*adapter.CredentialsError](err) || adapter.MayHaveArrived(err) {
				w.Errorf("without a token the send returned %v", err)
			}
			w.api.Fail(auth, feishutest.Fault{Hang: true})
			began := time.Now()
			if err := w.send(c, "lost"); err == nil || time.Since(began) > w.call {
				w.Errorf("a token that does not come: %v after %s", err, time.Since(began))
			}
		})
	})
}

func TestATokenThatIsNeverKnownIsAskedForTwice(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.api.Fail(sends, feishutest.Fault{Status: 400, Code: 99991663})
			if err := w.send(c, "lost"); err == nil || len(w.api.Calls(sends)) != 2 {
				w.Errorf("the send returned %v after %d calls", err, len(w.api.Calls(sends)))
			}
		})
	})
}

func TestAMessageIsEditedAndRemoved(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			sent, err := c.Send(w.Context(), adapter.Outgoing{Target: owner, Text: "draft", Passing: true})
			if err != nil {
				w.Fatal(err)
			}
			id := sent.IDs[0]
			for range 30 { // a text could be edited 20 times
				if _, err := c.Edit(w.Context(), id, adapter.Outgoing{Target: owner, Text: "**more**", Markdown: true, Passing: true}); err != nil {
					w.Fatal(err)
				}
			}
			if all, err := c.Edit(w.Context(), id, adapter.Outgoing{Target: owner, Text: long(2), Key: "01J", Repeated: true}); err != nil || len(all.IDs) != 2 || all.IDs[0] != id {
				w.Errorf("the edit returned %v, %v", all, err)
			}
			w.wantSent("a", "b")
			for range 2 {
				if err := c.Remove(w.Context(), owner, id); err != nil {
					w.Error(err)
				}
			}
			w.wantSent("b")
			for _, bad := range []string{id, "x", ""} {
				if _, err := c.Edit(w.Context(), bad, adapter.Outgoing{Target: owner, Text: "x"}); !is[*adapter.RefusedError](err) {
					w.Errorf("the edit of the message %q returned %v", bad, err)
				}
			}
		})
	})
}

func TestASlowChatHoldsUpNoOther(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.api.Fail("POST /open-apis/im/v1/messages/om_1/reply", feishutest.Fault{Hang: true})
			slow, cancel := context.WithCancel(w.Context())
			var wg sync.WaitGroup
			wg.Go(func() {
				if _, err := c.Send(slow, adapter.Outgoing{Target: group + "#om_1", Text: "slow"}); !errors.Is(err, context.Canceled) {
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

func TestWhatIsNoAddressIsRefused(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			calls := len(w.api.Calls(""))
			for _, to := range []string{"", "1", "ou_", "oc_a b", "oc_1/x/om_1", "oc_1/omt_1", "oc_1/omt_1/om_1/../x", "../oc_1", "oc_" + strings.Repeat("x", 200)} {
				if _, err := c.Send(w.Context(), adapter.Outgoing{Target: to, Text: "x"}); !is[*adapter.RefusedError](err) {
					w.Errorf("a message to %q returned %v", to, err)
				}
			}
			if n := len(w.api.Calls("")); n != calls {
				w.Errorf("%d calls were made", n-calls)
			}
		})
	})
}
