package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
)

func TestWrongCommandsAreRefusedAndNothingIsDone(t *testing.T) {
	l := start(t)
	l.ask("api:user:a", "hello")
	for _, tc := range []struct {
		name string
		cmd  ops.Command
		code ops.Code
	}{
		{"an unknown verb", ops.Command{Verb: "explode"}, ops.CodeInvalid},
		{"a reset without a session", ops.Command{Verb: ops.VerbReset}, ops.CodeInvalid},
		{"a reset of a session that is not there", ops.Command{Verb: ops.VerbReset, Target: "api:user:absent"}, ops.CodeNotFound},
		{"a kill of no number", ops.Command{Verb: ops.VerbKill, Target: "all"}, ops.CodeInvalid},
		{"a kill of pid 1", ops.Command{Verb: ops.VerbKill, Target: "1"}, ops.CodeInvalid},
		{"a kill of a process that is not ours", ops.Command{Verb: ops.VerbKill, Target: "2"}, ops.CodeNotFound},
		{"a pause of an adapter that is not there", ops.Command{Verb: ops.VerbPause, Target: "\x1b[31m"}, ops.CodeNotFound},
		{"a lever without a shutdown", ops.Command{Verb: ops.VerbExtend}, ops.CodeNotStopping},
		{"a stop in no known mode", ops.Command{Verb: ops.VerbStop, Mode: "gently"}, ops.CodeInvalid},
		{"a message to no valid session", ops.Command{Verb: ops.VerbMessage, Target: "a b", Text: "x"}, ops.CodeInvalid},
		{"an empty message", ops.Command{Verb: ops.VerbMessage, Target: "cli:local", Text: " "}, ops.CodeInvalid},
		{"an interrupt of a turn that has ended", ops.Command{Verb: ops.VerbInterrupt, Target: "api:user:a", Expect: "turn-1"}, ops.CodeConflict},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := l.g.Do(context.Background(), tc.cmd)
			if !ops.HasCode(err, tc.code) {
				t.Fatalf("got %v, want %s", err, tc.code)
			}
			if strings.Contains(err.Error(), "\x1b") {
				t.Fatalf("the error is raw: %q", err)
			}
		})
	}
	if got := l.ask("api:user:a", "still there"); got != "you said still there" {
		t.Fatalf("got %q", got)
	}
}

// B5: a message through the socket is a request with an outcome, as platform cli.
func TestAMessageOfAnOperatorIsARequestWithItsReply(t *testing.T) {
	l := start(t)
	req := l.do(ops.Command{Verb: ops.VerbMessage, Target: "cli:local", Text: "hello"})
	if req.State != ops.RequestDone || !strings.Contains(string(req.Result), `"you said hello"`) {
		t.Fatalf("the request is %+v", req)
	}
	if row := l.session("cli:local"); row.Platform != "cli" {
		t.Fatalf("the session is %+v", row)
	}
	l.wait("its audit row is there, without the text", func() bool {
		rows := l.audit()
		for _, r := range rows {
			if strings.Contains(fmt.Sprint(r), "hello") {
				t.Fatalf("the audit row holds the message: %+v", r)
			}
		}
		return len(rows) == 1 && rows[0].State == string(ops.RequestDone)
	})
	if _, err := l.g.Request(context.Background(), "nonsense", false); !ops.HasCode(err, ops.CodeNotFound) {
		t.Fatalf("an unknown request: %v", err)
	}
}

// C5: a kill says killed only when it is, and names survivors.
func TestAKillEndsTheTreeAndSaysSo(t *testing.T) {
	l := start(t)
	pid := l.job("api:user:a", "sleep 300 & setsid sleep 300 & wait")
	preview, err := l.g.Preview(context.Background(), ops.Command{Verb: ops.VerbKill, Target: fmt.Sprint(pid)})
	if err != nil || !preview.EndsWork || len(preview.Kills) != 1 {
		t.Fatalf("the preview says %+v, %v", preview, err)
	}
	l.wait("the tree is whole", func() bool {
		for _, r := range l.g.procs.Rows() {
			if r.PID == pid && r.TreeSize >= 3 {
				return true
			}
		}
		return false
	})
	req := l.do(ops.Command{Verb: ops.VerbKill, Target: fmt.Sprint(pid)})
	if req.State != ops.RequestDone || !strings.Contains(string(req.Result), `"survivors":[]`) || alive(pid) {
		t.Fatalf("the kill ended %+v, process alive %v", req, alive(pid))
	}
}

// C7: of a process that ignores TERM both steps are reported, and how many needed the second: in the answer's JSON with their
// times, in its line for people and in the audit.
func TestC7_AKillTellsItsSteps(t *testing.T) {
	l := start(t)
	pid := l.job("api:user:a", "trap '' TERM; touch armed; while :; do sleep 0.1; done")
	l.wait("it ignores TERM", func() bool {
		_, err := os.Stat(filepath.Join(l.dir, "armed"))
		return err == nil
	})
	asked := time.Now() // the grace begins with the kill, whose first look comes before TERM
	req := l.do(ops.Command{Verb: ops.VerbKill, Target: fmt.Sprint(pid)})
	var res ops.KillResult
	if err := json.Unmarshal(req.Result, &res); err != nil {
		t.Fatal(err)
	}
	grace := l.g.opts.Config.Process.KillGrace.Duration
	if res.Escalated < 1 || res.TermAt.IsZero() || res.KillAt.Before(res.TermAt.Time) || res.KillAt.Sub(asked) < grace-2*time.Millisecond { // of a time in whole milliseconds
		t.Errorf("the result is %s", req.Result)
	}
	steps := regexp.MustCompile(`SIGTERM \d\d:\d\d:\d\d\.\d{3}, SIGKILL \d\d:\d\d:\d\d\.\d{3} for [1-9] of [1-9]`)
	if !steps.MatchString(req.Detail) {
		t.Errorf("the line for people is %q", req.Detail)
	}
	l.wait("the audit tells them", func() bool {
		return slices.ContainsFunc(l.audit(), func(a store.Audit) bool { return a.ID == req.ID && steps.MatchString(a.Detail) })
	})
}

func TestAPreviewDoesNothingAndSaysAll(t *testing.T) {
	l := start(t)
	l.job("api:user:a", "sleep 300")
	l.send("api:user:a", "hang")
	l.running("api:user:a")
	l.send("api:user:a", "waits")
	p, err := l.g.Preview(context.Background(), ops.Command{Verb: ops.VerbReset, Target: "api:user:a"})
	if err != nil {
		t.Fatal(err)
	}
	if !p.EndsWork || len(p.Interrupt) != 1 || len(p.Kills) != 1 || len(p.Loses) != 1 {
		t.Fatalf("the preview of a reset is %+v", p)
	}
	p, err = l.g.Preview(context.Background(), ops.Command{Verb: ops.VerbStop, Mode: ops.ModeGraceful})
	if err != nil || len(p.WaitsFor) != 1 || len(p.Kills) != 1 || p.WorstCaseMS == 0 {
		t.Fatalf("the preview of a stop is %+v, %v", p, err)
	}
	if row := l.session("api:user:a"); row.State != ops.SessionRunning || row.Queued != 1 || row.Processes != 1 {
		t.Fatalf("after the previews the session is %+v", row)
	}
	l.ask("api:user:a", "/new")
}

// H4: status and snapshot answer at once with 5,000 sessions, a wedged agent and a shutdown that hangs.
func TestH4_StatusAnswersWhileAnythingHangs(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	l := start(t, func(s *setup) {
		s.chat.disconnect = func(context.Context) error { <-release; return nil }
		s.cfg.Shutdown.AdapterTimeout.Duration = 5 * time.Minute
	})
	for i := range 5000 {
		l.g.table.Load(session.Session{Key: fmt.Sprintf("api:user:%d", i), ID: fmt.Sprint(i), State: ops.SessionIdle, LastActivity: time.Now()})
	}
	l.send("api:user:wedged", "wedge")
	l.running("api:user:wedged")
	ask := func(when string) {
		t.Helper()
		began := time.Now()
		st, err := l.g.Status(context.Background())
		if took := time.Since(began); err != nil || took > patience/2 || st.Counts.Sessions < 5000 && when == "before" {
			t.Errorf("%s: status took %v: %+v, %v", when, took, st.Counts, err)
		}
	}
	ask("before")
	l.g.Stop(StopRequest{Mode: ops.ModeFast, Reason: "test", By: "the test"})
	l.wait("the stop hangs in the adapter", func() bool {
		s, err := l.g.Shutdown(context.Background())
		p, running := s.Running()
		return err == nil && running && p.Name == "adapters"
	})
	ask("while it hangs")
	l.do(ops.Command{Verb: ops.VerbForce})
	l.report()
}

// A platform without its credential does not keep the others down, and an operator gets a warning (E7).
func TestE7_ABrokenAdapterIsAWarningAndTheRestRuns(t *testing.T) {
	l := start(t, func(s *setup) {
		s.opts = func(o *Options) {
			o.Broken = map[string]error{"telegram": &adapter.CredentialsError{Variable: "BOT_TOKEN", Why: "it is unset or empty"}}
		}
	})
	st, err := l.g.Status(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, w := range st.Warnings {
		found = found || strings.Contains(w.Message, "BOT_TOKEN")
	}
	if !found || st.Counts.Adapters != 2 || st.Counts.AdaptersConnected != 1 {
		t.Fatalf("warnings %+v, counts %+v", st.Warnings, st.Counts)
	}
}

// HB7: what the owner is asked for a status may need the gateway, so it is asked without a lock held.
func TestHB7_AStatusHoldsNoLockWhileItAsksItsOwner(t *testing.T) {
	var g atomic.Pointer[Gateway] // nil before the test asks
	var asked sync.Map
	free := func(what string) {
		g := g.Load()
		if g == nil {
			return
		}
		locked := make(chan struct{})
		go func() {
			g.lifecycle.mu.Lock()
			close(locked)
			g.lifecycle.mu.Unlock()
		}()
		select {
		case <-locked:
			asked.Store(what, true)
		case <-time.After(patience):
			t.Errorf("%s is asked while the gateway is locked", what)
		}
	}
	l := start(t, func(s *setup) {
		s.opts = func(o *Options) {
			hostOf(o).apiListen = func() string { free("APIListen"); return "127.0.0.1:8642" }
			hostOf(o).metricsListen = func() (string, ops.Warning) { free("MetricsListen"); return "127.0.0.1:9642", ops.Warning{} }
			hostOf(o).demo = func() *ops.Demo { free("Demo"); return nil }
		}
	})
	g.Store(l.g)
	st, err := l.g.Status(context.Background())
	g.Store(nil)
	if err != nil || st.APIListen != "127.0.0.1:8642" || st.MetricsListen != "127.0.0.1:9642" {
		t.Fatalf("the status is %+v, %v", st, err)
	}
	for _, what := range []string{"APIListen", "MetricsListen", "Demo"} {
		if _, ok := asked.Load(what); !ok {
			t.Errorf("%s was not asked", what)
		}
	}
}

// An operator's pause holds until the operator ends it, and a diagnosis names what runs without its text.
func TestAnAdapterIsPausedAndResumed(t *testing.T) {
	l := start(t)
	l.do(ops.Command{Verb: ops.VerbPause, Target: "chat"})
	p, err := l.g.Adapters(context.Background(), ops.Query{})
	if err != nil || p.Items[0].State != ops.AdapterPaused {
		t.Fatalf("after the pause: %+v, %v", p.Items, err)
	}
	l.do(ops.Command{Verb: ops.VerbResume, Target: "chat"})
	l.wait("it is connected again", func() bool { n, _ := l.g.adapters.Counts(); return n == 1 })
}

func TestADiagnosisNamesWhatRunsAndHoldsNoText(t *testing.T) {
	l := start(t)
	l.send("api:user:a", "hang")
	l.running("api:user:a")
	req := l.do(ops.Command{Verb: ops.VerbDiagnose})
	files, err := filepath.Glob(filepath.Join(l.dir, "diagnosis-*"))
	if err != nil || len(files) != 1 || req.State != ops.RequestDone || !strings.Contains(req.Detail, files[0]) {
		t.Fatalf("the request is %+v, files %v", req, files)
	}
	text := read(t, files[0])
	for _, want := range []string{"api:user:a", "== goroutines", "== sockets", "== host\nload ", "adapter", "model call"} {
		if !strings.Contains(text, want) {
			t.Errorf("the diagnosis does not hold %q", want)
		}
	}
	l.ask("api:user:a", "/stop")
}
