package gateway

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"gatewaytui/core/config"
	"gatewaytui/core/ops"
	"gatewaytui/core/store"
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
