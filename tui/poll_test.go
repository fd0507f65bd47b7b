package tui

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

var errGone = &ops.Error{Code: ops.CodeUnavailable, Message: "no gateway runs here"}

func (g *gateway) looked() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.looks
}

// live runs a console's loop in virtual time, without a terminal.
func live(t *testing.T, g ops.Console, o Options) *loop {
	t.Helper()
	l := &loop{m: nil, msgs: make(chan func(*model))}
	ctx, cancel := context.WithCancel(context.Background())
	tasks := newTasks(ctx)
	l.m = newModel(g, tasks, o)
	l.done = make(chan struct{})
	go l.run(ctx)
	t.Cleanup(func() {
		cancel()
		<-l.done
		tasks.end(time.Minute)
	})
	return l
}

func TestAnIdleGatewayIsNotAskedForItsRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		g.snap.Counts.RunningTurns, g.snap.Counts.Processes = 0, 0
		live(t, g, Options{})
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := g.looked(); n != 1 {
			t.Fatalf("%d snapshots in an idle minute, promised the first alone", n)
		}
	})
}

func TestAChangeIsSeenAtOnceAndABurstTenTimesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		l := live(t, g, Options{})
		time.Sleep(10 * time.Second)
		before := g.looked()
		g.change(func(g *gateway) { g.snap.Sessions[1].State = ops.SessionRunning })
		g.emit(ops.Event{Type: ops.EventTurnStarted, Subject: "cli:local"})
		time.Sleep(150 * time.Millisecond)
		l.see(func(m *model) {
			if m.snap.Sessions[1].State != ops.SessionRunning {
				t.Error("the change is not shown after 150 ms")
			}
		})
		for range 1000 {
			g.emit(ops.Event{Type: ops.EventTurnProgress, Subject: "cli:local"})
			time.Sleep(5 * time.Millisecond)
		}
		if n := g.looked() - before; n < 20 || n > 55 {
			t.Fatalf("%d snapshots in 5 s of events, promised about ten a second", n)
		}
	})
}

func TestAGatewayThatDoesNotAnswerIsStaleAndNeverAskedTwiceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		l := live(t, g, Options{})
		time.Sleep(5 * time.Second)
		g.change(func(g *gateway) { g.mute = true })
		time.Sleep(10 * time.Second)
		l.see(func(m *model) {
			if m.link.State != views.LinkStale || m.snap == nil {
				t.Errorf("the link is %d", m.link.State)
			}
		})
		close(g.release)
		g.change(func(g *gateway) { g.mute = false })
		time.Sleep(2 * time.Second)
		l.see(func(m *model) {
			if m.link.State != views.LinkLive {
				t.Errorf("after it answers again the link is %d", m.link.State)
			}
		})
	})
}

func TestAnAttachedConsoleStaysThroughTheEndAndGoesOnWithTheNextLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		l := live(t, g, Options{Attached: true})
		time.Sleep(time.Second)
		g.stopping()
		g.emit(ops.Event{Type: ops.EventShutdownPhase, Subject: "adapters"})
		time.Sleep(2 * time.Second)
		// What comes after the last look is in the events alone.
		g.change(func(g *gateway) { g.err = errGone })
		g.emit(ops.Event{Type: ops.EventShutdownPhase, Subject: "adapters", Data: ops.Raw(`{"phase":{"name":"adapters","state":"timed_out"}}`)})
		g.emit(ops.Event{Type: ops.EventShutdownPhase, Subject: "stores", Data: ops.PhaseChange{Phase: ops.Phase{Name: "stores", State: ops.StepDone}}})
		g.emit(ops.Event{Type: ops.EventShutdownEnded, Subject: "stop-1", At: ops.At(time.Now()), Data: ops.Raw(`{"outcome":"incomplete","exit_code":0}`)})
		g.end(errGone)
		time.Sleep(10 * time.Second)
		l.see(func(m *model) {
			if m.link.State != views.LinkGone || m.link.Try < 3 {
				t.Errorf("the link is %d, try %d", m.link.State, m.link.Try)
			}
			if m.stop == nil || m.stop.Outcome != "incomplete" || m.view != views.Shutdown {
				t.Errorf("the final record is not on the screen: %+v", m.stop)
			}
			for _, p := range m.stop.Phases {
				if !p.State.Over() {
					t.Errorf("the phase %s is shown as %s", p.Name, p.State)
				}
			}
			if m.stopping() != nil {
				t.Error("the levers of a stop that has ended are offered")
			}
		})
		if l.left() {
			t.Fatal("it left with the gateway")
		}
		g.change(func(g *gateway) {
			g.err, g.over, g.stop, g.events = nil, false, nil, nil
			g.snap = someSnapshot()
			g.snap.Life, g.snap.PID = "life-2", 5000
		})
		time.Sleep(3 * time.Second)
		g.emit(ops.Event{Type: ops.EventTurnStarted, Subject: "cli:local", Text: "of the new life"})
		time.Sleep(time.Second)
		l.see(func(m *model) {
			if m.link.State != views.LinkLive || m.status.Life != "life-2" {
				t.Errorf("the next life is not followed: link %d, life %s", m.link.State, m.status.Life)
			}
			if n := len(m.events); n != 1 || m.events[0].Text != "of the new life" {
				t.Errorf("%d events are shown, promised those of the new life", n)
			}
			if m.witnessed() != nil {
				t.Error("the old stop is shown as if it were the new life's")
			}
		})
	})
}

// afterwards is the gateway of another process whose record can still be read when it has ended.
type afterwards struct {
	*gateway
	record ops.Shutdown
}

func (a *afterwards) Shutdown(ctx context.Context) (ops.Shutdown, error) {
	if s, err := a.gateway.Shutdown(ctx); err == nil {
		return s, nil
	}
	return a.record, nil
}

// TF42: of a stop that is over before a look finds it, the record has every phase with its items all the same.
func TestAnAttachedConsoleHasTheCompleteRecordOfAQuickStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &afterwards{gateway: newGateway(), record: *someStop()}
		g.record.Outcome, g.record.EndedAt = ops.ShutdownClean, ops.At(began.Add(time.Second))
		for i := range g.record.Phases {
			p := &g.record.Phases[i]
			p.State = ops.StepDone
			for j := range p.Items {
				p.Items[j].State = ops.StepDone
			}
		}
		l := live(t, g, Options{Attached: true})
		time.Sleep(time.Second)
		g.change(func(g *gateway) { g.err = errGone })
		g.end(errGone)
		time.Sleep(10 * time.Second)
		l.see(func(m *model) {
			if m.stop == nil {
				t.Fatal("there is no record")
			}
			if total, done := m.stop.Phases[1].Counts(); total != 2 || done != 2 || m.stop.Outcome != ops.ShutdownClean {
				t.Errorf("the record on the screen is %+v", m.stop)
			}
			if w := m.witnessed(); w == nil || w.Outcome != ops.ShutdownClean {
				t.Errorf("the record to be left on the normal screen is %+v", w)
			}
		})
	})
}

func TestAnEmbeddedConsoleEndsWithItsGatewayAndLeavesTheReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		l := live(t, g, Options{})
		time.Sleep(time.Second)
		g.stopping()
		g.emit(ops.Event{Type: ops.EventShutdownPhase, Subject: "mark"})
		time.Sleep(time.Second)
		g.change(func(g *gateway) {
			end := someStop()
			end.Outcome = ops.ShutdownClean
			g.stop = end
		})
		g.emit(ops.Event{Type: ops.EventShutdownEnded, Subject: "stop-1", At: ops.At(time.Now())})
		g.end(nil)
		time.Sleep(time.Second)
		if !l.left() {
			t.Fatal("it did not leave")
		}
		if e := l.m.exit; e.How != GatewayEnded || e.Final == nil || e.Final.Outcome != ops.ShutdownClean || len(e.Screen) == 0 {
			t.Fatalf("left with %s, final %+v, %d lines", e.How, e.Final, len(e.Screen))
		}
	})
}

func TestLostEventsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		l := live(t, g, Options{})
		g.emit(ops.Event{Type: ops.EventDropped, Data: ops.Raw(`{"count":12}`)})
		time.Sleep(time.Second)
		l.see(func(m *model) {
			if m.link.Missed != 12 {
				t.Errorf("%d are shown", m.link.Missed)
			}
		})
	})
}

func TestAPausedPictureStaysWhileTheGatewayGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		b := newBench(t, g, Options{})
		b.keys("2", "p")
		g.change(func(g *gateway) { g.snap.Sessions = g.snap.Sessions[:1] })
		b.refresh()
		if n := len(b.m.shown.Sessions); n != 3 {
			t.Fatalf("%d rows are drawn, promised the 3 of before", n)
		}
		b.keys("p")
		if n := len(b.m.shown.Sessions); n != 1 {
			t.Fatalf("%d rows are drawn after the pause", n)
		}
	})
}

func TestNothingIsDrawnWhenNothingChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newGateway(), Options{})
		b.m.View()
		was := &b.m.frame
		b.m.frame = "kept"
		b.send(batch{gen: -1})
		if b.m.View() != "kept" || was != &b.m.frame {
			t.Fatal("a message that changes nothing draws a frame")
		}
	})
}

func TestAViewThatFailsIsSaidSoAndThreeInAMinuteEndTheConsole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newGateway(), Options{})
		b.m.dialog = broken{}
		for i := range failMost {
			if b.quit {
				t.Fatalf("it ends after %d failures", i)
			}
			b.m.stale = true
			if frame := b.m.View(); !strings.Contains(frame, "this view failed") {
				t.Fatalf("drawn: %q", frame)
			}
			b.send(batch{gen: -1})
		}
		if !b.quit || b.m.failure == nil {
			t.Fatal("it goes on")
		}
	})
}

// A new snapshot and a new size leave the window of the events where the person scrolled it.
func TestScrolledEventsStayWhereTheyAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newGateway(), Options{})
		events := make([]ops.Event, 200)
		for i := range events {
			events[i].Seq = uint64(i + 1)
		}
		b.m.addEvents(events)
		b.keys("7", "pgup", "pgup")
		want := b.m.lists[views.Events].Offset
		if want < 100 || b.m.follow {
			t.Fatalf("scrolling up from the end went to %d, following %v", want, b.m.follow)
		}
		b.refresh()
		b.send(tea.WindowSizeMsg{Width: 100, Height: 30})
		if got := b.m.lists[views.Events].Offset; got != want {
			t.Fatalf("the window went from %d to %d by itself", want, got)
		}
	})
}

// The end of a task that says how far it is is no event: its line goes from the screen nevertheless.
func TestALongTaskThatHasEndedLeavesTheScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		g.snap.Counts.RunningTurns, g.snap.Counts.Processes = 0, 0
		g.snap.Background = []ops.Background{{ID: "search", Name: "build search index", Progress: "8 older messages are left", StartedAt: ops.At(time.Now())}}
		l := live(t, g, Options{})
		shown := func() (there bool) {
			time.Sleep(4 * time.Second)
			l.see(func(m *model) { there = strings.Contains(strings.Join(m.draw(), "\n"), "older messages are left") })
			return there
		}
		if !shown() {
			t.Fatal("a long task is not shown")
		}
		g.mu.Lock()
		g.snap.Background = nil // without an event
		g.mu.Unlock()
		if shown() {
			t.Error("a task that has ended is still shown")
		}
	})
}

// What a command writes and uses is no event: the rows in sight are read again while something runs, and not while nothing does.
func TestRowsInSightAreReadAgainWhileSomethingRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		l := live(t, g, Options{})
		time.Sleep(time.Second)
		l.see(func(m *model) { l.cmd(m.openView(views.Processes)) })
		looks := func(d time.Duration) int {
			g.mu.Lock()
			before := g.looks
			g.mu.Unlock()
			time.Sleep(d)
			g.mu.Lock()
			defer g.mu.Unlock()
			return g.looks - before
		}
		if n := looks(10 * time.Second); n < 3 || n > 6 {
			t.Errorf("%d looks in 10 s with a running process", n)
		}
		g.change(func(g *gateway) {
			g.snap.Counts.RunningTurns, g.snap.Counts.Processes, g.snap.Processes = 0, 0, nil
		})
		looks(3 * time.Second)
		if n := looks(10 * time.Second); n > 0 {
			t.Errorf("%d looks in 10 s with nothing that runs", n)
		}
	})
}
