package operator

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/ops"
)

// Every verb of the operator's language is done here, in one way.
func TestEveryVerbIsDone(t *testing.T) {
	for _, spec := range ops.Verbs {
		if v, ok := verbs[spec.Verb]; !ok || (v.run == nil) == (v.begin == nil) {
			t.Errorf("verb %s: in the table %v, run %v, begin %v; want one of run and begin", spec.Verb, ok, v.run != nil, v.begin != nil)
		} else if spec.Ends && v.preview == nil {
			t.Errorf("verb %s ends something and has no preview", spec.Verb)
		}
	}
	if len(verbs) != len(ops.Verbs) {
		t.Errorf("%d verbs are done and %d exist", len(verbs), len(ops.Verbs))
	}
}

func TestAnAdaptersWarningSaysTheCauseFirst(t *testing.T) {
	row := ops.Adapter{Name: "api", State: ops.AdapterRetrying, Attempt: 5, LastError: "listen on 127.0.0.1:8642: address already in use"}
	w, found := adapterWarning(row)
	if cause, counters := strings.Index(w.Message, "already in use"), strings.Index(w.Message, "attempt 5"); !found || cause < 0 || counters < cause {
		t.Errorf("the warning is %q: the cause must come before the counters, which a narrow screen cuts", w.Message)
	}
	if w, found := adapterWarning(ops.Adapter{Name: "api", State: ops.AdapterRetrying, Attempt: 1}); !found || !strings.Contains(w.Message, "not connected") {
		t.Errorf("without a cause the warning is %q", w.Message)
	}
}

// TF45: one backup runs at a time, and an operator can abort it.
func TestTF45_ABackupThatRunsRefusesAnotherOneAndCanBeAborted(t *testing.T) {
	var aborted error
	op := New(Options{})
	abort := context.CancelCauseFunc(func(cause error) { aborted = cause })
	op.abortBackup.Store(&abort) // a backup that runs
	if _, _, err := op.backup(t.Context(), ops.Command{File: "/tmp/second"}); !ops.HasCode(err, ops.CodeConflict) {
		t.Errorf("a second backup ended as %v", err)
	}
	if detail, _, err := op.backup(t.Context(), ops.Command{Abort: true}); err != nil || !strings.Contains(detail, "aborted") || !errors.Is(aborted, errBackupAborted) {
		t.Errorf("the abort ended as %q, %v, with %v", detail, err, aborted)
	}
}

// B5: a request ends once, all who wait get its end, and the oldest ended ones are forgotten.
func TestB5_ARequestEndsOnceAndIsKeptForItsAsker(t *testing.T) {
	rs := newRequests()
	rs.add(ops.Request{ID: "1", State: ops.RequestAccepted})
	waited := make(chan ops.Request, 1)
	go func() {
		r, err := rs.get(t.Context(), "1", true)
		if err != nil {
			t.Error(err)
		}
		waited <- r
	}()
	if _, first := rs.update("1", ops.RequestDone, "done", nil, nil); !first {
		t.Fatal("its first end does not count")
	}
	if _, again := rs.update("1", ops.RequestFailed, "late", nil, errors.New("late")); again {
		t.Error("it ended twice")
	}
	select {
	case r := <-waited:
		if r.State != ops.RequestDone || r.Detail != "done" {
			t.Errorf("who waited got %+v", r)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("who waits for the end gets nothing")
	}
	for i := range requestsKept {
		id := "more-" + time.Duration(i).String()
		rs.add(ops.Request{ID: id})
		rs.update(id, ops.RequestDone, "", nil, nil)
	}
	if _, err := rs.get(t.Context(), "1", false); !ops.HasCode(err, ops.CodeNotFound) {
		t.Errorf("after %d newer requests the oldest is answered with %v", requestsKept, err)
	}
}
