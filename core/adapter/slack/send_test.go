package slack

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/slack/slacktest"
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
	for _, target := range []string{dm, channel + "/1700000000.000001"} {
		simulate(t, func(w *world) {
			w.up(func(c *conn) {
				m := adapter.Outgoing{Target: target, Text: long(2), Key: "01J"}
				w.api.Fail("chat.postMessage", slacktest.Fault{Status: 502, Arrives: true, Times: 1})
				sent, err := c.Send(w.Context(), m)
				if err == nil || !adapter.MayHaveArrived(err) || len(sent.IDs) != 0 {
					w.Fatalf("the send returned %v, %v", sent, err)
				}
				m.Repeated = true
				if sent, err = c.Send(w.Context(), m); err != nil || len(sent.IDs) != 2 {
					w.Fatalf("the repeat returned %v, %v", sent, err)
				}
				w.wantSent("a", "b")
				m.Key, m.Text = "01K", "another"
				if _, err := c.Send(w.Context(), m); err != nil {
					w.Error(err)
				}
				w.wantSent("a", "b", "another") // it is known not to be there
			})
		})
	}
}

func TestCV7_AnAnswerThatCannotBeLookedForSaysThatItMayBeARepeat(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fault slacktest.Fault
		sent  bool
	}{
		{"the bot may not read there", slacktest.Fault{Error: "missing_scope"}, true},
		{"an outage", slacktest.Fault{Status: 503}, false},
		{"a rate limit", slacktest.Fault{Status: 429, RetryAfter: 9}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			simulate(t, func(w *world) {
				w.up(func(c *conn) {
					w.api.Fail("conversations.", tc.fault)
					_, err := c.Send(w.Context(), adapter.Outgoing{Target: dm, Text: "answer", Key: "01J", Repeated: true})
					if tc.sent {
						w.wantSent(adapter.RepeatMark + "\n\nanswer")
						return
					}
					if w.wantSent(); err == nil || adapter.MayHaveArrived(err) {
						w.Errorf("the send returned %v", err)
					}
				})
			})
		})
	}
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
			w.api.Fail("chat.postMessage", slacktest.Fault{Status: 429, RetryAfter: 12, Times: 1})
			began := time.Now()
			err := w.send(c, "hello")
			limit, limited := errors.AsType[*adapter.RateLimitError](err)
			if !limited || limit.RetryAfter != 12*time.Second || time.Since(began) > 0 {
				w.Errorf("the send returned %v after %s", err, time.Since(began))
			}
			w.wantSent()
		})
	})
}

func TestWhatIsKnownAfterASend(t *testing.T) {
	for _, tc := range []struct {
		name           string
		fault          slacktest.Fault
		refused, known bool
	}{
		{"the bot is not in the channel", slacktest.Fault{Error: "not_in_channel"}, true, true},
		{"the channel is gone", slacktest.Fault{Error: "channel_not_found"}, true, true},
		{"the bot may not write", slacktest.Fault{Error: "missing_scope"}, true, true},
		{"people cannot write to the app", slacktest.Fault{Error: "messages_tab_disabled"}, true, true},
		{"a rate limit without a status", slacktest.Fault{Error: "ratelimited"}, false, true},
		{"a fault of Slack's", slacktest.Fault{Error: "internal_error"}, false, false},
		{"an outage", slacktest.Fault{Status: 503}, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			simulate(t, func(w *world) {
				w.up(func(c *conn) {
					w.api.Fail("chat.postMessage", tc.fault)
					err := w.send(c, "hello")
					if err == nil || is[*adapter.RefusedError](err) != tc.refused || adapter.MayHaveArrived(err) == tc.known {
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
			for _, gone := range []string{id, "1", ""} {
				if _, err := c.Edit(w.Context(), gone, adapter.Outgoing{Target: dm, Text: "x"}); !is[*adapter.RefusedError](err) {
					w.Errorf("the edit of the message %q, which is not there, returned %v", gone, err)
				}
			}
		})
	})
}

func TestASlowChannelHoldsUpNoOther(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.api.Fail("chat.postMessage", slacktest.Fault{Hang: true, Times: 1})
			slow, cancel := context.WithCancel(w.Context())
			var wg sync.WaitGroup
			wg.Go(func() {
				if _, err := c.Send(slow, adapter.Outgoing{Target: "C1", Text: "slow"}); !errors.Is(err, context.Canceled) {
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
			const text = "<!everyone> <@U1> & *stars* _signs_ https://example.com/?q=secret"
			if err := w.send(c, text); err != nil {
				w.Fatal(err)
			}
			m := w.api.Sent()[0]
			if m.Unfurls || m.Text != text || strings.Contains(m.Fallback, "<!") || strings.Contains(m.Fallback, "<@") {
				w.Errorf("sent %+v", m)
			}
		})
	})
}

func TestATargetThatIsNotOneOfSlackIsRefused(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			for _, target := range []string{"", "general", "C1/x", "C1/1.2/3", "C1#x", "C1/#1.2", "C1&as_user=1", strings.Repeat("C", maxID+1)} {
				if _, err := c.Send(w.Context(), adapter.Outgoing{Target: target, Text: "hello"}); !is[*adapter.RefusedError](err) {
					w.Errorf("the target %q returned %v", target, err)
				}
			}
			w.wantSent()
		})
	})
}

func TestCV14_AMessageToAPersonGoesIntoTheChatWithThem(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			sent, err := c.Send(w.Context(), adapter.Outgoing{Target: owner, Text: "a notice"})
			if err != nil || w.api.Sent()[0].Channel != dm {
				w.Fatalf("sent %+v: %v", w.api.Sent(), err)
			}
			if _, err := c.Edit(w.Context(), sent.IDs[0], adapter.Outgoing{Target: owner, Text: "changed"}); err != nil {
				w.Error(err)
			}
			w.wantSent("changed")
			if n := len(w.api.Calls("conversations.open")); n != 1 {
				w.Errorf("the chat was opened %d times", n)
			}
			w.api.Fail("conversations.open", slacktest.Fault{Status: 503})
			if _, err := c.Send(w.Context(), adapter.Outgoing{Target: "U1", Text: "a notice"}); err == nil || adapter.MayHaveArrived(err) {
				w.Errorf("a chat that could not be opened returned %v", err)
			}
		})
	})
}
