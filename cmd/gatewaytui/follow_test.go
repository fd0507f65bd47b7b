package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatewaytui/core/instance"
	"gatewaytui/core/lives"
	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
)

// phase emits a phase as the gateway does.
func (f *fake) phase(name string, state ops.StepState, elapsed int64, detail string) {
	f.emit(ops.EventShutdownPhase, name, "phase "+name+" "+string(state), map[string]any{
		"phase": ops.Phase{Name: name, State: state, ElapsedMS: elapsed, BudgetMS: 5_000, Detail: detail},
	})
}

func (f *fake) item(phase, id string, state ops.StepState) {
	f.emit(ops.EventShutdownItem, phase, "adapter "+id+" "+string(state), map[string]any{
		"phase": phase, "item": ops.Item{Kind: "adapter", ID: id, State: state, ElapsedMS: 5_000, BudgetMS: 5_000, Detail: "disconnect" + hostile},
	})
}

// followed waits until a follower was sent every event.
func (f *fake) followed(t *testing.T) {
	if !eventually.Within(func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.sent == uint64(len(f.events))
	}) {
		t.Error("the follower was not sent every event")
	}
}

// background runs a command line in the background of the test, until done gives its result.
func (l *live) background(t *testing.T, args ...string) (out *printed, interrupt context.CancelFunc, done func() result) {
	t.Helper()
	out = newPrinted()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan result, 1)
	go func() { ended <- invocation{home: l.home.Dir(), out: out}.run(t, ctx, args...) }()
	return out, cancel, func() result {
		t.Helper()
		defer cancel()
		select {
		case r := <-ended:
			r.out = out.String()
			safe(t, args, r.out)
			return r
		case <-time.After(30 * time.Second):
			t.Fatalf("%q does not end; it printed\n%s", args, out)
			return result{}
		}
	}
}

func TestWatchShowsOneLineForEachEventUntilTheGatewayIsGone(t *testing.T) {
	g := start(t, newFake())
	g.emit(ops.EventTurnStarted, "api:user:bob", "before", nil)
	g.emit(ops.EventTurnStarted, "api:user:old", "before as well", nil)
	out, _, done := g.background(t, "watch", "--after", "1")
	if err := out.await("api:user:old"); err != nil {
		t.Fatal(err)
	}
	g.emit(ops.EventTurnStarted, "api:user:alice"+hostile, "a turn began"+hostile, nil)
	g.phase("drain", ops.StepRunning, 0, "")
	g.item("adapters", "telegram", ops.StepTimedOut)
	g.phase("drain", ops.StepTimedOut, 5_000, "1 of 1 did not end in time")
	g.emit(ops.EventShutdownPhase, "sweep", "phase sweep done", map[string]any{"phase": "of another version"})
	if err := out.await("phase sweep done"); err != nil {
		t.Fatal(err)
	}
	g.leave()
	r := done().must(t, exitDone).says(t,
		"session.turn.started      api:user:alice", "a turn began", "drain       running, at most 5.0s",
		"adapters    adapter telegram timed out after 5.0s of 5.0s: disconnect", "drain       timed out after 5.0s of 5.0s: 1 of 1 did not end in time",
		"sweep  phase sweep done", "the gateway is gone",
	)
	if n := strings.Count(r.out, "\n"); n != 6 {
		t.Errorf("six events are %d lines:\n%s", n, r.out)
	}
	if strings.Contains(r.out, "bob") {
		t.Errorf("event 1 is shown after --after 1:\n%s", r.out)
	}
}

func TestWatchBeginsWithTheNextEventAndPrintsEachAsJSON(t *testing.T) {
	f := newFake()
	g := start(t, f)
	f.emit(ops.EventTurnStarted, "old", "", nil)
	out, interrupt, done := g.background(t, "watch", "--json")
	// The first event that is seen is one that came after the command: they come until one is.
	ticks := time.NewTicker(20 * time.Millisecond)
	defer ticks.Stop()
	for out.String() == "" {
		<-ticks.C
		f.emit(ops.EventTurnEnded, "new"+hostile, "", map[string]any{"turn": "t1"})
	}
	interrupt()
	r := done().must(t, exitDone)
	first, _, _ := strings.Cut(r.out, "\n")
	var got ops.Event
	if err := json.Unmarshal([]byte(first), &got); err != nil {
		t.Fatalf("%q: %v", first, err)
	}
	want := ops.Event{Seq: got.Seq, At: anHourAgo, Type: ops.EventTurnEnded, Subject: "new" + hostile, Data: ops.Raw(`{"turn":"t1"}`)}
	if d := cmp.Diff(want, got); d != "" || got.Seq < 2 {
		t.Errorf("the first line is event %d (-want +got):\n%s", got.Seq, d)
	}
}

// TestWatchGoesOnAfterACutConnection puts a relay before the socket that cuts the stream once.
func TestWatchGoesOnAfterACutConnection(t *testing.T) {
	f := newFake()
	home := newHome(t)
	upstream := filepath.Join(home.Dir(), "upstream.sock")
	defer serve(t, f, upstream)()
	l, err := net.Listen("unix", home.Socket())
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan string, 16)
	streams := make(chan net.Conn, 16)
	relayed := make(chan struct{})
	go func() {
		defer close(relayed)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go relay(c, upstream, asked, streams)
		}
	}()
	defer func() { l.Close(); <-relayed }()

	f.emit(ops.EventTurnStarted, "first", "", nil)
	g := &live{fake: f, home: home}
	out, interrupt, done := g.background(t, "watch", "--after", "0", "--json")
	if err := out.await(`"first"`); err != nil {
		t.Fatal(err)
	}
	(<-streams).Close()
	f.emit(ops.EventTurnStarted, "second", "", nil)
	if err := out.await(`"second"`); err != nil {
		t.Fatal(err)
	}
	interrupt()
	r := done().must(t, exitDone)
	if n := strings.Count(r.out, "\n"); n != 2 {
		t.Errorf("two events are %d lines:\n%s", n, r.out)
	}
	resumed := ""
	for len(asked) > 0 {
		resumed = <-asked
	}
	if !strings.Contains(resumed, "Last-Event-Id: 1\r\n") {
		t.Errorf("the last stream was asked for with\n%s", resumed)
	}
}

// relay passes one connection on, remembers what a stream was asked for with, and offers the stream for cutting.
func relay(c net.Conn, to string, asked chan<- string, streams chan<- net.Conn) {
	defer c.Close()
	server, err := net.Dial("unix", to)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		defer server.Close()
		r := bufio.NewReader(c)
		for {
			var head strings.Builder
			for !strings.HasSuffix(head.String(), "\r\n\r\n") {
				line, err := r.ReadString('\n')
				if err != nil {
					return
				}
				head.WriteString(line)
			}
			if strings.HasPrefix(head.String(), "GET /v1/events ") {
				asked <- head.String()
				streams <- c
			}
			if _, err := server.Write([]byte(head.String())); err != nil {
				return
			}
		}
	}()
	buf := make([]byte, 4096)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		if _, err := c.Write(buf[:n]); err != nil {
			return
		}
	}
}

// TestA9_WhatAStopWaitsForIsNamed: a blocker has a name, an age, a deadline, and what happens then.
func TestA9_WhatAStopWaitsForIsNamed(t *testing.T) {
	f := newFake()
	f.status.State = ops.StateStopping
	f.down = stopReport()
	f.down.Outcome = ops.ShutdownRunning
	f.down.Phases[1].State = ops.StepRunning
	f.down.Phases[1].Items = nil
	for range 13 {
		id := "chat" + strings.Repeat("x", len(f.down.Phases[1].Items))
		f.down.Phases[1].Items = append(f.down.Phases[1].Items, ops.Item{
			Kind: "adapter", ID: id, State: ops.StepRunning, ElapsedMS: 2_500, BudgetMS: 5_000, Detail: "closing" + hostile, Next: "abandoned", NextInMS: 2_500,
		})
	}
	g := start(t, f)
	out, interrupt, done := g.background(t, "watch")
	if err := out.await("and for 3 more"); err != nil {
		t.Fatal(err)
	}
	interrupt()
	r := done().must(t, exitDone).says(t, "following /srv/gw, ctrl+c ends", "adapters    waits for adapter chat, 2.5s of 5.0s: closing", "; abandoned in 2.5s")
	if n := strings.Count(r.out, "waits for adapter chat, "); n != 1 {
		t.Errorf("the same blocker is named %d times at once:\n%s", n, r.out)
	}
}

// stopping is a gateway that obeys a stop, in the background, and leaves the report that is given.
func stopping(t *testing.T, report *ops.Shutdown) *live {
	t.Helper()
	f := newFake()
	g := start(t, f)
	var gone chan struct{}
	f.do = func(ops.Command) (ops.Request, error) {
		gone = make(chan struct{})
		go func() {
			defer close(gone)
			f.phase("mark", ops.StepRunning, 0, "")
			f.phase("mark", ops.StepDone, 3, "")
			f.phase("adapters", ops.StepRunning, 0, "")
			f.item("adapters", "api", ops.StepDone)
			f.item("adapters", "telegram", ops.StepTimedOut)
			f.phase("adapters", ops.StepTimedOut, 5_000, "1 of 2 did not end in time")
			if report != nil {
				report.Life = fakeLife
				if err := (lives.Files{Dir: g.home.Dumps(), Life: fakeLife}).SaveReport(*report); err != nil {
					t.Error(err)
				}
				f.emit(ops.EventShutdownEnded, report.ID, "shutdown "+report.Outcome, map[string]any{"outcome": report.Outcome})
			}
			g.leave()
		}()
		return ops.Request{State: ops.RequestRunning, Detail: "the shutdown has begun"}, nil
	}
	t.Cleanup(func() {
		if gone != nil {
			<-gone
		}
	})
	return g
}

func TestStopWaitShowsThePhasesUntilTheGatewayIsGone(t *testing.T) {
	report := stopReport()
	report.Phases = append(report.Phases, ops.Phase{Name: "stores", State: ops.StepDone, ElapsedMS: 9, BudgetMS: 2_000})
	r := stopping(t, report).run(t, "stop", "--wait", "--yes").must(t, exitDone)
	if r.err != "systemd may start it again; to keep it down: systemctl [--user] stop UNIT\n" {
		t.Errorf("stderr has %q", r.err)
	}
	taught := "time went   adapters 5.0s (telegram: disconnect" + shownHostile + "), rest 0.0s\n" +
		"would help  shutdown.adapter_timeout = \"1s\" would have ended this stop in 1.0s instead of 5.0s; telegram was abandoned; " +
		"but a platform that needs longer is cut off, and a reply under way there waits for the next life\n" +
		"left behind not counted: the stop ended before its last count\n"
	want := "mark        running, at most 5.0s\n" +
		"mark        done after 3ms of 5.0s\n" +
		"adapters    running, at most 5.0s\n" +
		"adapters    adapter telegram timed out after 5.0s of 5.0s: disconnect" + shownHostile + "\n" +
		"adapters    timed out after 5.0s of 5.0s: 1 of 2 did not end in time\n" +
		"stores      done after 9ms of 2.0s\n" +
		"stopped     incomplete after 5.0s, exit code 0\n" + taught
	// The events of the last moments may be lost, the report is not: which of the two a line is from is of no matter,
	// but that the running phases are missing then.
	short := "mark        done after 3ms of 500ms\n" +
		"adapters    adapter telegram timed out after 5.0s of 5.0s: disconnect" + shownHostile + "\n" +
		"adapters    timed out after 5.0s of 5.0s: 1 of 1 did not end in time\n" +
		"stores      done after 9ms of 2.0s\n" +
		"stopped     incomplete after 5.0s, exit code 0\n" + taught
	if r.out != want && r.out != short {
		t.Errorf("it printed\n%s", cmp.Diff(want, r.out))
	}
}

func TestStopWaitPrintsEventsAndThenTheReportAsJSON(t *testing.T) {
	report := stopReport()
	r := stopping(t, report).run(t, "stop", "--wait", "--yes", "--json").must(t, exitDone)
	all := strings.Split(strings.TrimRight(r.out, "\n"), "\n")
	var got ops.Shutdown
	if err := json.Unmarshal([]byte(all[len(all)-1]), &got); err != nil || got.ID != "x1" || got.Outcome != ops.ShutdownIncomplete {
		t.Errorf("the last line is not a report: %v\n%s", err, r.out)
	}
	for _, line := range all[:len(all)-1] {
		var ev ops.Event
		if err := json.Unmarshal([]byte(line), &ev); err != nil || !strings.HasPrefix(string(ev.Type), "shutdown.") {
			t.Errorf("%s is not an event of the shutdown: %v", line, err)
		}
	}
}

func TestStopWaitTellsAPlannedEndFromAnother(t *testing.T) {
	tests := []struct {
		name   string
		change func(*ops.Shutdown)
		code   int
		says   string
	}{
		{"a clean one", func(s *ops.Shutdown) { s.Outcome = ops.ShutdownClean }, exitDone, "stopped     clean"},
		{"a forced one", func(s *ops.Shutdown) { s.Outcome = ops.ShutdownForced }, exitDone, "stopped     forced"},
		{"one that began gracefully and was forced", func(s *ops.Shutdown) {
			s.Mode, s.Outcome = ops.ModeImmediate, ops.ShutdownForced
			s.Escalations = []ops.Escalation{{At: ops.At(s.StartedAt.Add(3200 * time.Millisecond)), From: ops.ModeGraceful, Mode: ops.ModeImmediate, By: "uid 0"}}
		}, exitDone, "stopped     forced after 5.0s, exit code 0; graceful, forced to immediate after 3.2s by uid 0\n"},
		{"a planned restart", func(s *ops.Shutdown) { s.Restart, s.ExitCode = true, 75 }, exitDone, "exit code 75"},
		{"one that the watchdog ended", func(s *ops.Shutdown) { s.ExitCode = 70 }, exitFailed, "exit code 70, which is not that of a planned end"},
		{"one whose stores were not closed", func(s *ops.Shutdown) { s.ExitCode = 1 }, exitFailed, "exit code 1, which is not that of a planned end"},
		{"one that was killed in the middle", func(s *ops.Shutdown) { s.EndedAt = ops.Time{} }, exitFailed, "did not end its stop as planned"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			report := stopReport()
			tt.change(report)
			stopping(t, report).run(t, "stop", "--wait", "--yes").must(t, tt.code).says(t, tt.says)
		})
	}
	t.Run("one whose report could not be written", func(t *testing.T) {
		f := newFake()
		g := start(t, f)
		gone := make(chan struct{})
		f.do = func(ops.Command) (ops.Request, error) {
			go func() {
				defer close(gone)
				f.phase("surrender", ops.StepRunning, 0, "")
				f.followed(t)
				g.leave()
			}()
			return ops.Request{State: ops.RequestRunning, Detail: "the shutdown has begun"}, nil
		}
		g.run(t, "stop", "--wait", "--yes").must(t, exitFailed).says(t, "came to its last phase, surrender; no report of its end")
		<-gone
	})
	for _, tt := range []struct {
		name     string
		exitCode int
		code     int
		says     string
	}{
		{"a demo that removed its home", 0, exitDone, "stopped     clean after 1.2s, exit code 0; its home is removed, and the report with it"},
		{"a demo that removed its home after a stop that failed", 1, exitFailed, "exit code 1, which is not that of a planned end"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake()
			g := start(t, f)
			gone := make(chan struct{})
			f.do = func(ops.Command) (ops.Request, error) {
				go func() {
					defer close(gone)
					f.emit(ops.EventShutdownEnded, "s", "shutdown clean", map[string]any{"outcome": ops.ShutdownClean, "exit_code": tt.exitCode, "elapsed_ms": 1200})
					f.followed(t)
					g.leave()
					if err := os.RemoveAll(g.home.Dir()); err != nil {
						t.Error(err)
					}
				}()
				return ops.Request{State: ops.RequestRunning, Detail: "the shutdown has begun"}, nil
			}
			g.run(t, "stop", "--wait", "--yes").must(t, tt.code).says(t, tt.says)
			<-gone
		})
	}
	t.Run("one that left no report", func(t *testing.T) {
		stopping(t, nil).run(t, "stop", "--wait", "--yes").must(t, exitFailed).says(t, "did not end its stop as planned")
	})
}

func TestAnInterruptedStopWaitLetsTheStopGoOn(t *testing.T) {
	f := newFake()
	g := start(t, f)
	out, interrupt, done := g.background(t, "stop", "--wait", "--yes")
	f.phase("drain", ops.StepRunning, 0, "")
	if err := out.await("drain       running"); err != nil {
		t.Fatal(err)
	}
	interrupt()
	done().must(t, exitInterrupted).says(t, "the stop goes on")
}

func TestStopWaitIsNotOverBeforeTheHomeIsFree(t *testing.T) {
	f := newFake()
	home := newHome(t)
	lock, err := home.Acquire(instance.Record{Life: fakeLife, Control: home.Socket()})
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	closeSocket := serve(t, f, home.Socket())
	defer closeSocket()
	g := &live{fake: f, home: home}
	out, interrupt, done := g.background(t, "stop", "--wait", "--yes")
	f.phase("surrender", ops.StepRunning, 0, "")
	if err := out.await("surrender"); err != nil {
		t.Fatal(err)
	}
	if err := (lives.Files{Dir: home.Dumps(), Life: fakeLife}).SaveReport(*stopReport()); err != nil {
		t.Fatal(err)
	}
	// The socket is closed, the lock given back, the report complete: but the process lives, for it is this one.
	closeSocket()
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	interrupt()
	if r := done().must(t, exitInterrupted); strings.Contains(r.out, "stopped") {
		t.Errorf("it says that the gateway stopped while that lives:\n%s", r.out)
	}
}
