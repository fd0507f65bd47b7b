package matrix

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/matrix/matrixtest"
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
		w.api.Open(owner, "alice")
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
		w.api.Open(owner, "alice")
		m := adapter.Outgoing{Target: dm, Text: long(2), Key: "01J"}
		w.up(func(c *conn) {
			w.api.Fail(anyRoom, matrixtest.Fault{Status: 502, Arrives: true, Times: 1})
			sent, err := c.Send(w.Context(), m)
			if err == nil || !adapter.MayHaveArrived(err) || len(sent.IDs) != 0 {
				w.Fatalf("the send returned %v, %v", sent, err)
			}
		})
		w.restart()
		w.up(func(c *conn) {
			m.Repeated = true
			sent, err := c.Send(w.Context(), m)
			if err != nil || len(sent.IDs) != 2 {
				w.Fatalf("the repeat returned %v, %v", sent, err)
			}
			w.wantSent("a", "b")
			for i, m := range w.api.Sent() {
				if m.ID != sent.IDs[i] || m.Transaction == "" {
					w.Errorf("message %d is %+v, the send has %q", i, m, sent.IDs)
				}
			}
			m.Key, m.Text = "01K", "another"
			if _, err := c.Send(w.Context(), m); err != nil {
				w.Error(err)
			}
			w.wantSent("a", "b", adapter.RepeatMark)
			w.api.Fail(anyRoom, matrixtest.Fault{Status: 502, Arrives: true, Times: 1})
			f := adapter.OutgoingFile{Name: "a.txt", Content: []byte("content"), Key: "01L"}
			if _, err := c.SendFile(w.Context(), dm, f); err == nil || !adapter.MayHaveArrived(err) {
				w.Errorf("the file returned %v", err)
			}
			if _, err := c.SendFile(w.Context(), dm, f); err != nil {
				w.Error(err)
			}
			w.wantSent("a", "b", adapter.RepeatMark, "a.txt")
		})
	})
}

func TestASendGoesOnWhereTheLastOneStopped(t *testing.T) {
	simulate(t, func(w *world) {
		w.api.Open(owner, "alice")
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
		w.api.Open(owner, "alice")
		w.up(func(c *conn) {
			w.api.Fail(anyRoom, matrixtest.Fault{Status: 429, Code: codeLimit, RetryAfter: 12345 * time.Millisecond, Times: 1})
			began := time.Now()
			err := w.send(c, "hello")
			limit, limited := errors.AsType[*adapter.RateLimitError](err)
			if !limited || limit.RetryAfter != 12345*time.Millisecond || time.Since(began) > 0 {
				w.Errorf("the send returned %v after %s", err, time.Since(began))
			}
			w.wantSent()
		})
	})
}

func TestWhatIsKnownAfterASend(t *testing.T) {
	for _, tc := range []struct {
		name    string
		fault   matrixtest.Fault
		refused bool
	}{
		{"the bot may not write there", matrixtest.Fault{Status: 403, Code: "M_FORBIDDEN"}, true},
		{"the room is gone", matrixtest.Fault{Status: 404, Code: codeNotFound}, true},
		{"the text is not acceptable", matrixtest.Fault{Status: 400, Code: codeBadJSON}, true},
		{"the text is too long", matrixtest.Fault{Status: 413, Code: codeTooLarge}, true},
		{"an outage", matrixtest.Fault{Status: 503}, false},
		{"a page of a proxy", matrixtest.Fault{Status: 504, Body: "<html>"}, false},
		{"an answer that is not one", matrixtest.Fault{Status: 200, Body: "<html>"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			simulate(t, func(w *world) {
				w.api.Open(owner, "alice")
				w.up(func(c *conn) {
					w.api.Fail(anyRoom, tc.fault)
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
		w.api.Open(owner, "alice")
		w.up(func(c *conn) {
			sent, err := c.Send(w.Context(), adapter.Outgoing{Target: dm, Text: "draft", Passing: true})
			if err != nil {
				w.Fatal(err)
			}
			if m := w.api.Sent()[0]; m.Kind != "m.notice" {
				w.Errorf("a draft rings: %+v", m)
			}
			id := sent.IDs[0]
			if all, err := c.Edit(w.Context(), id, adapter.Outgoing{Target: dm, Text: long(2), Key: "01J"}); err != nil || len(all.IDs) != 2 || all.IDs[0] != id {
				w.Errorf("the edit returned %v, %v", all, err)
			}
			w.wantSent("a", "b")
			if m := w.api.Sent()[0]; m.Kind != "m.text" {
				w.Errorf("the answer is %+v", m)
			}
			for range 2 {
				if err := c.Remove(w.Context(), dm, id); err != nil {
					w.Error(err)
				}
			}
			w.wantSent("b")
			foreign := w.say("mine")
			for _, bad := range []string{id, foreign, "$none", "x", "../../x"} {
				if _, err := c.Edit(w.Context(), bad, adapter.Outgoing{Target: dm, Text: "x"}); !is[*adapter.RefusedError](err) {
					w.Errorf("the edit of %s returned %v", bad, err)
				}
			}
		})
	})
}

func TestCV6_TypingEndsWithTheMessage(t *testing.T) {
	simulate(t, func(w *world) {
		w.api.Open(owner, "alice")
		w.up(func(c *conn) {
			if err := c.Typing(w.Context(), dm); err != nil || !w.api.Types(dm) {
				w.Fatalf("typing returned %v", err)
			}
			if err := w.send(c, "answer"); err != nil || w.api.Types(dm) {
				w.Errorf("after the answer the bot types: %t, %v", w.api.Types(dm), err)
			}
			if err := w.send(c, "another"); err != nil || len(w.api.Calls("PUT /_matrix/client/v3/rooms/"+dm+"/typing/")) != 2 {
				w.Errorf("the calls are %q", w.api.Calls("PUT"))
			}
		})
	})
}

func TestASlowRoomHoldsUpNoOther(t *testing.T) {
	simulate(t, func(w *world) {
		w.api.Open(owner, "alice")
		w.up(func(c *conn) {
			w.api.Fail(anyRoom+listed, matrixtest.Fault{Hang: true})
			slow, cancel := context.WithCancel(w.Context())
			var wg sync.WaitGroup
			wg.Go(func() {
				if _, err := c.Send(slow, adapter.Outgoing{Target: listed, Text: "slow"}); !errors.Is(err, context.Canceled) {
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
			m := adapter.Outgoing{Target: listed, Text: "@room **[alice](https://matrix.to/#/@alice:example.org)**", Markdown: true}
			if _, err := c.Send(w.Context(), m); err != nil {
				w.Fatal(err)
			}
			if m := w.api.Sent()[0]; fmt.Sprint(m.Mentions) != "map[]" {
				w.Errorf("sent %+v", m)
			}
		})
	})
}

func TestAnAnswerStandsWhereItsMessageStood(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			root := w.api.Say(says{User: owner, Name: "alice", Room: listed, Text: "Helper: one"})
			in := w.api.Say(says{User: owner, Name: "alice", Room: listed, Text: "Helper: two", Thread: root})
			w.after(time.Second)
			for i, want := range []matrixtest.Message{{Answers: root}, {Answers: in, Thread: root}} {
				if _, err := c.Send(w.Context(), adapter.Outgoing{Target: w.in.Messages()[i].Target, Text: "answer"}); err != nil {
					w.Fatal(err)
				}
				if got := w.api.Sent()[i]; got.Answers != want.Answers || got.Thread != want.Thread || got.Room != listed {
					w.Errorf("sent %+v, want %+v", got, want)
				}
			}
			for _, bad := range []string{"", "x", "!a:b/../c", "!a:b/$", "!a b:c", listed + "/$x y"} {
				if _, err := c.Send(w.Context(), adapter.Outgoing{Target: bad, Text: "x"}); !is[*adapter.RefusedError](err) {
					w.Errorf("a send to %q returned %v", bad, err)
				}
			}
		})
	})
}
