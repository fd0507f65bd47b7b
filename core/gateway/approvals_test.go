package gateway

import (
	"strings"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/config"
	"gatewaytui/core/ops"
)

// asking is a gateway whose agent asks for what is not harmless.
func asking(s *setup) {
	s.cfg.Agent.Approvals, s.cfg.Agent.Environment = config.ApprovalsFence, config.EnvironmentLocal
	s.cfg.Limits.Turns = 1
}

// asked is the one request that waits in a session.
func (l *lab) asked(key string) (item ops.InboxItem) {
	l.t.Helper()
	l.wait("a request of "+key, func() bool {
		page, err := l.g.Inbox(l.t.Context(), ops.Query{})
		if err != nil {
			l.t.Fatal(err)
		}
		for _, i := range page.Items {
			if i.State == ops.InboxWaiting && i.Session == key {
				item = i
			}
		}
		return item.ID != ""
	})
	return item
}

func TestTR4_OtherSessionsRunWhileATurnWaitsForAPerson(t *testing.T) {
	l := start(t, asking, func(s *setup) {
		s.cfg.Agent.StallWarn.Duration, s.cfg.Agent.StallAfter.Duration = 500*time.Millisecond, time.Second
	})
	first := l.send("api:user:a", "sh: mkfifo pipe; rm pipe; echo ran")
	item := l.asked("api:user:a")
	for range 3 {
		if got := l.await(l.send("api:user:b", "hello")); got.text != "you said hello" {
			t.Fatalf("another session is answered with %+v", got)
		}
	}
	l.wait("it waits for longer than a turn may stall", func() bool { return time.Since(l.session("api:user:a").LastProgressAt.Time) > 1500*time.Millisecond })
	row := l.session("api:user:a")
	if row.State != ops.SessionWaitingApproval || row.WaitingFor != "approval "+item.ID || !strings.HasPrefix(row.Doing, "waiting for approval "+item.ID) {
		t.Errorf("the row is %+v", row)
	}
	if used := l.limitRow("limits.turns").Used; used != 0 {
		t.Errorf("the turn that waits uses %d slots", used)
	}
	answered := time.Now()
	if r := l.do(ops.Command{Verb: ops.VerbApprove, Target: strings.ToLower(item.ID)}); r.State != ops.RequestDone {
		t.Fatalf("the answer: %+v", r)
	}
	if got := l.await(first); !strings.Contains(got.text, "ran") {
		t.Errorf("it is answered with %+v", got)
	}
	t.Logf("from the answer to the end of the turn: %v", time.Since(answered))
}

func TestTR4_AResetAndAnInterruptWithdrawTheRequest(t *testing.T) {
	l := start(t, asking)
	for _, verb := range []ops.Verb{ops.VerbInterrupt, ops.VerbReset} {
		first := l.send("api:user:a", "sh: mkfifo ran; echo ran")
		item := l.asked("api:user:a")
		if r := l.do(ops.Command{Verb: verb, Target: "api:user:a"}); r.State != ops.RequestDone {
			t.Fatalf("%s: %+v", verb, r)
		}
		if got := l.await(first); got.err == nil {
			t.Errorf("%s: answered with %+v", verb, got)
		}
		l.wait("it is withdrawn", func() bool {
			page, _ := l.g.Inbox(t.Context(), ops.Query{})
			for _, i := range page.Items {
				if i.ID == item.ID {
					return i.State == ops.InboxWithdrawn
				}
			}
			return false
		})
		if _, err := l.g.Do(t.Context(), ops.Command{Verb: ops.VerbApprove, Target: item.ID}); !ops.HasCode(err, ops.CodeConflict) {
			t.Errorf("%s: a late answer: %v", verb, err)
		}
	}
	if got := l.ask("api:user:a", "sh: ls"); strings.Contains(got, "ran") && strings.Contains(got, "pipe") {
		t.Errorf("what was withdrawn ran: %s", got)
	}
}

func TestTR3_ATurnThatWaitsForNoPersonIsRefusedAndGoesOn(t *testing.T) {
	l := start(t, asking)
	in := adapter.Inbound{Adapter: "api", Session: "api:user:a", User: "x", Text: "sh: mkfifo ran", Unattended: true, Responder: make(responder, 1)}
	if _, err := l.g.intake.Receive(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	got := l.await(in.Responder.(responder))
	if !strings.Contains(got.text, "needs the approval of a person") {
		t.Errorf("it is answered with %+v", got)
	}
	page, _ := l.g.Inbox(t.Context(), ops.Query{})
	if len(page.Items) != 1 || page.Items[0].State != ops.InboxRefused {
		t.Errorf("the inbox has %+v", page.Items)
	}
}

func TestTR5_TheDrainNamesATurnThatWaitsForAPersonAsNotAwaited(t *testing.T) {
	l := start(t, asking, func(s *setup) { s.cfg.Shutdown.DrainTimeout.Duration = 20 * time.Second })
	first := l.send("api:user:a", "sh: mkfifo ran")
	item := l.asked("api:user:a")
	began := time.Now()
	report := l.stop(ops.ModeGraceful)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the stop took %v", took)
	}
	if len(report.NotAwaited) != 1 || !strings.Contains(report.NotAwaited[0].Detail, item.ID) {
		t.Errorf("not awaited were %+v", report.NotAwaited)
	}
	if got := l.await(first); !ops.HasCode(got.err, ops.CodeStopping) {
		t.Errorf("its sender reads %+v", got)
	}
}
