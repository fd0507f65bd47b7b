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
		rows, err := l.g.recovery.Store().AuditRows(context.Background(), 5)
		if err != nil {
			t.Fatal(err)
		}
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
		rows, err := l.g.recovery.Store().AuditRows(context.Background(), 10)
		return err == nil && slices.ContainsFunc(rows, func(a store.Audit) bool { return a.ID == req.ID && steps.MatchString(a.Detail) })
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

// Pages of any size hold every row once, running ones first.
func TestPagesHoldEveryRowOnce(t *testing.T) {
	l := start(t)
	for i := range 7 {
		l.ask(fmt.Sprintf("api:user:%d", i), "hello")
	}
	l.send("api:user:3", "hang")
	l.running("api:user:3")
	seen := map[string]int{}
	var first string
	for q := (ops.Query{Limit: 3}); ; {
		p, err := l.g.Sessions(context.Background(), q)
		if err != nil || len(p.Items) > 3 {
			t.Fatalf("page %+v, %v", p, err)
		}
		for _, s := range p.Items {
			if first == "" {
				first = s.Key
			}
			seen[s.Key]++
		}
		if q.Cursor = p.Next; p.Next == "" {
			break
		}
	}
	if len(seen) != 7 || first != "api:user:3" {
		t.Fatalf("the pages hold %v, first %s", seen, first)
	}
	for key, n := range seen {
		if n != 1 {
			t.Errorf("%s is %d times in the pages", key, n)
		}
	}
	p, err := l.g.Sessions(context.Background(), ops.Query{Filter: "API:USER:5"})
	if err != nil || len(p.Items) != 1 || p.Items[0].Key != "api:user:5" {
		t.Fatalf("filtered: %+v, %v", p.Items, err)
	}
	if _, err := l.g.Sessions(context.Background(), ops.Query{Cursor: "nonsense"}); !ops.HasCode(err, ops.CodeInvalid) {
		t.Fatalf("an invalid cursor: %v", err)
	}
	if _, err := l.g.Agents(context.Background(), ops.Query{Cursor: "api:user:gone"}); !ops.HasCode(err, ops.CodeConflict) {
		t.Fatalf("a cursor of an agent that is gone: %v", err)
	}
	if _, err := l.g.Sessions(context.Background(), ops.Query{Filter: "stat:running"}); !ops.HasCode(err, ops.CodeInvalid) || !strings.Contains(err.Error(), "state:") {
		t.Fatalf("a filter with an unknown key: %v", err)
	}
	for filter, want := range map[string]int{"state:running": 1, "!state:running": 6, "state:running !api:user:3": 0, "~apsr user": 7} {
		if p, err := l.g.Sessions(context.Background(), ops.Query{Filter: filter}); err != nil || len(p.Items) != want {
			t.Errorf("%q picks %d sessions, want %d: %v", filter, len(p.Items), want, err)
		}
	}
	if p, err := l.g.Sessions(context.Background(), ops.Query{Key: "api:user:5"}); err != nil || len(p.Items) != 1 || p.Items[0].Key != "api:user:5" {
		t.Fatalf("one by its key: %+v, %v", p.Items, err)
	}
	if p, err := l.g.Sessions(context.Background(), ops.Query{Key: "api:user:"}); err != nil || len(p.Items) != 0 {
		t.Fatalf("a key that no session has: %+v, %v", p.Items, err)
	}
	l.ask("api:user:3", "/stop")
}

// Events can be resumed, and end with the gateway.
func TestEventsAreResumedWhereTheyWereLeftAndEndWithTheGateway(t *testing.T) {
	l := start(t)
	l.ask("api:user:a", "one")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var last uint64
	for e, err := range l.g.Events(ctx, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Seq != last+1 {
			t.Fatalf("event %d follows %d", e.Seq, last)
		}
		last = e.Seq
		if e.Type == ops.EventTurnEnded {
			break
		}
	}
	ended := make(chan []ops.Event, 1)
	go func() {
		var all []ops.Event
		for e := range l.g.Events(ctx, last) {
			all = append(all, e)
		}
		ended <- all
	}()
	l.ask("api:user:a", "two")
	l.stop(ops.ModeGraceful)
	all := <-ended
	if ctx.Err() != nil {
		t.Fatal("the events did not end with the gateway")
	}
	if len(all) == 0 || all[0].Seq != last+1 {
		t.Fatalf("resumed after %d with %+v", last, all)
	}
	kinds := map[ops.EventType]int{}
	for _, e := range all {
		kinds[e.Type]++
	}
	over := 0
	for _, e := range all {
		if e.Type == ops.EventShutdownEnded {
			break
		}
		if change, ok := ops.PayloadOf[ops.PhaseChange](e); ok && change.Phase.State.Over() {
			over++
		}
	}
	if over != 11 {
		t.Fatalf("%d phases are seen to end before the end of the shutdown, want all but the last", over)
	}
	if kinds[ops.EventTurnStarted] != 1 || kinds[ops.EventShutdownEnded] != 1 || kinds[ops.EventShutdownPhase] < 12 {
		t.Fatalf("the events were %v", kinds)
	}
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

// How an earlier life ended is read from what it left (DESIGN.md, 7).
func TestTheLastEndIsClassified(t *testing.T) {
	for _, tc := range []struct {
		name    string
		prepare func(o *Options)
		want    ops.Outcome
		phase   string
		stop    string
	}{
		{"neither marker nor report: it crashed", func(*Options) {}, ops.OutcomeCrashed, "", ""},
		{"a marker alone: it was cut short", func(o *Options) { o.LifeBefore = "the-life-before" }, ops.OutcomeCutShort, "", ""},
		{"a report that was still running: it was cut short in that phase", func(o *Options) {
			hostOf(o).lastReport = func(string) (ops.Shutdown, bool, error) {
				return ops.Shutdown{ID: "s", Life: "the-life-before", Outcome: ops.ShutdownRunning, Phases: []ops.Phase{{Name: "drain", State: ops.StepRunning}}}, true, nil
			}
		}, ops.OutcomeCutShort, "drain", ""},
		{"a report that came to its end: it was clean", func(o *Options) {
			hostOf(o).lastReport = func(string) (ops.Shutdown, bool, error) {
				return ops.Shutdown{ID: "s", Life: "the-life-before", Outcome: ops.ShutdownClean, EndedAt: ops.At(time.Now())}, true, nil
			}
		}, ops.OutcomeClean, "", ""},
		{"a stop that was forced came to its end, and is said to be forced (A11)", func(o *Options) {
			hostOf(o).lastReport = func(string) (ops.Shutdown, bool, error) {
				return ops.Shutdown{ID: "s", Life: "the-life-before", Outcome: ops.ShutdownForced, EndedAt: ops.At(time.Now())}, true, nil
			}
		}, ops.OutcomeClean, "", ops.ShutdownForced},
		{"a sweep that left a process is not a clean end (A11)", func(o *Options) {
			hostOf(o).lastReport = func(string) (ops.Shutdown, bool, error) {
				return ops.Shutdown{ID: "s", Life: "the-life-before", Outcome: ops.ShutdownIncomplete, EndedAt: ops.At(time.Now()), Phases: []ops.Phase{{Name: "sweep", State: ops.StepFailed}}}, true, nil
			}
		}, ops.OutcomeCutShort, "sweep", ops.ShutdownIncomplete},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			first := start(t, func(s *setup) { s.dir = dir })
			row := first.g.recovery.Row()
			row.ID = "the-life-before"
			first.stop(ops.ModeFast)
			crash(t, dir, row)
			l := start(t, func(s *setup) { s.dir, s.opts = dir, tc.prepare })
			st, err := l.g.Status(context.Background())
			if err != nil || st.LastEnd == nil {
				t.Fatalf("status: %+v, %v", st, err)
			}
			if st.LastEnd.Outcome != tc.want || st.LastEnd.Phase != tc.phase || st.LastEnd.Stop != tc.stop || st.LastEnd.RSSBytes < 1<<20 {
				t.Fatalf("the last end is %+v, want %s %q %q, with what it kept resident", st.LastEnd, tc.want, tc.phase, tc.stop)
			}
			h, err := l.g.History(context.Background(), ops.Query{})
			if err != nil || len(h.Items) != 3 || h.Items[0].Outcome != ops.OutcomeRunning || h.Items[1].Outcome != tc.want {
				t.Fatalf("history: %+v, %v", h.Items, err)
			}
		})
	}
}

// A filter and a cursor together miss no life and show none twice; a life without an end says when it was last seen, by its
// heartbeat or, where that is later, by its stop's report.
func TestHistoryIsFilteredPagedAndSaysWhenALifeWasLastSeen(t *testing.T) {
	dir := t.TempDir()
	first := start(t, func(s *setup) { s.dir = dir })
	row := first.g.recovery.Row()
	first.stop(ops.ModeFast)
	began := time.Now().Add(-time.Hour).UTC().Truncate(time.Millisecond)
	for i := range 10 {
		row.ID, row.Outcome, row.Reason = fmt.Sprintf("old-%d", i), ops.OutcomeCrashed, "a test"
		if i < 3 || i == 5 || i == 6 { // now few, now many in what is read at once
			row.Reason = "an Upgrade"
		}
		row.StartedAt, row.HeartbeatAt = began, began.Add(time.Minute)
		crash(t, dir, row)
	}
	row.ID, row.Outcome, row.Reason = "cut", ops.OutcomeRunning, ""
	crash(t, dir, row)
	reported := time.Now().UTC().Truncate(time.Millisecond)
	l := start(t, func(s *setup) {
		s.dir, s.opts = dir, func(o *Options) {
			hostOf(o).lastReport = func(string) (ops.Shutdown, bool, error) {
				return ops.Shutdown{ID: "s", Life: "cut", Outcome: ops.ShutdownRunning, StartedAt: ops.At(reported), ElapsedMS: 60_000}, true, nil
			}
		}
	})
	var got []string
	q := ops.Query{Limit: 2, Filter: "UPGRADE"}
	for {
		p, err := l.g.History(context.Background(), q)
		if err != nil || len(p.Items) > q.Limit {
			t.Fatalf("%d lives, %v", len(p.Items), err)
		}
		for _, life := range p.Items {
			got = append(got, life.Life)
			if want := began.Add(time.Minute); !life.LastSeenAt.Equal(want) {
				t.Errorf("%s was last seen at %s, want its heartbeat at %s", life.Life, life.LastSeenAt, want)
			}
		}
		if q.Cursor = p.Next; q.Cursor == "" {
			break
		}
	}
	if want := []string{"old-6", "old-5", "old-2", "old-1", "old-0"}; !slices.Equal(got, want) {
		t.Errorf("the filter found %q, want %q", got, want)
	}
	cut, err := l.g.History(context.Background(), ops.Query{Filter: "cut"})
	if err != nil || len(cut.Items) != 1 || !cut.Items[0].LastSeenAt.Equal(reported.Add(time.Minute)) {
		t.Errorf("the life that was cut short is %+v, %v; want one that was last seen at its report's last word", cut.Items, err)
	}
	if _, err := l.g.History(context.Background(), ops.Query{Cursor: "x"}); !ops.HasCode(err, ops.CodeInvalid) {
		t.Errorf("an unknown cursor is answered with %v", err)
	}
}

// A turn that a crash cut off is interrupted, and the model learns of it at the next message; with --no-resume it does not.
func TestTheNextTurnLearnsOfACrashedOne(t *testing.T) {
	for _, noResume := range []bool{false, true} {
		t.Run(fmt.Sprintf("no resume %v", noResume), func(t *testing.T) {
			dir := t.TempDir()
			first := start(t, func(s *setup) { s.dir = dir })
			first.ask("api:user:a", "hello")
			id := first.session("api:user:a").ID
			first.stop(ops.ModeFast)
			interruptedTurn(t, dir, "api:user:a", id)
			notes := make(chan string, 1)
			l := start(t, func(s *setup) {
				s.dir, s.opts = dir, func(o *Options) { o.NoResume = noResume }
				s.model = notesTo(notes)
			})
			if row := l.session("api:user:a"); row.ID != id {
				t.Fatalf("the session is %+v, want id %s", row, id)
			}
			l.ask("api:user:a", "go on")
			if got := strings.Contains(<-notes, "interrupted"); got == noResume {
				t.Fatalf("the model learned of the interruption: %v", got)
			}
		})
	}
}

// A snapshot has the first sessions of the order and says what it left out; a page goes on after them; and a filter that
// matches little ends in bounded pages.
func TestASnapshotIsBoundedAndItsRestIsInPages(t *testing.T) {
	l := start(t)
	const n = ops.MaxScan + 2000
	for i := range n {
		l.g.table.Load(session.Session{Key: fmt.Sprintf("api:user:%d", i), ID: fmt.Sprint(i), State: ops.SessionIdle, LastActivity: time.Now().Add(-time.Duration(i) * time.Second)})
	}
	s, err := l.g.Snapshot(context.Background())
	if err != nil || len(s.Sessions) != ops.SnapshotSessions || s.Omitted == nil || s.Omitted.Sessions != n-ops.SnapshotSessions {
		t.Fatalf("the snapshot has %d sessions and left out %+v, %v", len(s.Sessions), s.Omitted, err)
	}
	p, err := l.g.Sessions(context.Background(), ops.Query{Limit: 2, Cursor: s.Omitted.Next})
	if err != nil || len(p.Items) != 2 || p.Items[0].Key != fmt.Sprintf("api:user:%d", ops.SnapshotSessions) {
		t.Fatalf("after the snapshot come %+v, %v", p.Items, err)
	}
	s, err = l.g.Snapshot(context.Background(), ops.Most{Table: ops.TableSessions, Rows: 3}, ops.Most{Table: ops.TableProcesses})
	if err != nil || len(s.Sessions) != 3 || s.Processes == nil || s.Omitted.Sessions != n-3 {
		t.Fatalf("with a bound of 3 the snapshot has %d sessions, %v", len(s.Sessions), err)
	}
	last := ops.Query{Filter: fmt.Sprintf("key:%d", n-1)}
	p, err = l.g.Sessions(context.Background(), last)
	if err != nil || len(p.Items) != 0 || p.Scanned != ops.MaxScan || p.Next == "" {
		t.Fatalf("a filter for the last of all: %d rows, %d looked at, next %q, %v", len(p.Items), p.Scanned, p.Next, err)
	}
	last.Cursor = p.Next
	p, err = l.g.Sessions(context.Background(), last)
	if err != nil || len(p.Items) != 1 || p.Scanned != 0 || p.Next != "" {
		t.Fatalf("its second page: %+v, %d looked at, next %q, %v", p.Items, p.Scanned, p.Next, err)
	}
}
