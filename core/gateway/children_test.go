package gateway

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gatewaytui/core/model"
	"gatewaytui/core/ops"
)

// HR10: the children of a turn are rows. An operator writes to one, interrupts another with its processes, and the turn goes on with
// the results of all. Both acts are in the audit.
func TestHR10_AnOperatorActsOnOneChildOfATurn(t *testing.T) {
	l := start(t, func(s *setup) {
		s.cfg.Tools.Enabled = []string{"terminal", "delegate"}
		s.model = script(func(ctx context.Context, req model.Request) (model.Response, error) {
			text, answered := lastUser(req)
			last := req.Messages[len(req.Messages)-1].Content
			switch {
			case text == "go" && !answered:
				return callsTool("delegate", `{"tasks":[{"goal":"long"},{"goal":"waits"}]}`), nil
			case text == "go", answered && text != "waits":
				return says(last), nil
			case text == "long":
				return callsTool("terminal", `{"command":"sleep 600"}`), nil
			case text == "waits":
				return callsTool("terminal", `{"command":"while ! test -e go-on; do sleep 0.05; done"}`), nil
			}
			return says("told: " + text), nil
		})
	})
	reply := l.send("api:user:a", "go")
	var rows []ops.Child
	l.wait("both children work", func() bool {
		page, err := l.g.Agents(t.Context(), ops.Query{})
		if err != nil || len(page.Items) != 1 {
			return false
		}
		rows = page.Items[0].Delegates
		return len(rows) == 2 && !slices.ContainsFunc(rows, func(c ops.Child) bool { return !strings.Contains(c.Doing, "terminal: ") }) && l.g.procs.CountSession("api:user:a") == 2
	})
	long, waits := rows[0].ID, rows[1].ID
	if !strings.Contains(rows[0].Doing, "sleep 600") {
		long, waits = waits, long
	}
	preview, err := l.g.Preview(t.Context(), ops.Command{Verb: ops.VerbInterrupt, Target: "api:user:a", Child: long})
	if err != nil || !slices.Equal(preview.Interrupt, []string{"child agent " + long + " of api:user:a"}) {
		t.Errorf("the preview is %+v, %v", preview, err)
	}
	if r := l.do(ops.Command{Verb: ops.VerbInterrupt, Target: "api:user:a", Child: long}); r.State != ops.RequestDone || !strings.Contains(r.Detail, "the turn goes on") {
		t.Errorf("the interrupt: %+v", r)
	}
	l.wait("the processes of that child have ended", func() bool { return l.g.procs.CountSession("api:user:a") == 1 })
	if r := l.do(ops.Command{Verb: ops.VerbMessage, Target: "api:user:a", Child: waits, Text: "look at the logs"}); r.State != ops.RequestDone || r.Detail != "child agent "+waits+" reads it after its next step" {
		t.Errorf("the message: %+v", r)
	}
	if _, err := l.g.Do(t.Context(), ops.Command{Verb: ops.VerbMessage, Target: "api:user:a", Child: "9", Text: "x"}); !ops.HasCode(err, ops.CodeNotFound) {
		t.Errorf("a message to no child: %v", err)
	}
	if r := l.do(ops.Command{Verb: ops.VerbInterrupt, Target: "api:user:a", Child: long}); r.State != ops.RequestFailed {
		t.Errorf("an interrupt of a child that has ended: %+v", r)
	}
	if err := os.WriteFile(filepath.Join(l.dir, "go-on"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got := l.await(reply)
	if got.err != nil || !strings.Contains(got.text, "an operator interrupted this child agent") || !strings.Contains(got.text, "told: look at the logs") {
		t.Errorf("the turn is answered with %+v", got)
	}
	var acts []string
	for _, row := range l.audit() {
		acts = append(acts, row.Verb+" "+row.State)
	}
	for _, want := range []string{string(ops.VerbInterrupt) + " done", string(ops.VerbMessage) + " done"} {
		if !slices.Contains(acts, want) {
			t.Errorf("the audit has no %q in %q", want, acts)
		}
	}
	l.wait("no process is left", func() bool { return l.g.procs.CountSession("api:user:a") == 0 })
}

// HR10, TR4: children that ask at the same time have a row each, which names the child. An answer reaches its own, and then the turn has
// its one slot again.
func TestHR10_ChildrenThatAskAreAnsweredAlone(t *testing.T) {
	l := start(t, asking, func(s *setup) {
		s.cfg.Tools.Enabled = []string{"terminal", "delegate", "ask_user"}
		s.model = script(func(_ context.Context, req model.Request) (model.Response, error) {
			text, answered := lastUser(req)
			switch {
			case answered:
				return says("got " + req.Messages[len(req.Messages)-1].Content), nil
			case text == "go":
				return callsTool("delegate", `{"tasks":[{"goal":"one"},{"goal":"two"},{"goal":"ask"}]}`), nil
			case text == "ask":
				return callsTool("ask_user", `{"question":"Which?"}`), nil
			}
			return callsTool("terminal", arguments(map[string]any{"command": "mkfifo " + text + "; echo ran " + text})), nil
		})
	})
	reply := l.send("api:user:a", "go")
	rows := map[string]ops.InboxItem{}
	l.wait("three requests wait", func() bool {
		page, err := l.g.Inbox(t.Context(), ops.Query{})
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range page.Items {
			rows[i.Command] = i
		}
		return len(page.Items) == 3
	})
	if used := l.limitRow("limits.turns").Used; used != 0 {
		t.Errorf("the turn that waits uses %d slots", used)
	}
	one, two, ask := rows["mkfifo one; echo ran one"], rows["mkfifo two; echo ran two"], rows["Which?"]
	for child, row := range map[string]ops.InboxItem{"1": one, "2": two, "3": ask} {
		if !strings.Contains(row.Text, "(child agent "+child+")") {
			t.Errorf("the row of child %s says %q", child, row.Text)
		}
	}
	for _, cmd := range []ops.Command{
		{Verb: ops.VerbAnswer, Target: ask.ID, Text: "this one"}, {Verb: ops.VerbApprove, Target: two.ID}, {Verb: ops.VerbDeny, Target: one.ID, Reason: "not now"},
	} {
		if r := l.do(cmd); r.State != ops.RequestDone {
			t.Errorf("%s: %+v", cmd.Verb, r)
		}
	}
	got := l.await(reply)
	var parts []int
	for _, part := range []string{"a person refused this and said: not now", "ran two", "this one"} {
		parts = append(parts, strings.Index(got.text, part))
	}
	if got.err != nil || !slices.IsSorted(parts) || parts[0] < 0 {
		t.Errorf("the turn is answered with %+v", got)
	}
	l.wait("the slot is free", func() bool { return l.limitRow("limits.turns").Used == 0 })
}
