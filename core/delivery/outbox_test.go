package delivery

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

func to(chat, id string) store.Inbox {
	return store.Inbox{ID: id, Session: "chat:dm:" + chat, Adapter: "chat", Target: chat}
}

func TestRepliesOfAChatKeepTheirOrderAndHoldUpNoOtherChat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		o := w.outbox(t)
		w.fail = func(m adapter.Outgoing) error {
			if m.Target == "1" {
				return errors.New("connection reset")
			}
			return nil
		}
		for _, text := range []string{"one", "two", "three"} {
			o.Reply(to("1", text), text) // returns though nothing is delivered
		}
		o.Reply(to("2", "other"), "other")
		if !slices.Equal(w.sent, []string{"2: other"}) || o.Waiting() != 3 || w.tries != 2 {
			t.Fatalf("sent %q in %d attempts, %d wait; want the other chat alone, and one attempt for the first", w.sent, w.tries, o.Waiting())
		}
		w.set(func() { w.fail = nil })
		o.RetryDue(time.Now())
		synctest.Wait()
		if o.Waiting() != 3 {
			t.Fatal("the chat was tried again before its wait was over")
		}
		time.Sleep(minRetry)
		o.RetryDue(time.Now())
		synctest.Wait()
		if want := []string{"2: other", "1: one", "1: two", "1: three"}; !slices.Equal(w.sent, want) || o.Waiting() != 0 {
			t.Errorf("sent %q, %d wait; want %q", w.sent, o.Waiting(), want)
		}
		if len(w.answers) != 4 || len(w.ended) != 4 || w.ended["two"] != "" {
			t.Errorf("the journal has %d answers, and the results %v", len(w.answers), w.ended)
		}
	})
}

func TestTheWaitOfAChatDoublesIsBoundedAndNeverShorterThanThePlatformAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		o := w.outbox(t)
		w.fail = func(adapter.Outgoing) error { return errors.New("down") }
		o.Reply(to("1", "a"), "a")
		wait := func() time.Duration { return time.Until(o.chats["chat 1"].after) }
		for want := minRetry; want < 10*maxRetry; want *= 2 {
			if got := wait(); got != min(want, maxRetry) {
				t.Fatalf("the wait is %s, want %s", got, min(want, maxRetry))
			}
			time.Sleep(wait())
			o.RetryDue(time.Now())
			synctest.Wait()
		}
		w.set(func() {
			w.fail = func(adapter.Outgoing) error { return &adapter.RateLimitError{RetryAfter: time.Hour} }
		})
		time.Sleep(maxRetry)
		o.RetryDue(time.Now())
		synctest.Wait()
		if got := wait(); got != time.Hour {
			t.Errorf("the platform asked for an hour, and the wait is %s", got)
		}
	})
}

func TestARefusedReplyIsRecordedAndTheNextOnesAreSent(t *testing.T) {
	w := newWorld()
	o := w.outbox(t)
	w.fail = func(m adapter.Outgoing) error {
		if m.Text == "bad" {
			return &adapter.RefusedError{Why: "the chat is gone"}
		}
		return nil
	}
	o.Reply(to("1", "a"), "bad")
	o.Reply(to("1", "b"), "good")
	w.tasks.Wait()
	if w.ended["a"] != "the chat is gone" || w.ended["b"] != "" || !slices.Equal(w.sent, []string{"1: good"}) || o.Waiting() != 0 {
		t.Errorf("sent %q, results %v, %d wait", w.sent, w.ended, o.Waiting())
	}
}

func TestAMessageOfAnEarlierLifeIsSentWhenItsAdapterConnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		o := w.outbox(t)
		o.Restore(Answer(to("1", "a"), "left over"))
		o.RetryDue(time.Now())
		o.Connected(ops.Adapter{Name: "chat", State: ops.AdapterConnecting})
		o.Connected(ops.Adapter{Name: "other", State: ops.AdapterConnected})
		synctest.Wait()
		if w.tries != 0 {
			t.Fatalf("%d attempts before its adapter was connected", w.tries)
		}
		o.Connected(ops.Adapter{Name: "chat", State: ops.AdapterConnected})
		synctest.Wait()
		if !slices.Equal(w.sent, []string{"1: left over"}) {
			t.Errorf("sent %q", w.sent)
		}
	})
}

func TestAReplyDuringTheStopIsLeftToTheNextLifeAndBlocksNothing(t *testing.T) {
	w := newWorld()
	o := w.outbox(t)
	w.stopped = true
	o.Reply(to("1", "a"), "late") // returns
	o.Post("chat:dm:1", "1", "notice")
	if w.tries != 0 || len(w.answers) != 1 || len(w.put) != 1 || o.Waiting() != 2 {
		t.Errorf("%d attempts, the journal has %v and %v, %d wait", w.tries, w.answers, w.put, o.Waiting())
	}
}
