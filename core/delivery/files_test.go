package delivery

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
)

func TestCV9_AFileKeepsItsPlaceInItsChatAndIsInTheJournalBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		o := w.outbox(t)
		w.fail = func(adapter.Outgoing) error { return &adapter.UnsentError{Err: errors.New("down")} }
		o.Post("chat:dm:1", "1", "one")
		if err := o.PostFile(t.Context(), "chat:dm:1", "1#7", "as asked", "report.pdf"); err != nil {
			t.Fatal(err)
		}
		o.Post("chat:dm:1", "1", "two")
		synctest.Wait()
		if row := w.put[1]; row.File != "report.pdf" || row.Text != "as asked" || row.Target != "1#7" || !slices.Equal(o.WaitingFiles(), []string{"report.pdf"}) {
			t.Errorf("the journal has %+v, %q wait", row, o.WaitingFiles())
		}
		w.set(func() { w.fail = nil })
		o.Connected(ops.Adapter{Name: "chat", State: ops.AdapterConnected})
		synctest.Wait()
		if want := []string{"1: one", "1#7: file report.pdf as asked", "1: two"}; !slices.Equal(w.sent, want) || len(o.WaitingFiles()) > 0 {
			t.Errorf("sent %q, want %q", w.sent, want)
		}
	})
}

func TestCV9_AFileOfAnEarlierLifeIsSentOnceItsPlatformConnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		o := w.outbox(t)
		row := Answer(to("1", "f"), "")
		row.File, row.Tried = "report.pdf", true
		o.Restore(row)
		o.Connected(ops.Adapter{Name: "chat", State: ops.AdapterConnected})
		synctest.Wait()
		if want := []string{"1: file report.pdf " + adapter.RepeatMark + "\n"}; !slices.Equal(w.sent, want) || o.Repeated() != 1 {
			t.Errorf("sent %q, %d counted as repeated; want %q", w.sent, o.Repeated(), want)
		}
	})
}

func TestCV9_OfAFileThatCannotBeSentItsChatLearnsWhy(t *testing.T) {
	for _, tc := range []struct {
		name, file string
		fail       error
		want       string
		tries      int
	}{
		{"its copy is gone", "gone", nil, "1: The file old.pdf could not be sent: the copy of the file is gone.", 1},
		{"the platform refuses", "a.pdf", &adapter.RefusedError{Why: "too large"}, "1: The file a.pdf could not be sent: too large.", 2},
		{"its upload breaks off each time", "a.pdf", errors.New("reset"), "1: The file a.pdf could not be sent: it broke off 5 times, at last: reset.", maxFileTries + 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				o := w.outbox(t)
				w.fail = func(m adapter.Outgoing) error {
					if strings.HasPrefix(m.Text, "file ") {
						return tc.fail
					}
					return nil
				}
				if err := o.PostFile(t.Context(), "chat:dm:1", "1", "", tc.file); err != nil {
					t.Fatal(err)
				}
				for range 2 * maxFileTries {
					synctest.Wait()
					time.Sleep(maxRetry)
					o.RetryDue(time.Now())
				}
				synctest.Wait()
				if !slices.Equal(w.sent, []string{tc.want}) || w.tries != tc.tries || o.Waiting() != 0 {
					t.Errorf("sent %q in %d attempts, %d wait; want %q in %d", w.sent, w.tries, o.Waiting(), tc.want, tc.tries)
				}
				if why := w.ended[w.put[0].ID]; why == "" {
					t.Error("the journal does not say why")
				}
			})
		})
	}
}

func TestCV9_AFileThatTheJournalDoesNotTakeIsNotSent(t *testing.T) {
	w := newWorld()
	o := w.outbox(t)
	w.putErr = errors.New("disk full")
	if err := o.PostFile(t.Context(), "chat:dm:1", "1", "", "a.pdf"); !ops.HasCode(err, ops.CodeUnavailable) {
		t.Errorf("the error is %v", err)
	}
	if w.tries > 0 || o.Waiting() > 0 {
		t.Errorf("%d attempts, %d wait", w.tries, o.Waiting())
	}
}
