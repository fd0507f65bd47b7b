package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gatewaytui/core/config"
	"gatewaytui/core/ops"
	"gatewaytui/core/store"
	"gatewaytui/core/tool"
)

// HF7: of the verbs a tool may give stop and restart, if the config lets it, by every way to give a command.
func TestHF7_AToolGivesNoVerbButStopAndRestart(t *testing.T) {
	tool := ops.Actor{Via: "socket", Tool: true, Session: "api:user:bob"}
	refused := func(t *testing.T, l *lab, v ops.Verb) {
		t.Helper()
		if _, err := l.g.Do(context.Background(), ops.Command{Verb: v, Target: "api:user:alice", Text: "x", By: tool}); !ops.HasCode(err, ops.CodeToolCaller) {
			t.Errorf("%s by a tool: %v", v, err)
		}
	}
	t.Run("tools may stop", func(t *testing.T) {
		l := start(t)
		for _, v := range ops.Verbs {
			if v.Verb != ops.VerbStop && v.Verb != ops.VerbRestart {
				refused(t, l, v.Verb)
			}
		}
	})
	t.Run("tools may not stop", func(t *testing.T) {
		l := start(t, func(s *setup) { s.cfg.Tools.MayStop = config.No })
		for _, v := range ops.Verbs {
			refused(t, l, v.Verb)
		}
	})
}

// HF7: the audit says which tools were refused what, whichever way they asked. Calls for the same thing share a row.
func TestHF7_TheAuditHasARowForWhatAToolWasRefused(t *testing.T) {
	l := start(t)
	tool := ops.Actor{Via: "socket", UID: 7, PID: 4711, Tool: true, Session: "api:user:bob"}
	if _, err := l.g.Do(t.Context(), ops.Command{Verb: ops.VerbReset, Target: "api:user:alice", By: tool}); !ops.HasCode(err, ops.CodeToolCaller) {
		t.Fatalf("reset by a tool: %v", err)
	}
	for range 8 {
		l.g.ToolRefused(tool, "GET /v1/snapshot", "")
	}
	receiver{g: l.g}.
		ToolRefused(ops.Actor{Via: "api", UID: 7, Tool: true, Session: "api:user:bob"}, "POST /v1/chat/completions")
	want := map[string]string{
		"socket session.reset api:user:alice": "", "socket GET /v1/snapshot ": "at least 8 calls", "api POST /v1/chat/completions ": "",
	}
	l.wait("the rows are there", func() bool {
		rows := l.audit()
		complete := len(rows) == len(want)
		for _, r := range rows {
			detail, ok := want[r.Via+" "+r.Verb+" "+r.Target]
			if !ok || !r.Tool || r.Session != "api:user:bob" || r.State != "refused" || r.UID != 7 {
				t.Fatalf("row %+v", r)
			}
			complete = complete && r.Detail == detail
		}
		return complete
	})
}

// HF7: tools that ask for much, as many sessions, make a bounded number of rows.
func TestHF7_AFloodOfRefusedCallsMakesABoundedNumberOfRows(t *testing.T) {
	const most = 257
	l := start(t)
	for i := range 3 * most {
		l.g.ToolRefused(ops.Actor{Via: "socket", Tool: true, Session: fmt.Sprint("api:user:", i)}, "POST /v1/drain", "")
	}
	overflow := func(rows []store.Audit) bool {
		return slices.ContainsFunc(rows, func(r store.Audit) bool { return r.Verb == "calls of more sessions" && r.Detail != "" })
	}
	l.wait("the rows are there", func() bool {
		rows := l.audit()
		if len(rows) > most {
			t.Fatalf("%d rows", len(rows))
		}
		return len(rows) == most && overflow(rows)
	})
}

// TR10: with tools.may_stop = "ask" a tool's stop waits for a person. The tool can read its request and cannot answer it.
func TestTR10_AStopThatAToolAsksForWaitsForAPerson(t *testing.T) {
	tool := ops.Actor{Via: "socket", Tool: true, Session: "api:user:bob"}
	restart := ops.Command{Verb: ops.VerbRestart, Reason: "new config", By: tool}
	asks := func(t *testing.T, l *lab) (ops.Request, ops.InboxItem) {
		t.Helper()
		req, err := l.g.Do(t.Context(), restart)
		if err != nil || req.State != ops.RequestWaiting {
			t.Fatalf("the request is %+v, %v", req, err)
		}
		l.wait("it is in the inbox", func() bool {
			st, err := l.g.Status(t.Context())
			return err == nil && st.Counts.Inbox == 1
		})
		page, err := l.g.Inbox(t.Context(), ops.Query{Filter: "state:waiting"})
		if err != nil || len(page.Items) != 1 {
			t.Fatalf("the inbox is %+v, %v", page, err)
		}
		return req, page.Items[0]
	}
	ask := func(s *setup) { s.cfg.Tools.MayStop = config.Ask }
	t.Run("it begins when a person allows it", func(t *testing.T) {
		l := start(t, ask)
		req, item := asks(t, l)
		if item.Kind != ops.InboxStop || item.Session != "api:user:bob" || item.Command != "restart: new config" || !slices.Equal(item.Options, []string{"once"}) {
			t.Errorf("the inbox has %+v", item)
		}
		if row, err := l.g.Request(t.Context(), req.ID, false); err != nil || row.WaitingFor != "approval "+item.ID {
			t.Errorf("the request is %+v, %v", row, err)
		}
		if again, err := l.g.Do(t.Context(), restart); err != nil || again.ID != req.ID || !again.Joined {
			t.Errorf("asked again, the request is %+v, %v", again, err)
		}
		for _, verb := range []ops.Verb{ops.VerbApprove, ops.VerbDeny, ops.VerbAnswer} {
			if _, err := l.g.Do(t.Context(), ops.Command{Verb: verb, Target: item.ID, Text: "yes", By: tool}); !ops.HasCode(err, ops.CodeToolCaller) {
				t.Errorf("%s by the tool: %v", verb, err)
			}
		}
		if l.do(ops.Command{Verb: ops.VerbApprove, Target: item.ID}).State != ops.RequestDone {
			t.Error("the approval failed")
		}
		report := l.report()
		if !report.Restart || report.ID != req.ID || report.Reason != "new config" {
			t.Errorf("the stop is %+v", report)
		}
	})
	t.Run("a refusal is the request's error", func(t *testing.T) {
		l := start(t, ask)
		req, item := asks(t, l)
		l.do(ops.Command{Verb: ops.VerbDeny, Target: item.ID, Reason: "not now"})
		row, err := l.g.Request(t.Context(), req.ID, true)
		if err != nil || row.State != ops.RequestFailed || !ops.HasCode(row.Error, ops.CodeToolCaller) || !strings.Contains(row.Error.Message, "not now") {
			t.Errorf("the request is %+v, %v", row, err)
		}
		if req2, _ := asks(t, l); req2.ID == req.ID {
			t.Error("it cannot ask again")
		}
		l.stop(ops.ModeGraceful) // no stop waits for a person
	})
}

// TR6: callers on the control socket are owners: where the gateway runs as root, the turn of their message may run commands on the machine.
func TestTR6_TheTurnOfAnOperatorsMessageMayRunAsRoot(t *testing.T) {
	l := start(t)
	if _, err := l.g.Do(t.Context(), ops.Command{Verb: ops.VerbMessage, Target: "cli:local", Text: "hang", By: ops.Actor{Via: "socket"}}); err != nil {
		t.Fatal(err)
	}
	l.running("cli:local")
	l.say("chat:dm:1", "1", "hang")
	l.running("chat:dm:1")
	for key, want := range map[string]bool{"cli:local": true, "chat:dm:1": false} {
		v, _ := l.g.table.Running(key)
		call := tool.Call{Session: key, Turn: v.ID + "/1", Person: v.Message.User, Role: v.Message.Role}
		if got := l.g.runsAsRoot(call); got != want {
			t.Errorf("the turn of %s may run as root: %v", key, got)
		}
	}
	l.stop(ops.ModeFast)
}
