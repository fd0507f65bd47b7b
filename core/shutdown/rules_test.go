package shutdown

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/ops"
)

func TestRulesOfTheExecutor(t *testing.T) {
	type want struct {
		took    time.Duration
		outcome string
		exit    int
		states  map[string]ops.StepState // of phases, and of items as "phase/id"
		detail  map[string]string        // a part of what the same names have as their detail
	}
	ok := Phase{Name: "next", Budget: time.Second, List: items(takes("ok", 0))}
	one := func(budget time.Duration, its ...Item) Phase {
		return Phase{Name: "first", Budget: budget, List: items(its...)}
	}
	type row struct {
		name string
		plan func(c *cast) []Phase
		want want
	}
	for _, tt := range []row{
		{"A1: four items that never return cost the phase's budget once, and the next phase runs", func(c *cast) []Phase {
			return []Phase{one(time.Second, c.hang("adapter", "a"), c.hang("adapter", "b"), c.hang("adapter", "c"), c.hang("adapter", "d")), ok}
		}, want{
			time.Second, ops.ShutdownIncomplete, 0,
			map[string]ops.StepState{"first": "timed_out", "first/a": "timed_out", "first/d": "timed_out", "next": "done", "next/ok": "done"},
			map[string]string{"first": "4 of 4 did not end in time", "first/a": "did not return within 1s"},
		}},
		{"A2: of twenty notices one hangs and one is refused, and the phases after them run", func(c *cast) []Phase {
			its := []Item{c.hang("notice", "hung"), fails("refused")}
			for i := range 18 {
				its = append(its, takes(fmt.Sprint("chat", i), 100*time.Millisecond))
			}
			return []Phase{one(5*time.Second, its...), ok}
		}, want{
			5 * time.Second, ops.ShutdownIncomplete, 0,
			map[string]ops.StepState{"first": "timed_out", "first/hung": "timed_out", "first/refused": "failed", "first/chat17": "done", "next": "done"},
			map[string]string{"first": "1 of 20 did not end in time, 1 of 20 failed"},
		}},
		{"A11: a stop that leaves a process alive is not clean", func(*cast) []Phase {
			return []Phase{{Name: "sweep", Budget: time.Second, List: items(Item{Kind: "processes", ID: "all", Run: func(context.Context) error {
				return errors.New("1 process is left: 4711")
			}})}, ok}
		}, want{
			0, ops.ShutdownIncomplete, 0,
			map[string]ops.StepState{"sweep": "failed", "next": "done"},
			map[string]string{"sweep/all": "4711"},
		}},
		{"items run side by side: the phase costs the slowest", func(*cast) []Phase {
			return []Phase{one(5*time.Second, takes("a", time.Second), takes("b", 3*time.Second), takes("c", 2*time.Second)), ok}
		}, want{3 * time.Second, ops.ShutdownClean, 0, map[string]ops.StepState{"first": "done", "first/b": "done"}, nil}},
		{"A15: a failed item is reported, ends nothing and keeps the planned exit code", func(*cast) []Phase {
			return []Phase{one(time.Second, fails("x"), takes("y", 0)), ok}
		}, want{
			0, ops.ShutdownIncomplete, 0,
			map[string]ops.StepState{"first": "failed", "first/x": "failed", "first/y": "done", "next": "done"},
			map[string]string{"first": "1 of 2 failed", "first/x": "broken"},
		}},
		{"a failed item of a critical phase changes the exit code", func(*cast) []Phase {
			p := one(time.Second, fails("x"))
			p.Critical = true
			return []Phase{p, ok}
		}, want{0, ops.ShutdownIncomplete, ExitCritical, map[string]ops.StepState{"first": "failed", "next": "done"}, nil}},
		{"a failed item of a critical phase whose error is excused keeps the planned exit code", func(*cast) []Phase {
			p := one(time.Second, fails("x"))
			p.Critical, p.Tolerated = true, func(err error) bool { return err.Error() == "broken" }
			return []Phase{p, ok}
		}, want{0, ops.ShutdownIncomplete, 0, map[string]ops.StepState{"first": "failed", "next": "done"}, nil}},
		{"an error of a critical phase that is not excused changes the exit code", func(*cast) []Phase {
			p := one(time.Second, fails("x"))
			p.Critical, p.Tolerated = true, func(error) bool { return false }
			return []Phase{p, ok}
		}, want{0, ops.ShutdownIncomplete, ExitCritical, map[string]ops.StepState{"first": "failed", "next": "done"}, nil}},
		{"a panic in a critical phase is never excused", func(*cast) []Phase {
			p := one(time.Second, panics("x", "no map"))
			p.Critical, p.Tolerated = true, func(error) bool { return true }
			return []Phase{p, ok}
		}, want{0, ops.ShutdownIncomplete, ExitCritical, map[string]ops.StepState{"first": "failed", "next": "done"}, nil}},
		{"a critical phase that cannot list its items changes the exit code", func(*cast) []Phase {
			return []Phase{{Name: "first", Budget: time.Second, Critical: true, List: func(context.Context, *Run) []Item { panic("no map") }}, ok}
		}, want{0, ops.ShutdownIncomplete, ExitCritical, map[string]ops.StepState{"first": "failed", "next": "done"}, nil}},
		{"an item of a critical phase that overstays makes the stop incomplete and keeps the planned exit code", func(c *cast) []Phase {
			p := one(time.Second, c.hang("store", "main"))
			p.Critical = true
			return []Phase{p, ok}
		}, want{time.Second, ops.ShutdownIncomplete, 0, map[string]ops.StepState{"first": "timed_out", "next": "done"}, nil}},
		{"a panic is that item's failure, in words that are safe to print", func(*cast) []Phase {
			return []Phase{one(time.Second, panics("x", "a\x1b]52;c;b\x07\nc\u202ed"), takes("y", 0)), ok}
		}, want{
			0, ops.ShutdownIncomplete, 0,
			map[string]ops.StepState{"first/x": "failed", "first/y": "done", "next": "done"},
			map[string]string{"first/x": "panic: a ]52;c;b  c d"},
		}},
		{"an error whose text panics is that item's failure", func(*cast) []Phase {
			return []Phase{one(time.Second, Item{Kind: "task", ID: "x", Run: func(context.Context) error { return (*badError)(nil) }}), ok}
		}, want{0, ops.ShutdownIncomplete, 0, map[string]ops.StepState{"first/x": "failed", "next": "done"}, nil}},
		{"an item that ends its goroutine is that item's failure", func(*cast) []Phase {
			return []Phase{one(time.Second, Item{Kind: "task", ID: "x", Run: func(context.Context) error { runtime.Goexit(); return nil }}), ok}
		}, want{
			0, ops.ShutdownIncomplete, 0,
			map[string]ops.StepState{"first/x": "failed", "next": "done"},
			map[string]string{"first/x": "ended its goroutine"},
		}},
		{"an item without a Run is that item's failure", func(*cast) []Phase {
			return []Phase{one(time.Second, Item{Kind: "task", ID: "x"}), ok}
		}, want{0, ops.ShutdownIncomplete, 0, map[string]ops.StepState{"first/x": "failed", "next": "done"}, nil}},
		{"an item has its own budget within the phase's", func(c *cast) []Phase {
			short, long := c.hang("task", "short"), c.hang("task", "long")
			short.Budget, long.Budget = time.Second, time.Hour
			return []Phase{one(3*time.Second, short, long), ok}
		}, want{
			3 * time.Second, ops.ShutdownIncomplete, 0,
			map[string]ops.StepState{"first": "timed_out", "next": "done"},
			map[string]string{"first/short": "within 1s", "first/long": "within 3s"},
		}},
		{
			"a phase without items is done at once", func(*cast) []Phase { return []Phase{one(time.Hour), ok} },
			want{0, ops.ShutdownClean, 0, map[string]ops.StepState{"first": "done", "next": "done"}, nil},
		},
		{"a phase whose condition does not hold is skipped, with the reason, and the stop stays clean", func(c *cast) []Phase {
			p := one(time.Hour, c.hang("x", "x"))
			p.When = func(*Run) (bool, string) { return false, "no turns are left" }
			return []Phase{p, ok}
		}, want{0, ops.ShutdownClean, 0, map[string]ops.StepState{"first": "skipped", "next": "done"}, map[string]string{"first": "no turns are left"}}},
		{"a listing that panics fails its phase alone", func(*cast) []Phase {
			return []Phase{{Name: "first", Budget: time.Second, List: func(context.Context, *Run) []Item { panic("no map") }}, ok}
		}, want{0, ops.ShutdownIncomplete, 0, map[string]ops.StepState{"first": "failed", "next": "done"}, map[string]string{"first": "panic: no map"}}},
		{"a condition that panics fails its phase alone", func(*cast) []Phase {
			return []Phase{{Name: "first", Budget: time.Second, When: func(*Run) (bool, string) { panic("no map") }}, ok}
		}, want{0, ops.ShutdownIncomplete, 0, map[string]ops.StepState{"first": "failed", "next": "done"}, nil}},
		{"a listing that hangs is left at its bound", func(c *cast) []Phase {
			return []Phase{{Name: "first", Budget: time.Minute, List: func(context.Context, *Run) []Item { <-c.release; return nil }}, ok}
		}, want{ListBound, ops.ShutdownIncomplete, 0, map[string]ops.StepState{"first": "timed_out", "next": "done"}, map[string]string{"first": "listing"}}},
		{"a listing that hangs is left at the phase's budget if that is shorter", func(c *cast) []Phase {
			return []Phase{{Name: "first", Budget: 100 * time.Millisecond, Critical: true, List: func(context.Context, *Run) []Item { <-c.release; return nil }}, ok}
		}, want{100 * time.Millisecond, ops.ShutdownIncomplete, 0, map[string]ops.StepState{"first": "timed_out", "next": "done"}, nil}},
		{"2,000 items that hang cost the budget once", func(c *cast) []Phase {
			its := make([]Item, 2_000)
			for i := range its {
				its[i] = c.hang("task", fmt.Sprint(i))
			}
			return []Phase{one(time.Second, its...), ok}
		}, want{
			time.Second, ops.ShutdownIncomplete, 0,
			map[string]ops.StepState{"first": "timed_out", "first/1999": "timed_out", "next": "done"},
			map[string]string{"first": "2000 of 2000 did not end in time"},
		}},
		{"A4: a budget of zero leaves no time, and says so: only what returns at once gets through", func(c *cast) []Phase {
			p := one(0, takes("honours", time.Hour), c.hang("task", "hangs"), Item{Kind: "task", ID: "memory", Run: func(context.Context) error { return nil }})
			return []Phase{{Name: "before", Budget: time.Second, List: items(takes("ok", 0))}, p, ok}
		}, want{
			Instant, ops.ShutdownIncomplete, 0,
			map[string]ops.StepState{"first": "timed_out", "first/honours": "timed_out", "first/hangs": "timed_out", "first/memory": "done", "next": "done"},
			map[string]string{"first/honours": "no time: the budget is 0", "first/hangs": "no time: the budget is 0"},
		}},
		{"S5: an opt-out of a phase's bound runs to its end", func(*cast) []Phase {
			return []Phase{one(Unbounded, takes("x", 50*time.Millisecond)), ok}
		}, want{50 * time.Millisecond, ops.ShutdownClean, 0, map[string]ops.StepState{"first/x": "done", "next": "done"}, nil}},
		{"S5: an opt-out of a phase's bound is not one of the plan's", func(c *cast) []Phase {
			return []Phase{one(Unbounded, c.hang("adapter", "x")), ok}
		}, want{headroom - Slack - time.Second, ops.ShutdownIncomplete, 0, map[string]ops.StepState{"first": "timed_out", "next": "done"}, nil}},
		{"S5: two adapters that hang at 0.2 s cost 0.2 s", func(c *cast) []Phase {
			return []Phase{one(200*time.Millisecond, c.hang("adapter", "a"), c.hang("adapter", "b")), ok}
		}, want{200 * time.Millisecond, ops.ShutdownIncomplete, 0, map[string]ops.StepState{"first": "timed_out", "next": "done"}, nil}},
		{"A16: what a failed phase did not do, a later one still gets to do", func(c *cast) []Phase {
			return []Phase{one(time.Second, fails("close"), c.hang("agent", "x")), {Name: "sweep", Budget: 3 * time.Second, List: items(takes("trees", time.Second))}}
		}, want{2 * time.Second, ops.ShutdownIncomplete, 0, map[string]ops.StepState{"first": "timed_out", "sweep": "done"}, nil}},
		{"a plan without phases is over at once", func(*cast) []Phase { return nil }, want{0, ops.ShutdownClean, 0, nil, nil}},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			c := newCast(t)
			r := Start(Plan{tt.plan(c)}, Options{Exit: noExit(t)})
			began := time.Now()
			<-r.Done()
			wantElapsed(t, began, tt.want.took)
			got := r.Report()
			if got.Outcome != tt.want.outcome || got.ExitCode != tt.want.exit {
				t.Errorf("ended %s with %d, want %s with %d", got.Outcome, got.ExitCode, tt.want.outcome, tt.want.exit)
			}
			look := func(name string) (ops.StepState, string) {
				phase, id, isItem := strings.Cut(name, "/")
				p := phaseOf(t, got, phase)
				if isItem {
					it := itemOf(t, p, id)
					return it.State, it.Detail
				}
				return p.State, p.Detail
			}
			for name, want := range tt.want.states {
				if state, detail := look(name); state != want {
					t.Errorf("%s is %s (%s), want %s", name, state, detail, want)
				}
			}
			for name, want := range tt.want.detail {
				if _, detail := look(name); !strings.Contains(detail, want) {
					t.Errorf("%s says %q, want %q in it", name, detail, want)
				}
			}
		})
	}
}

type badError struct{ text string }

func (e *badError) Error() string { return e.text }

func TestALateResultIsIgnoredAndItsGoroutineCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := Start(Plan{[]Phase{{Name: "first", Budget: time.Second, List: items(
			Item{Kind: "task", ID: "late", Run: func(context.Context) error { time.Sleep(5 * time.Second); return nil }},
		)}}}, Options{Exit: noExit(t)})
		<-r.Done()
		if n := abandoned(r); n != 1 {
			t.Errorf("%d goroutines were abandoned, want 1", n)
		}
		time.Sleep(10 * time.Second)
		if n := abandoned(r); n != 0 {
			t.Errorf("%d goroutines are still counted after the item returned", n)
		}
		if it := itemOf(t, r.Report().Phases[0], "late"); it.State != ops.StepTimedOut || it.ElapsedMS != 1000 {
			t.Errorf("the late result changed the report: %+v", it)
		}
	})
}

func TestAnItemsContext(t *testing.T) {
	cause := func(t *testing.T, during func(r *Run)) error {
		var got error
		r := Start(Plan{[]Phase{{Name: "first", Budget: 5 * time.Second, CutBy: ops.ModeFast, List: items(
			Item{Kind: "task", ID: "x", Run: func(ctx context.Context) error { <-ctx.Done(); got = context.Cause(ctx); return nil }},
		)}}}, Options{Exit: noExit(t)})
		synctest.Wait()
		during(r)
		<-r.Done()
		synctest.Wait()
		return got
	}
	bubble(t, "ends at the budget, as a deadline", func(t *testing.T) {
		if err := cause(t, func(*Run) {}); !errors.Is(err, ErrBudget) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the cause is %v", err)
		}
	})
	bubble(t, "ends when it is skipped", func(t *testing.T) {
		if err := cause(t, func(r *Run) { r.Skip("first", "x", "test") }); !errors.Is(err, ErrSkipped) {
			t.Errorf("the cause is %v", err)
		}
	})
	bubble(t, "ends when the phase is cut short", func(t *testing.T) {
		if err := cause(t, func(r *Run) { r.Escalate(ops.ModeFast, "test") }); !errors.Is(err, ErrCut) {
			t.Errorf("the cause is %v", err)
		}
	})
	bubble(t, "A4: has ended from the start where the phase has no time", func(t *testing.T) {
		var got error
		r := Start(Plan{[]Phase{
			{Name: "before", Budget: time.Second},
			{Name: "first", Budget: 0, List: items(Item{Kind: "task", ID: "x", Run: func(ctx context.Context) error { got = context.Cause(ctx); return nil }})},
		}}, Options{Exit: noExit(t)})
		<-r.Done()
		if !errors.Is(got, ErrBudget) {
			t.Errorf("the cause is %v when the item begins", got)
		}
	})
	bubble(t, "A14: is alive for what must be written while everything stops, and knows its deadline", func(t *testing.T) {
		r := Start(Plan{[]Phase{{Name: "first", Budget: 5 * time.Second, List: items(
			Item{Kind: "task", ID: "x", Budget: 2 * time.Second, Run: func(ctx context.Context) error {
				if d, ok := ctx.Deadline(); !ok || time.Until(d) != 2*time.Second {
					t.Errorf("the deadline is in %s, want 2s", time.Until(d))
				}
				inner, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				<-inner.Done()
				return ctx.Err()
			}},
		)}}}, Options{Exit: noExit(t)})
		<-r.Done()
		if got := r.Report().Outcome; got != ops.ShutdownClean {
			t.Errorf("ended %s", got)
		}
	})
	bubble(t, "carries the pprof labels phase and item, so that a stuck one's stack can be shown", func(t *testing.T) {
		c := newCast(t)
		hang := c.hang("adapter", "telegram")
		r := Start(Plan{[]Phase{{Name: "adapters", Budget: 5 * time.Second, List: items(hang)}}}, Options{Exit: noExit(t)})
		synctest.Wait()
		var b bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
			t.Fatal(err)
		}
		if want := `"item":"adapter:telegram", "phase":"adapters"`; !strings.Contains(b.String(), want) {
			t.Errorf("the goroutine profile has no labels %s", want)
		}
		<-r.Done()
	})
}

func TestABlockerIsVisible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCast(t)
		turn := c.hang("turn", "api:user:alice")
		seen := time.Now()
		turn.Progress = func() (string, time.Time) { return "terminal: sleep\x1b[2J", seen }
		plan := Plan{[]Phase{{Name: PhaseDrain, Budget: time.Minute, Then: "interrupted", List: items(turn, takes("quick", time.Second))}, {Name: "next", Budget: time.Second}}}
		r := Start(plan, Options{ID: "s1", Life: "l1", Mode: ops.ModeGraceful, Reason: "upgrade", By: "uid 1000", Exit: noExit(t)})
		r.NotAwaited([]ops.Item{{Kind: "turn", ID: "api:user:bob", Detail: "asked for the stop"}})
		time.Sleep(20 * time.Second)
		got := r.Report()
		if got.Outcome != ops.ShutdownRunning || got.Reason != "upgrade" || got.By != "uid 1000" || got.Life != "l1" || got.ID != "s1" || got.ElapsedMS != 20_000 {
			t.Errorf("the report says %+v", got)
		}
		if len(got.NotAwaited) != 1 || got.NotAwaited[0].ID != "api:user:bob" {
			t.Errorf("A5, A6: not awaited are %+v", got.NotAwaited)
		}
		b := got.Blockers()
		if len(b) != 1 {
			t.Fatalf("the blockers are %+v, want the turn alone", b)
		}
		want := ops.Item{
			Kind: "turn", ID: "api:user:alice", State: ops.StepRunning, ElapsedMS: 20_000, BudgetMS: 60_000, Detail: "terminal: sleep [2J",
			LastProgressAt: ops.At(seen), Next: "interrupted", NextInMS: 40_000,
		}
		if b[0] != want {
			t.Errorf("the blocker is\n%+v, want\n%+v", b[0], want)
		}
		if p, ok := got.Running(); !ok || p.Name != PhaseDrain || p.ElapsedMS != 20_000 {
			t.Errorf("the running phase is %+v", p)
		}
		got.Phases[0].Items[0].Detail, got.NotAwaited[0].ID = "scribbled", "scribbled"
		if again := r.Report(); again.Phases[0].Items[0].Detail == "scribbled" || again.NotAwaited[0].ID == "scribbled" {
			t.Error("a report shares memory with the run")
		}
		<-r.Done()
		it := itemOf(t, r.Report().Phases[0], "api:user:alice")
		if want := "did not return within 1m; last: terminal: sleep [2J"; it.Detail != want || it.Next != "" {
			t.Errorf("afterwards the blocker says %+v, want the detail %q", it, want)
		}
	})
}

// abandoned is how many goroutines are in an item, a listing or a Progress now: after Done, the abandoned ones.
func abandoned(r *Run) int { return int(r.behind.Load()) }
