package gateway

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

// C12: a stop of the whole service may send the signal to a turn's tool as well, and a moment earlier than to the gateway. The
// turn is interrupted by the stop then, and its tool did not fail.
func TestC12_ASignalToAToolIsTheStopsWhereThereIsOne(t *testing.T) {
	stop := func(l *lab) {
		l.g.Stop(StopRequest{Mode: ops.ModeGraceful, Reason: "SIGTERM", By: "signal"})
	}
	term := func(l *lab, pid int) {
		if err := syscall.Kill(-pid, syscall.SIGTERM); err != nil {
			l.t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name    string
		do      func(l *lab, pid int)
		reply   string // of a turn that went on
		result  string // what the model receives of the command
		stopped bool   // the turn is interrupted by the stop
	}{
		{
			"the tool hears of it before the gateway",
			func(l *lab, pid int) { term(l, pid); stop(l) },
			"", "interrupted: the gateway is stopping", true,
		},
		{
			"the gateway hears of it before the tool",
			func(l *lab, pid int) { stop(l); term(l, pid) },
			"", "interrupted: the gateway is stopping", true,
		},
		{
			"a signal ends the tool and no stop follows",
			term, "ran: ", `"exit_code":143`, false,
		},
		{
			"an operator ends the tool while the gateway drains: that is what the turn waited for",
			func(l *lab, pid int) {
				stop(l)
				if _, err := l.g.procs.KillPID(context.Background(), pid, time.Second); err != nil {
					l.t.Fatal(err)
				}
			},
			"ran: ", `"exit_code":143`, false,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := start(t, func(s *setup) { s.cfg.Shutdown.DrainTimeout.Duration = patience })
			answered := l.send("api:user:a", "sh: exec sleep 1000")
			pid := 0
			l.wait("the command runs", func() bool {
				for _, p := range l.g.procs.SessionRows("api:user:a") {
					pid = p.PID
				}
				return pid != 0
			})
			tt.do(l, pid)
			got := l.await(answered)
			if tt.stopped && !ops.HasCode(got.err, ops.CodeStopping) || !tt.stopped && (got.err != nil || !strings.HasPrefix(got.text, tt.reply)) {
				t.Errorf("the answer is %q, %v", got.text, got.err)
			}
			stop(l)
			l.report()
			st := open(t, l.dir)
			defer func() {
				if err := st.Close(context.Background()); err != nil {
					t.Error(err)
				}
			}()
			var row store.Session
			if _, err := st.Sessions(t.Context(), func(s store.Session) error { row = s; return nil }); err != nil {
				t.Fatal(err)
			}
			if interrupted := row.State == ops.SessionInterrupted; interrupted != tt.stopped {
				t.Errorf("the session is left %s", row.State)
			}
			transcript, err := st.Since(t.Context(), row.ID, 0)
			if err != nil {
				t.Fatal(err)
			}
			var results []string
			for _, m := range transcript {
				if m.Role == "tool" {
					results = append(results, m.Content)
				}
			}
			if len(results) != 1 || !strings.Contains(results[0], tt.result) {
				t.Errorf("the model got %q, want %q", results, tt.result)
			}
		})
	}
}
