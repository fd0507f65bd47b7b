package operator

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/ops"
)

// asking is a source of requests that remembers its answers.
type asking struct {
	items    []ops.InboxItem
	answered []ops.Command
	err      error
}

func (a *asking) Inbox() []ops.InboxItem { return slices.Clone(a.items) }

func (a *asking) Answer(_ context.Context, cmd ops.Command) (string, error) {
	a.answered = append(a.answered, cmd)
	return "allowed", a.err
}

func at(minute int) ops.Time { return ops.At(time.Date(2026, 11, 22, 19, minute, 0, 0, time.UTC)) }

func twoSources() (op *Operator, approvals, pairings *asking) {
	approvals = &asking{items: []ops.InboxItem{
		{ID: "B2", Kind: ops.InboxCommand, Turn: "t2", State: ops.InboxWaiting, AskedAt: at(20), Command: "rm -rf build\n\x1b]0;x\a", Options: []string{"once", "turn"}},
		{ID: "C3", Kind: ops.InboxCommand, State: ops.InboxExpired, AskedAt: at(1)},
		{ID: "D4", Kind: ops.InboxWrite, State: ops.InboxDenied, AskedAt: at(2), By: "maria"},
		{ID: "Q5", Kind: ops.InboxQuestion, Turn: "t5", State: ops.InboxWaiting, AskedAt: at(30)},
	}}
	pairings = &asking{items: []ops.InboxItem{{ID: "A1", Kind: ops.InboxPairing, State: ops.InboxWaiting, AskedAt: at(10), Text: "bob \u202e wants to talk"}}}
	return New(Options{Inbox: []InboxSource{approvals, pairings}}), approvals, pairings
}

func TestTR4_TheInboxIsWhatWaitsOldestFirstAndThenWhatHasEnded(t *testing.T) {
	op, _, _ := twoSources()
	page, err := op.Inbox(t.Context(), ops.Query{})
	if err != nil {
		t.Fatal(err)
	}
	ids := ""
	for _, i := range page.Items {
		ids += i.ID + " "
		if strings.ContainsAny(i.Command+i.Text, "\n\x1b\a\u202e") {
			t.Errorf("%s is not clean: %q %q", i.ID, i.Command, i.Text)
		}
	}
	if ids != "A1 B2 Q5 D4 C3 " {
		t.Errorf("the inbox is %s", ids)
	}
	if n := op.inboxCount(); n != 3 {
		t.Errorf("%d requests wait, want 3", n)
	}
	if page, err = op.Inbox(t.Context(), ops.Query{Limit: 1, Filter: "state:waiting", Cursor: "A1"}); err != nil || len(page.Items) != 1 || page.Items[0].ID != "B2" || page.Next != "B2" {
		t.Errorf("the second page is %+v, %v", page, err)
	}
}

func TestTR4_AnAnswerReachesTheRequestThatItNamesOrNothing(t *testing.T) {
	for _, tc := range []struct {
		name string
		cmd  ops.Command
		code ops.Code // empty: it reaches B2
		says string
	}{
		{"the id in lower case", ops.Command{Verb: ops.VerbApprove, Target: "b2"}, "", ""},
		{"the turn that waits", ops.Command{Verb: ops.VerbApprove, Target: "B2", Expect: "t2", Scope: ops.ScopeTurn}, "", ""},
		{"a no", ops.Command{Verb: ops.VerbDeny, Target: "B2", Reason: "not here"}, "", ""},
		{"an unknown id", ops.Command{Verb: ops.VerbApprove, Target: "ZZ"}, ops.CodeNotFound, "no request"},
		{"one that has expired", ops.Command{Verb: ops.VerbApprove, Target: "C3"}, ops.CodeConflict, "it was expired"},
		{"one that another person answered", ops.Command{Verb: ops.VerbDeny, Target: "D4"}, ops.CodeConflict, "it was denied by maria"},
		{"another turn", ops.Command{Verb: ops.VerbApprove, Target: "B2", Expect: "t9"}, ops.CodeConflict, "another turn"},
		{"a yes to a question", ops.Command{Verb: ops.VerbApprove, Target: "Q5"}, ops.CodeInvalid, "answer Q5 TEXT"},
		{"a text to a command", ops.Command{Verb: ops.VerbAnswer, Target: "B2", Text: "yes"}, ops.CodeInvalid, "approve B2"},
		{"a scope that is not offered", ops.Command{Verb: ops.VerbApprove, Target: "B2", Scope: ops.ScopeAlways}, ops.CodeInvalid, "it takes: once, turn"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			op, approvals, pairings := twoSources()
			tc.cmd.By = ops.Actor{Via: "socket", UID: 1000, PID: 42}
			_, _, err := op.answerInbox(t.Context(), tc.cmd)
			if tc.code != "" {
				if !ops.HasCode(err, tc.code) || !strings.Contains(err.Error(), tc.says) {
					t.Errorf("the answer is %v, want %s with %q", err, tc.code, tc.says)
				}
				if n := len(approvals.answered) + len(pairings.answered); n != 0 {
					t.Errorf("%d answers were given", n)
				}
				return
			}
			tc.cmd.Target, tc.cmd.By.User = "B2", "uid 1000, pid 42" // the row says who answered
			if err != nil || len(pairings.answered) != 0 || len(approvals.answered) != 1 || approvals.answered[0] != tc.cmd {
				t.Errorf("%v; the answers are %+v and %+v", err, approvals.answered, pairings.answered)
			}
		})
	}
}
