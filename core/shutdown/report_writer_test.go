package shutdown

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/syncbuf"
)

var discard = slog.New(slog.DiscardHandler)

func (c *cast) hungLog() *slog.Logger { return slog.New(&hungHandler{c.release}) }

// TF42: who knows a phase by its event alone knows how many items it had.
func TestTheEventOfAPhaseCountsItsItems(t *testing.T) {
	bubble(t, "at its end as at its beginning", func(t *testing.T) {
		var got []string
		r := Start(Plan{[]Phase{{Name: "agents", Budget: time.Second, List: items(takes("a", 0), takes("b", 0), fails("c"))}}}, Options{
			Exit: noExit(t),
			Observe: func(e Event) {
				if e.Type == ops.EventShutdownPhase {
					total, done := e.Phase.Counts()
					got = append(got, fmt.Sprintf("%s %d of %d", e.Phase.State, done, total))
				}
			},
		})
		<-r.Done()
		if want := []string{"running 0 of 3", "failed 2 of 3"}; !slices.Equal(got, want) {
			t.Errorf("the events say %q, want %q", got, want)
		}
	})
}

// What a stop tells of itself never costs it more than this.
func TestWhatHangsOutsideTheExecutorDelaysNothing(t *testing.T) {
	for _, tt := range []struct {
		name  string
		o     func(c *cast) Options
		atEnd time.Duration // how long Done waits after the plan is over
	}{
		{"a file that hangs", func(c *cast) Options {
			return Options{Save: func(ops.Shutdown) error { <-c.release; return nil }}
		}, Slack / 8},
		{"a log that hangs", func(c *cast) Options { return Options{Log: c.hungLog()} }, Slack / 8},
		{"a follower that hangs", func(c *cast) Options { return Options{Observe: func(Event) { <-c.release }} }, Slack / 8},
		{"all of them", func(c *cast) Options {
			return Options{
				Save: func(ops.Shutdown) error { <-c.release; return nil }, Log: c.hungLog(), Observe: func(Event) { <-c.release },
			}
		}, Slack / 8},
		{"a file that panics", func(*cast) Options { return Options{Save: func(ops.Shutdown) error { panic("no disk") }} }, 0},
		{"a log that panics", func(*cast) Options { return Options{Log: slog.New(panicHandler{})} }, 0},
		{"a follower that panics", func(*cast) Options { return Options{Observe: func(Event) { panic("gone") }} }, 0},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			c := newCast(t)
			o := tt.o(c)
			o.Exit = noExit(t)
			began := time.Now()
			r := Start(Plan{[]Phase{
				{Name: "hung", Budget: time.Second, List: items(c.hang("adapter", "x"))},
				{Name: "quick", Budget: time.Second, List: items(takes("y", 0))},
				{Name: "slow", Budget: 5 * time.Second, List: items(takes("z", 3*time.Second))},
			}}, o)
			<-r.Done()
			most := 4*time.Second + tt.atEnd
			if tt.atEnd > 0 && o.Save != nil {
				most += 3 * saveWait // each phase gives its report that long to be on disk
			}
			if took := time.Since(began); took > most {
				t.Errorf("took %s, want at most %s", took, most)
			}
			if p := phaseOf(t, r.Report(), "slow"); p.State != ops.StepDone {
				t.Errorf("the last phase is %+v", p)
			}
		})
	}
}

type panicHandler struct{ slog.Handler }

func (panicHandler) Enabled(context.Context, slog.Level) bool { panic("log") }

func TestAPanicOfTheLogKeepsNothingFromTheFollowersNorTheOtherWayRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{}
		var b syncbuf.Buffer
		plan := Plan{[]Phase{{Name: "first", Budget: time.Second}, {Name: "second", Budget: time.Second}}}
		r := Start(plan, Options{Exit: noExit(t), Log: slog.New(panicHandler{}), Observe: d.observe})
		<-r.Done()
		if n := len(d.received()); n != 5 { // two of each phase, and the end
			t.Errorf("the follower got %d events, want 5", n)
		}
		r = Start(plan, Options{Exit: noExit(t), Log: slog.New(slog.NewTextHandler(&b, nil)), Observe: func(Event) { panic("gone") }})
		<-r.Done()
		if n := strings.Count(b.String(), "msg=shutdown.phase "); n != 4 {
			t.Errorf("the log has %d lines about phases, want 4:\n%s", n, b.String())
		}
		if !strings.Contains(b.String(), "msg=shutdown.observe") {
			t.Error("the log does not say that a follower panicked")
		}
	})
}

func TestAReportThatCannotBeSavedIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b syncbuf.Buffer
		r := Start(Standard(defaults()), Options{
			Exit: noExit(t), Log: slog.New(slog.NewTextHandler(&b, nil)),
			Save: func(ops.Shutdown) error { return errors.New("no space left on device") },
		})
		<-r.Done()
		if n := strings.Count(b.String(), "msg=shutdown.save"); n != 1 || !strings.Contains(b.String(), "no space left on device") {
			t.Errorf("the log says it %d times, want once:\n%s", n, b.String())
		}
		if got := r.Report(); got.Outcome != ops.ShutdownClean {
			t.Errorf("ended %s", got.Outcome)
		}
	})
}

func TestASlowFileSkipsToTheLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{}
		var its []Item
		for range 100 {
			its = append(its, takes("x", time.Duration(len(its))*time.Millisecond))
		}
		r := Start(Plan{[]Phase{{Name: "first", Budget: time.Second, List: items(its...)}}}, Options{
			Exit: noExit(t), Save: func(s ops.Shutdown) error { time.Sleep(40 * time.Millisecond); return d.save(s) },
		})
		<-r.Done()
		saves := d.saved()
		if n := len(saves); n > 10 {
			t.Errorf("%d reports were written in about 0.1 s at 40 ms each", n)
		}
		if last := saves[len(saves)-1]; last.Outcome != ops.ShutdownClean || last.EndedAt.IsZero() {
			t.Errorf("the last one is not the end: %+v", last)
		}
	})
}

// A9: who waits for the stop reads how it ended, where a write takes longer than an eighth of the slack, too.
func TestTheLastReportIsWholeWhereWritesTakeTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{}
		r := Start(Plan{[]Phase{{Name: "first", Budget: 2 * time.Second, List: items(takes("x", time.Millisecond))}}}, Options{
			Exit: noExit(t), Save: func(s ops.Shutdown) error { time.Sleep(100 * time.Millisecond); return d.save(s) },
		})
		<-r.Done()
		saves := d.saved()
		if last := saves[len(saves)-1]; last.Outcome != ops.ShutdownClean || last.EndedAt.IsZero() {
			t.Errorf("the last report is not the end: %+v", last)
		}
	})
}

// An item that cannot be asked how it gets on neither delays a report nor the file.
func TestProgressIsAskedForAndNeverWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCast(t)
		d := &disk{}
		good, hung, bad := c.hang("turn", "good"), c.hang("turn", "hung"), c.hang("turn", "bad")
		good.Progress = func() (string, time.Time) { return "model call", time.Now() }
		calls := 0
		hung.Progress = func() (string, time.Time) { calls++; <-c.release; return "", time.Time{} }
		bad.Progress = func() (string, time.Time) { panic("no turn") }
		r := Start(Plan{[]Phase{{Name: "drain", Budget: time.Minute, List: items(good, bad, hung)}}}, Options{Exit: noExit(t), Save: d.save})
		synctest.Wait()
		saves := d.saved()
		if last := saves[len(saves)-1]; len(last.Blockers()) != 3 {
			t.Errorf("the file does not show the blockers at once: %+v", last)
		}
		time.Sleep(time.Second)
		for range 3 {
			began := time.Now()
			rep := r.Report()
			if took := time.Since(began); took > probeWait {
				t.Errorf("a report took %s", took)
			}
			for id, want := range map[string]string{"good": "model call", "bad": "progress unknown: panic: no turn", "hung": ""} {
				if it := itemOf(t, rep.Phases[0], id); it.Detail != want {
					t.Errorf("%s says %q, want %q", id, it.Detail, want)
				}
			}
		}
		if calls != 1 {
			t.Errorf("the one that hangs was asked %d times", calls)
		}
		<-r.Done()
		if it := itemOf(t, r.Report().Phases[0], "good"); !strings.HasSuffix(it.Detail, "; last: model call") {
			t.Errorf("the abandoned turn says %q", it.Detail)
		}
	})
}

// A done item waits for nothing, so its row does not keep the last progress.
func TestADoneItemHasNoProgressLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCast(t)
		turn := Item{Kind: "turn", ID: "cli:a", Run: func(context.Context) error { time.Sleep(2 * time.Second); return nil }}
		turn.Progress = func() (string, time.Time) { return "waiting for the model 0:01", time.Now() }
		hung := c.hang("turn", "hung")
		r := Start(Plan{[]Phase{{Name: "drain", Budget: time.Minute, List: items(turn, hung)}}}, Options{Exit: noExit(t)})
		time.Sleep(time.Second)
		if it := itemOf(t, r.Report().Phases[0], "cli:a"); it.Detail != "waiting for the model 0:01" {
			t.Errorf("the running item says %q", it.Detail)
		}
		time.Sleep(2 * time.Second)
		if it := itemOf(t, r.Report().Phases[0], "cli:a"); it.State != ops.StepDone || it.Detail != "" {
			t.Errorf("the ended item is %s and says %q", it.State, it.Detail)
		}
		<-r.Done()
	})
}

func FuzzDetails(f *testing.F) {
	for _, s := range []string{"", "dial tcp", "a\x1b[2Jb", "\xff\xfe", "é", "a\u202eb\r\nc", strings.Repeat("\u2028", 200)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := clean(s)
		if len(got) > 3*longestDetail+len("…") {
			t.Fatalf("%d bytes came out", len(got))
		}
		if strings.ContainsFunc(got, func(c rune) bool { return c < ' ' || c >= 0x7f && c < 0xa0 || c == '\u2028' || c == '\u202e' }) {
			t.Fatalf("%q is not one line of text", got)
		}
		if strings.ToValidUTF8(got, "") != got {
			t.Fatalf("%q is not UTF-8", got)
		}
	})
}
