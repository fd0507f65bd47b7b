package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatewaytui/core/ops"
)

func TestTR4_AnAnswerIsGivenToTheRequestThatItNames(t *testing.T) {
	for _, c := range []struct {
		args []string
		want ops.Command
	}{
		{[]string{"approve", "7K3M9Q"}, ops.Command{Verb: ops.VerbApprove, Target: "7K3M9Q"}},
		{[]string{"approve", "7K3M9Q", "--turn"}, ops.Command{Verb: ops.VerbApprove, Target: "7K3M9Q", Scope: ops.ScopeTurn}},
		{[]string{"approve", "--session", "7K3M9Q"}, ops.Command{Verb: ops.VerbApprove, Target: "7K3M9Q", Scope: ops.ScopeSession}},
		{[]string{"approve", "7K3M9Q", "--always"}, ops.Command{Verb: ops.VerbApprove, Target: "7K3M9Q", Scope: ops.ScopeAlways}},
		{[]string{"deny", "7K3M9Q", "--reason", "not here"}, ops.Command{Verb: ops.VerbDeny, Target: "7K3M9Q", Reason: "not here"}},
		{[]string{"answer", "7K3M9Q", "the second"}, ops.Command{Verb: ops.VerbAnswer, Target: "7K3M9Q", Text: "the second"}},
		{[]string{"approvals", "rules", "remove", "9F2C"}, ops.Command{Verb: ops.VerbRemoveRule, Target: "9F2C"}},
	} {
		g := start(t, newFake())
		g.run(t, c.args...).must(t, exitDone).says(t, "it is done")
		if d := cmp.Diff([]ops.Command{c.want}, g.commands()); d != "" {
			t.Errorf("%q (-want +got):\n%s", c.args, d)
		}
	}
}

func TestTR4_AnAnswerThatReachesNothingFailsWithASentence(t *testing.T) {
	f := newFake()
	f.do = func(ops.Command) (ops.Request, error) {
		return ops.Request{}, &ops.Error{Code: ops.CodeNotFound, Message: `no request "NOSUCH" waits for an answer`, Hint: "`gatewaytui inbox` lists those that do"}
	}
	g := start(t, f)
	g.run(t, "approve", "NOSUCH").must(t, exitFailed).says(t, `no request "NOSUCH" waits`, "gatewaytui inbox")
	f.do = failing(&ops.Error{Code: ops.CodeConflict, Message: "request 7K3M9Q waits no longer: it was expired"}, nil)
	g.run(t, "deny", "7K3M9Q").must(t, exitFailed).says(t, "waits no longer")
	g.run(t, "approve", "7K3M9Q", "--turn", "--always").must(t, exitUsage).says(t, "give one of")
	for _, args := range [][]string{{"inbox"}, {"approve", "x"}, {"deny", "x"}, {"answer", "x", "y"}, {"approvals", "rules"}, {"approvals", "rules", "remove", "x"}} {
		invocation{home: newHome(t).Dir()}.run(t, t.Context(), args...).must(t, exitNoGateway)
	}
}

func TestTR10_AStopThatAPersonMustAllowSaysSo(t *testing.T) {
	f := newFake()
	f.do = func(ops.Command) (ops.Request, error) {
		return ops.Request{State: ops.RequestWaiting, WaitingFor: "approval 7K3M9Q"}, nil
	}
	g := start(t, f)
	g.run(t, "stop", "--yes").must(t, exitDone).says(t, "a person must allow this first: it waits for approval 7K3M9Q (request r1)")
	f.refused = &ops.Error{Code: ops.CodeToolCaller, Message: "a tool of this gateway asked for a stop, and it was not allowed: a person refused this"}
	g.run(t, "stop", "--yes", "--wait").must(t, exitFailed).says(t, "waits for approval 7K3M9Q", "it was not allowed")
}
