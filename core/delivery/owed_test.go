package delivery

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/fixtures/syncbuf"
)

// E12, CV11: a record that the disk refused is written by this life once the disk takes it again, so that the next life neither works
// on the message again nor sends its answer again.
func TestE12_ARecordThatTheDiskRefusedIsTriedAgain(t *testing.T) {
	for _, tc := range []struct {
		name     string
		refusals int
		down     bool // the platform takes nothing until the record is written
		do       func(o *Outbox)
		answered []string // messages of the inbox
		answers  []string // texts that the next life would send, unless they have ended
		ended    []string
	}{
		{
			"the answer was delivered meanwhile, and only its message is recorded as answered", 1, false,
			func(o *Outbox) { o.Reply(to("1", "a"), "late") },
			[]string{"a"},
			nil,
			[]string{"a"},
		},
		{
			"the answer still waits for its platform, and is recorded with its text", 1, true,
			func(o *Outbox) { o.Reply(to("1", "a"), "late") },
			[]string{"a"},
			[]string{"late"},
			[]string{"a"},
		},
		{
			"the message had its answer with another one", 1, false,
			func(o *Outbox) { o.merged(to("1", "a")) },
			[]string{"a"},
			nil,
			[]string{"a"},
		},
		{
			"the answer is recorded and its delivery is not", 1, false,
			func(o *Outbox) {
				o.enqueue(Answer(to("1", "a"), "sent"))
			},
			nil, nil,
			[]string{"a"},
		},
		{
			"several records are refused several times", 4, false,
			func(o *Outbox) {
				for _, id := range []string{"a", "b", "c"} {
					o.merged(to("1", id))
				}
			},
			[]string{"a", "b", "c"},
			nil,
			[]string{"a", "b", "c"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				o := w.outbox(t)
				w.refusals = tc.refusals
				if tc.down {
					w.fail = func(adapter.Outgoing) error { return errors.New("down") }
				}
				tc.do(o)
				synctest.Wait()
				if o.RetryDue(time.Now()); len(o.owing.records) == 0 || o.owing.busy {
					t.Fatalf("%d records wait, tried at once: %v", len(o.owing.records), o.owing.busy)
				}
				for range 3 {
					time.Sleep(maxRetry)
					o.RetryDue(time.Now())
					synctest.Wait()
					w.set(func() { w.fail = nil })
				}
				var texts, ended []string
				for _, row := range w.answers {
					texts = append(texts, row.Text)
				}
				for id := range w.ended {
					ended = append(ended, id)
				}
				slices.Sort(ended)
				if !slices.Equal(w.answered, tc.answered) || !slices.Equal(texts, tc.answers) || !slices.Equal(ended, tc.ended) || len(o.owing.records) > 0 {
					t.Errorf("answered %q with %q, ended %q, %d records wait", w.answered, texts, ended, len(o.owing.records))
				}
				if len(w.sent) > 1 {
					t.Errorf("sent %q, want each message once", w.sent)
				}
			})
		})
	}
}

// E12: the attempts are bounded: their wait doubles up to its bound, so are the records, and the log says what waits.
func TestE12_RecordsThatTheDiskRefusesAreBoundedAndTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, log := newWorld(), &syncbuf.Buffer{}
		o := w.outbox(t)
		o.o.Log = slog.New(slog.NewTextHandler(log, nil))
		w.refusals = -1 // for ever
		for i := range maxOwed + 1 {
			o.merged(to("1", fmt.Sprint(i)))
		}
		if n := len(o.owing.records); n != maxOwed || !strings.Contains(log.String(), "too many records") {
			t.Errorf("%d records wait, want %d, and the log says so", n, maxOwed)
		}
		for want := minRetry; want < 10*maxRetry; want *= 2 {
			if got := time.Until(o.owing.after); got != min(want, maxRetry) {
				t.Fatalf("the wait is %s, want %s", got, min(want, maxRetry))
			}
			time.Sleep(time.Until(o.owing.after))
			before := w.refusals
			o.RetryDue(time.Now())
			synctest.Wait()
			if before-w.refusals != 1 {
				t.Fatalf("%d writes in one attempt on a disk that refuses them", before-w.refusals)
			}
		}
		if !strings.Contains(log.String(), "still not saved") || !strings.Contains(log.String(), "next_in=5m0s") {
			t.Errorf("the log does not say what waits: %.600s", log)
		}
		w.set(func() { w.refusals = 0 })
		o.Record(t.Context()) // as a stop does
		if len(w.answered) != maxOwed || len(o.owing.records) > 0 {
			t.Errorf("%d messages are recorded, %d records wait", len(w.answered), len(o.owing.records))
		}
	})
}

// CV13: what is owed of a person who was forgotten is never written.
func TestCV13_ARecordOfAForgottenPersonIsNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		o := w.outbox(t)
		w.refusals = 2
		o.merged(to("1", "a"))
		o.merged(to("2", "b"))
		o.forget(func(key string) bool { return key == "chat:dm:1" })
		o.Record(t.Context())
		if !slices.Equal(w.answered, []string{"b"}) {
			t.Errorf("recorded are %q, want what is of the other person", w.answered)
		}
	})
}
