package gateway

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/conversation"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/shutdown"
)

// alive reports whether a process is there and no zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	text := string(stat)
	after := text[strings.LastIndex(text, ")")+1:]
	return !strings.HasPrefix(strings.TrimSpace(after), "Z")
}

// job starts a background process through the agent of key and returns its pid.
func (l *lab) job(key, command string) int {
	l.t.Helper()
	l.ask(key, "bg: "+command)
	pid := 0
	l.wait("the process of "+key+" is tracked", func() bool {
		for _, p := range l.g.procs.SessionRows(key) {
			pid = p.PID
			return true
		}
		return false
	})
	return pid
}

func phaseOf(t *testing.T, s ops.Shutdown, name string) ops.Phase {
	t.Helper()
	for _, p := range s.Phases {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("the report has no phase %s: %+v", name, s)
	return ops.Phase{}
}

// S1: on the drain-timeout path the trees are gone before the first disconnect begins.
func TestS1_TreesDieBeforeAnyAdapterDisconnects(t *testing.T) {
	var pid atomic.Int64
	var aliveAtDisconnect atomic.Bool
	l := start(t, func(s *setup) {
		s.chat.disconnect = func(context.Context) error {
			aliveAtDisconnect.Store(alive(int(pid.Load())))
			return nil
		}
	})
	pid.Store(int64(l.job("api:user:a", "trap '' TERM; while :; do sleep 1; done")))
	l.send("api:user:b", "hang")
	l.running("api:user:b")
	report := l.stop(ops.ModeGraceful)
	if got := phaseOf(t, report, "drain").State; got != ops.StepTimedOut {
		t.Fatalf("the drain ended %s, want timed_out", got)
	}
	if got := phaseOf(t, report, "reap").State; got != ops.StepDone {
		t.Fatalf("the reap ended %s, want done: %+v", got, phaseOf(t, report, "reap"))
	}
	if aliveAtDisconnect.Load() {
		t.Fatal("the tree was alive when the adapter was disconnected")
	}
	if alive(int(pid.Load())) {
		t.Fatalf("process %d outlives the gateway", pid.Load())
	}
}

// S1: the catch-all also runs when the drain succeeded, and ends what is started during teardown.
func TestS1_TheSweepCatchesWhatIsStartedDuringTeardown(t *testing.T) {
	var l *lab
	late := make(chan int, 1)
	l = start(t, func(s *setup) {
		s.chat.disconnect = func(ctx context.Context) error {
			p, err := l.spawn(ctx)
			if err != nil {
				return err
			}
			late <- p
			return nil
		}
	})
	before := l.job("api:user:a", "sleep 300")
	report := l.stop(ops.ModeGraceful)
	if got := phaseOf(t, report, "reap"); got.State != ops.StepSkipped {
		t.Fatalf("after a drain that succeeded the reap is %s, want skipped with a reason: %+v", got.State, got)
	}
	select {
	case pid := <-late:
		if alive(pid) {
			t.Fatalf("process %d, started during teardown, outlives the gateway", pid)
		}
	default:
		t.Fatalf("nothing was started during teardown: %+v", phaseOf(t, report, "adapters"))
	}
	if alive(before) {
		t.Fatalf("process %d outlives the gateway", before)
	}
	if report.Outcome != ops.ShutdownClean {
		t.Fatalf("the stop was %s: %+v", report.Outcome, report.Phases)
	}
}

// S3, K5: a task is never lost while it runs, leaves the set when it ends, and is cancelled on stop.
func TestS3_BackgroundWorkIsTrackedAndCancelledOnStop(t *testing.T) {
	l := start(t)
	l.say("chat:dm:1", "1", "/background hang")
	l.wait("the task is on the list", func() bool {
		rows := l.g.background.Rows(time.Now())
		for _, r := range rows {
			if r.Name == conversation.BackgroundTask && r.Session == "chat:dm:1" {
				return true
			}
		}
		return false
	})
	l.say("chat:dm:2", "2", "/background hello")
	l.wait("the reply of a task that ends comes", func() bool {
		for _, m := range l.chat.messages() {
			if m == "2: you said hello" {
				return true
			}
		}
		return false
	})
	l.wait("it leaves the set", func() bool { return l.g.background.Count("chat:dm:2", conversation.BackgroundTask) == 0 })
	l.stop(ops.ModeFast)
	if left := l.g.background.Rows(time.Now()); len(left) != 0 {
		t.Fatalf("after the stop the set holds %+v", left)
	}
}

// HB5: two tasks of one session and one name are two items, each with an id that a lever can name.
func TestEveryBackgroundTaskOfAStopHasItsOwnNameForTheLevers(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	l := start(t)
	for range 2 {
		l.g.background.Start(context.Background(), conversation.BackgroundTask, "chat:dm:1", func(context.Context) { <-hold })
	}
	l.g.Stop(StopRequest{Mode: ops.ModeFast, Reason: "test", By: "the test"})
	var tasks []ops.Item
	l.wait("the stop waits for both tasks", func() bool {
		run := l.g.lifecycle.Run()
		if run == nil {
			return false
		}
		tasks = slices.DeleteFunc(run.Report().Blockers(), func(it ops.Item) bool { return it.Kind != "task" })
		return len(tasks) == 2
	})
	if tasks[0].Key() == tasks[1].Key() || !strings.HasPrefix(tasks[0].ID, "bg-") {
		t.Fatalf("the items are %q and %q", tasks[0].Key(), tasks[1].Key())
	}
	if !strings.Contains(tasks[0].Detail, conversation.BackgroundTask) || !strings.Contains(tasks[0].Detail, "chat:dm:1") {
		t.Errorf("the detail is %q, which does not say what runs", tasks[0].Detail)
	}
	if _, err := l.g.Do(context.Background(), ops.Command{Verb: ops.VerbSkip, Phase: shutdown.PhaseBackground, Item: tasks[1].Key()}); err != nil {
		t.Fatal(err)
	}
	states := map[string]ops.StepState{}
	for _, it := range phaseOf(t, l.report(), shutdown.PhaseBackground).Items {
		states[it.Key()] = it.State
	}
	if states[tasks[0].Key()] != ops.StepTimedOut || states[tasks[1].Key()] != ops.StepSkipped {
		t.Fatalf("the tasks ended %v; the lever was for %s alone", states, tasks[1].Key())
	}
}

// S4: a stopped gateway sends nothing more, even if a worker goes on.
func TestS4_AStoppedGatewaySendsNothingMore(t *testing.T) {
	release := make(chan struct{})
	l := start(t, func(s *setup) {
		s.model = script(func(context.Context, model.Request) (model.Response, error) {
			<-release
			return says("too late"), nil
		})
	})
	l.say("chat:dm:1", "1", "wedge")
	l.running("chat:dm:1")
	l.stop(ops.ModeGraceful)
	at := len(l.chat.messages())
	close(release)
	l.g.conversations.Wait()
	for _, m := range l.chat.messages()[at:] {
		t.Errorf("after its end the gateway sent %q", m)
	}
}

// A5, A6: the drain waits neither for the turn that asked for the stop nor for one that stalled, and says so.
func TestA5_A6_TheDrainLeavesOutTheAskerAndTheStalled(t *testing.T) {
	l := start(t, func(s *setup) {
		s.cfg.Agent.StallWarn.Duration = 200 * time.Millisecond
		s.cfg.Agent.StallAfter.Duration = time.Hour
		s.cfg.Shutdown.DrainTimeout.Duration = 30 * time.Second
	})
	l.send("api:user:stalled", "hang")
	l.wait("it stalled", func() bool { return l.session("api:user:stalled").State == ops.SessionStalled })
	l.send("api:user:asker", "hang")
	l.running("api:user:asker")
	began := time.Now()
	l.g.Stop(StopRequest{Mode: ops.ModeGraceful, Reason: "asked by an agent", By: "the agent", Asker: "api:user:asker"})
	report := l.report()
	if took := time.Since(began); took > 15*time.Second {
		t.Fatalf("the stop took %v: it waited for what it must not wait for", took)
	}
	out := map[string]string{}
	for _, it := range report.NotAwaited {
		out[it.ID] = it.Detail
	}
	if !strings.Contains(out["api:user:asker"], "asked") || !strings.Contains(out["api:user:stalled"], "stalled") {
		t.Fatalf("not awaited: %+v, want both named with why", report.NotAwaited)
	}
}

// A18, E12, J11: once the stop has begun nothing new is taken, and the sender of a waiting message gets an error.
func TestA18_AStopTakesNothingNewAndTellsThoseWhoWait(t *testing.T) {
	l := start(t, func(s *setup) { s.cfg.Shutdown.DrainTimeout.Duration = 30 * time.Second })
	l.send("api:user:a", "hang")
	l.running("api:user:a")
	waits := l.send("api:user:a", "waits")
	l.g.Stop(StopRequest{Mode: ops.ModeGraceful, Reason: "test", By: "the test"})
	if got := l.await(waits); !ops.HasCode(got.err, ops.CodeStopping) {
		t.Fatalf("the waiting message was answered with %+v, want stopping", got)
	}
	_, err := l.g.intake.Receive(context.Background(), adapter.Inbound{Adapter: "chat", Session: "api:user:b", Text: "x", Responder: make(responder, 1)})
	if !ops.HasCode(err, ops.CodeStopping) {
		t.Fatalf("a message during the stop got %v, want stopping", err)
	}
	l.stop(ops.ModeFast)
}

// A12, J10: a stop that is asked for again joins the running one and makes it stronger; there is one id and one shutdown.
func TestAStopAskedForAgainJoinsAndEscalates(t *testing.T) {
	l := start(t, func(s *setup) { s.cfg.Shutdown.DrainTimeout.Duration = time.Minute })
	l.send("api:user:a", "hang")
	l.running("api:user:a")
	id, began := l.g.Stop(StopRequest{Mode: ops.ModeGraceful, Reason: "first", By: "the test"})
	if !began {
		t.Fatal("the first stop did not begin")
	}
	l.wait("it drains", func() bool {
		s, err := l.g.Shutdown(context.Background())
		p, running := s.Running()
		return err == nil && running && p.Name == "drain"
	})
	second, began := l.g.Stop(StopRequest{Mode: ops.ModeFast, Reason: "second", By: "the test"})
	if began || second != id {
		t.Fatalf("the second stop began %v as %s, want it to join %s", began, second, id)
	}
	report := l.report()
	if report.Mode != ops.ModeFast || report.Reason != "first" {
		t.Fatalf("the report says mode %s, reason %q", report.Mode, report.Reason)
	}
	outcome := ""
	for e := range l.g.Events(context.Background(), 0) {
		if e.Type == ops.EventShutdownEnded {
			end, _ := ops.PayloadOf[ops.ShutdownEnd](e)
			outcome = end.Outcome
		}
	}
	if outcome != report.Outcome {
		t.Fatalf("followers get %q, the report says %q", outcome, report.Outcome)
	}
}

// The levers act on the one item that blocks, while the gateway stops (J10).
func TestTheLeversActOnWhatBlocks(t *testing.T) {
	l := start(t, func(s *setup) { s.cfg.Shutdown.DrainTimeout.Duration = time.Minute })
	l.send("api:user:a", "hang")
	l.send("api:user:b", "hang")
	l.running("api:user:a")
	l.running("api:user:b")
	if _, err := l.g.Do(context.Background(), ops.Command{Verb: ops.VerbSkip}); !ops.HasCode(err, ops.CodeNotStopping) {
		t.Fatalf("skip without a shutdown: %v", err)
	}
	l.g.Stop(StopRequest{Mode: ops.ModeGraceful, Reason: "test", By: "the test"})
	blockers := func() []string {
		s, err := l.g.Shutdown(context.Background())
		if err != nil {
			return nil
		}
		var ids []string
		for _, b := range s.Blockers() {
			if b.Kind == "turn" {
				ids = append(ids, b.ID)
			}
		}
		return ids
	}
	l.wait("both turns block", func() bool { return len(blockers()) == 2 })
	budget := func() int64 {
		s, err := l.g.Shutdown(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return phaseOf(t, s, "drain").BudgetMS
	}
	before := budget()
	if _, err := l.g.Do(context.Background(), ops.Command{Verb: ops.VerbSkip, Phase: "drian"}); !ops.HasCode(err, ops.CodeInvalid) {
		t.Fatalf("skip of no phase: %v", err)
	}
	if got := l.do(ops.Command{Verb: ops.VerbExtend, ByMS: 5000}); got.State != ops.RequestDone {
		t.Fatalf("extend: %+v", got)
	}
	l.wait("the drain's budget has grown by 5000 ms", func() bool { return budget()-before == 5000 })
	if got := l.do(ops.Command{Verb: ops.VerbExtend, Item: "api:user:b", ByMS: 2000}); got.State != ops.RequestDone {
		t.Fatalf("extend one item: %+v", got)
	}
	if got := l.do(ops.Command{Verb: ops.VerbSkip, Item: "api:user:a"}); got.State != ops.RequestDone {
		t.Fatalf("skip: %+v", got)
	}
	l.wait("one turn blocks", func() bool { b := blockers(); return len(b) == 1 && b[0] == "api:user:b" })
	l.do(ops.Command{Verb: ops.VerbForce})
	if report := l.report(); report.Outcome == ops.ShutdownRunning || report.ExitCode != 0 {
		t.Fatalf("after force: %s, exit code %d", report.Outcome, report.ExitCode)
	}
}

// S17, S18, B5, H11: every end is on record for the next life: who asked, why, how it went.
func TestS17_S18_TheNextLifeOpensTheStoreAndKnowsHowTheLastEnded(t *testing.T) {
	dir := t.TempDir()
	first := start(t, func(s *setup) { s.dir = dir })
	first.ask("api:user:a", "hello")
	id := first.session("api:user:a").ID
	if first.marked.Load() != nil {
		t.Fatal("the marker was written before any stop")
	}
	req := first.do(ops.Command{Verb: ops.VerbDrain, Reason: "a reason to find"})
	first.stop(ops.ModeGraceful)
	if first.marked.Load() == nil {
		t.Fatal("the stop wrote no marker")
	}
	second := start(t, func(s *setup) { s.dir = dir })
	st, err := second.g.Status(context.Background())
	if err != nil || st.LastEnd == nil || st.LastEnd.Outcome != ops.OutcomeClean {
		t.Fatalf("the next life says of the last end %+v, %v", st.LastEnd, err)
	}
	if row := second.session("api:user:a"); row.ID != id {
		t.Fatalf("the session is %+v, want id %s again", row, id)
	}
	if got := second.ask("api:user:a", "again"); got != "you said again" {
		t.Fatalf("got %q", got)
	}
	var verbs []string
	for _, r := range second.audit() {
		verbs = append(verbs, r.Verb+" "+r.Reason+" "+r.State)
		if r.ID == req.ID && r.Reason != "a reason to find" {
			t.Errorf("the drain's audit row is %+v", r)
		}
	}
	if all := strings.Join(verbs, "\n"); !strings.Contains(all, "drain a reason to find done") || !strings.Contains(all, "stop test") {
		t.Fatalf("audit rows:\n%s", all)
	}
}

// A stop that is asked for before the start is over ends the start.
func TestAStopDuringTheStartEndsIt(t *testing.T) {
	l := start(t)
	l.stop(ops.ModeGraceful)
	g, err := New(l.g.opts)
	if err != nil {
		t.Fatal(err)
	}
	g.Stop(StopRequest{Mode: ops.ModeGraceful, Reason: "at once", By: "the test"})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	end, err := g.Run(ctx)
	if err != nil || ctx.Err() != nil || end.Report == nil || end.ExitCode != 0 {
		t.Fatalf("the run ended %+v, %v, want a planned stop", end, err)
	}
}

// A8: the owner of the gateway learns the exit code once the stop has run, before what may still hang.
func TestA8_TheOwnerLearnsThatTheStopIsOver(t *testing.T) {
	over := make(chan int, 2)
	l := start(t, func(s *setup) { s.opts = func(o *Options) { hostOf(o).over = func(code int) { over <- code } } })
	l.g.Stop(StopRequest{Mode: ops.ModeFast, Reason: "test", By: "the test", Restart: true})
	l.report()
	if len(over) != 1 {
		t.Fatalf("it received %d codes", len(over))
	}
	if code := <-over; code != ops.ExitRestart || l.end.ExitCode != code {
		t.Errorf("it received %d, and the life ended with %d", code, l.end.ExitCode)
	}
}
