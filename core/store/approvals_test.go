package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func asking(id string, at time.Time) Approval {
	return Approval{
		ID: id, Session: "telegram:dm:4711", SessionID: "S", Turn: "T", Agent: "default", Who: "maria (4711)", Kind: "command",
		Command: "rm -rf build", Folder: "/work", Environment: "local", Reasons: []string{"it deletes"}, Asked: at, Expires: at.Add(time.Hour), State: ApprovalWaiting,
	}
}

func TestTR4_AnApprovalEndsOnceAndKeepsItsEnd(t *testing.T) {
	s := open(t, t.TempDir())
	now := time.Now().UTC().Truncate(time.Microsecond)
	v := asking("K7Q2MX", now)
	if fresh, err := s.PutApproval(t.Context(), v); !fresh || err != nil {
		t.Fatal(fresh, err)
	}
	if fresh, err := s.PutApproval(t.Context(), v); fresh || err != nil {
		t.Fatalf("the same id twice: %v, %v", fresh, err)
	}
	end := v
	end.State, end.Scope, end.By, end.Ended = ApprovalAllowed, "always", "an owner", now.Add(time.Minute)
	rule := ApprovalRule{ID: "R", Agent: "default", Environment: "local", Folder: "/work", Kind: "command", Rule: "rm", Session: v.Session, Approval: v.ID, By: "an owner", At: now, Expires: now.Add(time.Hour)}
	got, ended, err := s.EndApproval(t.Context(), end, rule)
	if err != nil || !ended || cmp.Diff(end, got) != "" {
		t.Fatalf("%v, %v: %s", ended, err, cmp.Diff(end, got))
	}
	second := v
	second.State = ApprovalDenied
	got, ended, err = s.EndApproval(t.Context(), second, ApprovalRule{ID: "R2", Agent: "default", Kind: "command", Rule: "x"})
	if err != nil || ended || got.State != ApprovalAllowed {
		t.Errorf("a second answer: %+v, %v, %v", got, ended, err)
	}
	if _, ended, err := s.EndApproval(t.Context(), Approval{ID: "NONE", State: ApprovalDenied}); ended || err != nil {
		t.Errorf("an unknown id: %v, %v", ended, err)
	}
	rules, err := s.ApprovalRules(t.Context())
	if err != nil || cmp.Diff([]ApprovalRule{rule}, rules) != "" {
		t.Errorf("rules: %v %s", err, cmp.Diff([]ApprovalRule{rule}, rules))
	}
	if found, err := s.DropApprovalRule(t.Context(), "R"); !found || err != nil {
		t.Errorf("drop: %v, %v", found, err)
	}
	if found, _ := s.DropApprovalRule(t.Context(), "R"); found {
		t.Error("a rule was dropped twice")
	}
}

func TestTR5_AStartWithdrawsWhatWaits(t *testing.T) {
	s := open(t, t.TempDir())
	now := time.Now().UTC().Truncate(time.Microsecond)
	for i := range 3 {
		if _, err := s.PutApproval(t.Context(), asking(fmt.Sprint("A", i), now.Add(time.Duration(i)*time.Second))); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := s.EndApproval(t.Context(), Approval{ID: "A1", State: ApprovalDenied, Ended: now}); err != nil {
		t.Fatal(err)
	}
	withdrawn, err := s.WithdrawApprovals(t.Context(), "a restart", now)
	if err != nil || len(withdrawn) != 2 || withdrawn[0].ID != "A0" || withdrawn[1].State != ApprovalWithdrawn {
		t.Fatalf("%+v, %v", withdrawn, err)
	}
	if again, err := s.WithdrawApprovals(t.Context(), "a restart", now); len(again) != 0 || err != nil {
		t.Errorf("twice: %+v, %v", again, err)
	}
	all, err := s.Approvals(t.Context(), 10)
	if err != nil || len(all) != 3 {
		t.Errorf("%+v, %v", all, err)
	}
}
