package shutdown

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/ops"
)

func wantCode(t *testing.T, err error, want ops.Code) {
	t.Helper()
	if !ops.HasCode(err, want) {
		t.Errorf("the error is %v, want one with the code %s", err, want)
	}
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// standing is a Standard plan whose phases list what its map says, and nothing elsewhere.
func standing(its map[string][]Item) Plan {
	p := Standard(defaults())
	for name, list := range its {
		p.Phase(name).List = items(list...)
	}
	return p
}

func TestEscalation(t *testing.T) {
	bubble(t, "a second signal ends the drain at once and the plan goes on from there", func(t *testing.T) {
		c := newCast(t)
		began := time.Now()
		r := Start(standing(map[string][]Item{PhaseDrain: {c.hang("turn", "a")}, PhaseStores: {takes("db", time.Second)}}), Options{Exit: noExit(t)})
		time.Sleep(7 * time.Second)
		if !r.Escalate(ops.ModeFast, "SIGTERM") || r.Mode() != ops.ModeFast {
			t.Errorf("the stop is %s", r.Mode())
		}
		<-r.Done()
		wantElapsed(t, began, 8*time.Second)
		rep := r.Report()
		drain := phaseOf(t, rep, PhaseDrain)
		if drain.State != ops.StepSkipped || drain.Detail != "cut short: fast, by SIGTERM" || drain.ElapsedMS != 7000 {
			t.Errorf("the drain is %+v", drain)
		}
		if it := itemOf(t, drain, "a"); it.State != ops.StepSkipped {
			t.Errorf("the turn is %+v", it)
		}
		if p := phaseOf(t, rep, PhaseInterrupt); p.State != ops.StepDone {
			t.Errorf("interrupt is %+v", p)
		}
		if rep.Mode != ops.ModeFast || rep.Outcome != ops.ShutdownIncomplete {
			t.Errorf("the report says %s, %s", rep.Mode, rep.Outcome)
		}
	})
	bubble(t, "a third signal leaves what need not happen, and the stores are still closed", func(t *testing.T) {
		c := newCast(t)
		began := time.Now()
		r := Start(standing(map[string][]Item{
			PhaseDrain: {c.hang("turn", "a")}, PhaseAdapters: {c.hang("adapter", "b")}, PhaseSweep: {takes("trees", time.Second)},
			PhaseStores: {takes("db", time.Second)},
		}), Options{Exit: noExit(t)})
		time.Sleep(time.Second)
		r.Escalate(ops.ModeFast, "SIGTERM")
		time.Sleep(time.Second)
		select {
		case <-r.Immediate():
			t.Error("a fast stop says that it is immediate")
		default:
		}
		r.Escalate(ops.ModeImmediate, "SIGTERM")
		r.SetExit(128 + 15)
		<-r.Immediate()
		<-r.Done()
		wantElapsed(t, began, 4*time.Second)
		rep := r.Report()
		if p := phaseOf(t, rep, PhaseAdapters); p.State != ops.StepSkipped || p.ElapsedMS != 1000 {
			t.Errorf("adapters is %+v", p)
		}
		for _, name := range []string{PhaseSweep, PhaseStores} {
			if p := phaseOf(t, rep, name); p.State != ops.StepDone || len(p.Items) != 1 {
				t.Errorf("%s is %+v", name, p)
			}
		}
		if rep.Outcome != ops.ShutdownForced || rep.ExitCode != 143 {
			t.Errorf("ended %s with %d, want forced with 143", rep.Outcome, rep.ExitCode)
		}
		// TF42: that it began gracefully is not lost.
		if got, want := rep.ModeText(), "graceful, forced to fast after 1.0s by SIGTERM, forced to immediate after 2.0s by SIGTERM"; got != want {
			t.Errorf("the report says %q, want %q", got, want)
		}
	})
	bubble(t, "a vital phase that runs is not cut short", func(t *testing.T) {
		r := Start(standing(map[string][]Item{PhaseMark: {takes("marker", 300*time.Millisecond)}, PhaseDrain: {takes("x", time.Minute)}}), Options{Exit: noExit(t)})
		time.Sleep(100 * time.Millisecond)
		r.Escalate(ops.ModeImmediate, "uid 1000")
		<-r.Done()
		if p := phaseOf(t, r.Report(), PhaseMark); p.State != ops.StepDone || p.ElapsedMS != 300 {
			t.Errorf("mark is %+v", p)
		}
	})
	bubble(t, "a stop asked for while one runs joins it: as strong or weaker changes nothing", func(t *testing.T) {
		c := newCast(t)
		d := &disk{}
		r := Start(standing(map[string][]Item{PhaseAdapters: {c.hang("adapter", "a")}}), Options{Mode: ops.ModeFast, Observe: d.observe, Exit: noExit(t)})
		synctest.Wait()
		before := r.Report()
		for _, m := range []ops.Mode{ops.ModeGraceful, ops.ModeFast, "", "absurd"} {
			if r.Escalate(m, "x") {
				t.Errorf("%q made a fast stop stronger", m)
			}
		}
		if after := r.Report(); after.DeadlineAt != before.DeadlineAt || after.Mode != before.Mode {
			t.Errorf("the report changed from %+v to %+v", before, after)
		}
		<-r.Done()
		begun := map[string]int{}
		for _, e := range d.received() {
			if e.Type == ops.EventShutdownPhase && e.Phase.State == ops.StepRunning {
				begun[e.Phase.Name]++
			}
		}
		for name, n := range begun {
			if n != 1 {
				t.Errorf("phase %s began %d times", name, n)
			}
		}
		if r.Escalate(ops.ModeImmediate, "x") {
			t.Error("a stop that is over got stronger")
		}
	})
	bubble(t, "brings the watchdog's time nearer", func(t *testing.T) {
		c := newCast(t)
		r := Start(standing(map[string][]Item{PhaseDrain: {c.hang("turn", "a")}}), Options{Exit: noExit(t)})
		synctest.Wait()
		r.Escalate(ops.ModeImmediate, "x")
		rep := r.Report()
		left := rep.DeadlineAt.Sub(rep.StartedAt.Time)
		// reap, sweep, stores, surrender.
		if want := 3*time.Second + 3*time.Second + 3*time.Second + 500*time.Millisecond + Instant + Slack; left != want {
			t.Errorf("the deadline is %s after the start, want %s", left, want)
		}
		<-r.Done()
	})
}

func TestSkip(t *testing.T) {
	plan := func(c *cast) Plan {
		return Plan{[]Phase{
			{Name: "mark", Budget: time.Second, Vital: true, List: items(takes("marker", 500*time.Millisecond))},
			{Name: "drain", Budget: time.Minute, List: items(c.hang("turn", "a"), c.hang("turn", "b"), c.hang("task", "b"))},
			{Name: "adapters", Budget: 5 * time.Second, List: items(c.hang("adapter", "x"))},
			{Name: "stores", Budget: time.Second, Vital: true, List: items(takes("db", 0))},
		}}
	}
	run := func(t *testing.T) *Run {
		r := Start(plan(newCast(t)), Options{Exit: noExit(t)})
		time.Sleep(time.Second)
		return r
	}
	bubble(t, "stops the wait for one item, and the others are waited for", func(t *testing.T) {
		r := run(t)
		mustDo(t, r.Skip("drain", "turn:a", "uid 1000"))
		mustDo(t, r.Skip("", "task:b", "uid 1000"))
		time.Sleep(time.Second)
		p, _ := r.Report().Running()
		if p.Name != "drain" || itemOf(t, p, "a").State != ops.StepSkipped || itemOf(t, p, "a").Detail != "skipped by uid 1000" {
			t.Errorf("the running phase is %+v", p)
		}
		if b := r.Report().Blockers(); len(b) != 1 || b[0].Kind != "turn" || b[0].ID != "b" {
			t.Errorf("the blockers are %+v", b)
		}
		mustDo(t, r.Skip("drain", "b", "uid 1000")) // only one of that id still runs
		synctest.Wait()
		if p, _ := r.Report().Running(); p.Name != "adapters" {
			t.Errorf("after its last item was skipped, phase %s runs", p.Name)
		}
		<-r.Done()
		rep := r.Report()
		if p := phaseOf(t, rep, "drain"); p.State != ops.StepDone || p.Detail != "3 of 3 skipped" {
			t.Errorf("the drain is %+v", p)
		}
		if rep.Outcome != ops.ShutdownIncomplete || rep.ExitCode != 0 {
			t.Errorf("ended %s with %d", rep.Outcome, rep.ExitCode)
		}
	})
	bubble(t, "stops the wait for the running phase, named or not", func(t *testing.T) {
		began := time.Now()
		r := run(t)
		mustDo(t, r.Skip("", "", "uid 1000"))
		synctest.Wait()
		mustDo(t, r.Skip("adapters", "", "uid 1000"))
		<-r.Done()
		wantElapsed(t, began, time.Second)
		for _, name := range []string{"drain", "adapters"} {
			if p := phaseOf(t, r.Report(), name); p.State != ops.StepSkipped || p.Detail != "skipped by uid 1000" {
				t.Errorf("%s is %+v", name, p)
			}
		}
	})
	bubble(t, "keeps a phase whose turn has not come from running", func(t *testing.T) {
		r := run(t)
		mustDo(t, r.Skip("adapters", "", "uid 1000"))
		wantCode(t, r.Skip("adapters", "", "uid 1000"), ops.CodeConflict)
		mustDo(t, r.Skip("drain", "", "uid 1000"))
		<-r.Done()
		if p := phaseOf(t, r.Report(), "adapters"); p.State != ops.StepSkipped || len(p.Items) != 0 {
			t.Errorf("adapters is %+v", p)
		}
	})
	bubble(t, "refuses, with one clear sentence", func(t *testing.T) {
		r := Start(plan(newCast(t)), Options{Exit: noExit(t)})
		synctest.Wait()
		wantCode(t, r.Skip("mark", "", "x"), ops.CodeForbidden)
		wantCode(t, r.Skip("mark", "marker", "x"), ops.CodeForbidden)
		wantCode(t, r.Skip("stores", "", "x"), ops.CodeForbidden)
		time.Sleep(time.Second)
		wantCode(t, r.Skip("mark", "", "x"), ops.CodeConflict)
		wantCode(t, r.Skip("nonsense\x1b[2J", "", "x"), ops.CodeNotFound)
		wantCode(t, r.Skip("drain", "c", "x"), ops.CodeNotFound)
		wantCode(t, r.Skip("adapters", "x", "x"), ops.CodeNotFound) // it has not listed its items
		wantCode(t, r.Skip("drain", "b", "x"), ops.CodeInvalid)     // a turn and a task have that id
		mustDo(t, r.Skip("drain", "a", "x"))
		wantCode(t, r.Skip("drain", "a", "x"), ops.CodeConflict)
		err := r.Skip("nonsense\x1b[2J", "", "x")
		if e := ops.AsError(err); strings.Contains(err.Error(), "\x1b") || !strings.Contains(e.Hint, "running: drain (turn:b, task:b)") {
			t.Errorf("the refusal is %q with the hint %q", e.Message, e.Hint)
		}
		mustDo(t, r.Skip("drain", "", "x"))
		<-r.Done()
		wantCode(t, r.Skip("drain", "", "x"), ops.CodeNotStopping)
		wantCode(t, r.ForceItem("drain", "", "x"), ops.CodeNotStopping)
	})
	bubble(t, "a phase of another mode cannot be skipped twice over", func(t *testing.T) {
		r := Start(standing(map[string][]Item{PhaseSweep: {takes("x", time.Second)}}), Options{Mode: ops.ModeImmediate, Exit: noExit(t)})
		synctest.Wait()
		wantCode(t, r.Skip(PhaseDrain, "", "x"), ops.CodeConflict)
		<-r.Done()
	})
	bubble(t, "ends a phase that is still listing", func(t *testing.T) {
		c := newCast(t)
		began := time.Now()
		r := Start(Plan{[]Phase{{Name: "first", Budget: time.Minute, List: func(context.Context, *Run) []Item { <-c.release; return nil }}}}, Options{Exit: noExit(t)})
		synctest.Wait()
		mustDo(t, r.Skip("first", "", "x"))
		<-r.Done()
		wantElapsed(t, began, 0)
		if p := phaseOf(t, r.Report(), "first"); p.State != ops.StepSkipped {
			t.Errorf("it is %+v", p)
		}
	})
}

func TestExtend(t *testing.T) {
	bubble(t, "gives the running phase and its items more time", func(t *testing.T) {
		began := time.Now()
		slow := takes("slow", 25*time.Second)
		r := Start(Plan{[]Phase{{Name: "drain", Budget: 10 * time.Second, List: items(slow)}}}, Options{Exit: noExit(t)})
		time.Sleep(9 * time.Second)
		before := r.Report()
		got, err := r.Extend("", "", 30*time.Second)
		if err != nil || got != 30*time.Second {
			t.Fatalf("got %s, %v", got, err)
		}
		after := r.Report()
		if p := after.Phases[0]; p.BudgetMS != 40_000 || p.Items[0].BudgetMS != 40_000 || p.Items[0].NextInMS != 31_000 {
			t.Errorf("the phase is %+v", p)
		}
		if moved := after.DeadlineAt.Sub(before.DeadlineAt.Time); moved != 30*time.Second {
			t.Errorf("the stop's deadline moved by %s", moved)
		}
		<-r.Done()
		wantElapsed(t, began, 25*time.Second)
		if got := r.Report(); got.Outcome != ops.ShutdownClean {
			t.Errorf("ended %s: %+v", got.Outcome, got.Phases)
		}
	})
	bubble(t, "is used up like any budget", func(t *testing.T) {
		c := newCast(t)
		began := time.Now()
		r := Start(Plan{[]Phase{{Name: "drain", Budget: 10 * time.Second, List: items(c.hang("turn", "x"))}, {Name: "next", Budget: time.Second, List: items(c.hang("y", "y"))}}}, Options{Exit: noExit(t)})
		time.Sleep(time.Second)
		for _, phase := range []string{"drain", "next"} { // the one that runs, and one whose turn has not come
			if got, err := r.Extend(phase, "", 5*time.Second); got != 5*time.Second {
				t.Errorf("%s got %s, %v", phase, got, err)
			}
		}
		<-r.Done()
		wantElapsed(t, began, 21*time.Second)
	})
	bubble(t, "gives one item more time, its phase what that needs, and its neighbours nothing", func(t *testing.T) {
		c := newCast(t)
		began := time.Now()
		short := takes("short", 8*time.Second)
		short.Budget = 2 * time.Second
		long := takes("long", 14*time.Second)
		r := Start(Plan{[]Phase{{Name: "adapters", Budget: 10 * time.Second, List: items(short, long, c.hang("adapter", "x"))}}}, Options{Exit: noExit(t)})
		time.Sleep(time.Second)
		if got, err := r.Extend("adapters", "task:short", 7*time.Second); got != 7*time.Second {
			t.Errorf("got %s, %v", got, err)
		}
		if p := r.Report().Phases[0]; p.BudgetMS != 10_000 {
			t.Errorf("the phase grew to %d ms for an item within its budget", p.BudgetMS)
		}
		if got, err := r.Extend("", "long", 5*time.Second); got != 5*time.Second {
			t.Errorf("got %s, %v", got, err)
		}
		if p := r.Report().Phases[0]; p.BudgetMS != 15_000 {
			t.Errorf("the phase has %d ms, want 15000", p.BudgetMS)
		}
		<-r.Done()
		wantElapsed(t, began, 14*time.Second)
		p := r.Report().Phases[0]
		for id, want := range map[string]ops.StepState{"short": ops.StepDone, "long": ops.StepDone, "x": ops.StepTimedOut} {
			if it := itemOf(t, p, id); it.State != want {
				t.Errorf("%s is %+v, want %s", id, it, want)
			}
		}
		if it := itemOf(t, p, "x"); it.ElapsedMS != 10_000 {
			t.Errorf("the neighbour was waited for %d ms, want 10000", it.ElapsedMS)
		}
	})
	bubble(t, "never past the service manager's limit", func(t *testing.T) {
		c := newCast(t)
		began := time.Now()
		plan := Plan{[]Phase{
			{Name: "drain", Budget: 20 * time.Second, List: items(c.hang("turn", "x"))},
			{Name: "stores", Budget: 2 * time.Second, Vital: true, List: items(c.hang("db", "y"))},
		}}
		r := Start(plan, Options{Limit: 30 * time.Second, Exit: noExit(t)})
		time.Sleep(time.Second)
		if got, err := r.Extend("drain", "", time.Hour); got != 7*time.Second { // 30, less 1 for the watchdog, 20 and 2
			t.Errorf("got %s, %v, want 7s", got, err)
		}
		_, err := r.Extend("drain", "", time.Second)
		wantCode(t, err, ops.CodeConflict)
		_, err = r.Extend("drain", "x", time.Second)
		wantCode(t, err, ops.CodeConflict)
		if e := ops.AsError(err); !strings.Contains(e.Hint, "30s") {
			t.Errorf("the hint %q does not name the limit", e.Hint)
		}
		if rep := r.Report(); rep.DeadlineAt.After(rep.KillAt.Time) || rep.KillAt.Sub(rep.StartedAt.Time) != 30*time.Second {
			t.Errorf("the deadline is %v, the kill %v", rep.DeadlineAt, rep.KillAt)
		}
		<-r.Done()
		wantElapsed(t, began, 29*time.Second)
	})
	bubble(t, "what phases that ended early left over can be had again", func(t *testing.T) {
		c := newCast(t)
		plan := Plan{[]Phase{
			{Name: "notify", Budget: 10 * time.Second, List: items(takes("x", time.Second))},
			{Name: "drain", Budget: 19 * time.Second, List: items(c.hang("turn", "x"))},
		}}
		r := Start(plan, Options{Limit: 30 * time.Second, Exit: noExit(t)})
		time.Sleep(2 * time.Second)
		if got, err := r.Extend("drain", "", time.Hour); got != 9*time.Second {
			t.Errorf("got %s, %v, want 9s", got, err)
		}
		<-r.Done()
	})
	bubble(t, "a limit that is not known still ends it", func(t *testing.T) {
		c := newCast(t)
		began := time.Now()
		r := Start(Plan{[]Phase{{Name: "drain", Budget: time.Second, List: items(c.hang("turn", "x"))}}}, Options{Exit: noExit(t)})
		synctest.Wait()
		if got, err := r.Extend("", "", 1<<62); got != MaxExtension {
			t.Errorf("got %s, %v", got, err)
		}
		_, err := r.Extend("", "", time.Second)
		wantCode(t, err, ops.CodeConflict)
		<-r.Done()
		wantElapsed(t, began, MaxExtension+time.Second)
	})
	bubble(t, "refuses an invalid time, an unknown phase and an ended one", func(t *testing.T) {
		r := Start(Plan{[]Phase{{Name: "drain", Budget: time.Second, List: items(takes("x", time.Second))}}}, Options{Exit: noExit(t)})
		synctest.Wait()
		for _, d := range []time.Duration{0, -time.Second, -1 << 63} {
			_, err := r.Extend("", "", d)
			wantCode(t, err, ops.CodeInvalid)
		}
		_, err := r.Extend("nonsense", "", time.Second)
		wantCode(t, err, ops.CodeNotFound)
		_, err = r.Extend("drain", "nonsense", time.Second)
		wantCode(t, err, ops.CodeNotFound)
		<-r.Done()
		_, err = r.Extend("", "", time.Second)
		wantCode(t, err, ops.CodeNotStopping)
	})
	bubble(t, "reaches an item that asked for its deadline before", func(t *testing.T) {
		var err error
		r := Start(Plan{[]Phase{{Name: "kill", Budget: time.Second, List: items(Item{Kind: "task", ID: "x", Run: func(ctx context.Context) error {
			first, _ := ctx.Deadline()
			time.Sleep(500 * time.Millisecond)
			if now, _ := ctx.Deadline(); now.Sub(first) != 2*time.Second {
				err = errors.New("the deadline stood still")
			}
			return nil
		}})}}}, Options{Exit: noExit(t)})
		synctest.Wait()
		_, e := r.Extend("", "", 2*time.Second)
		mustDo(t, e)
		<-r.Done()
		mustDo(t, err)
	})
}

func TestForceItem(t *testing.T) {
	// killer gives a grace that its context, ended, cuts short.
	killer := func(grace time.Duration, cause *error) Item {
		return Item{Kind: "tree", ID: "t", Run: func(ctx context.Context) error {
			select {
			case <-time.After(grace):
			case <-ctx.Done():
				*cause = context.Cause(ctx)
			}
			time.Sleep(100 * time.Millisecond) // KILL and the look
			return nil
		}}
	}
	bubble(t, "ends the grace of an item, which is still waited for", func(t *testing.T) {
		c := newCast(t)
		began := time.Now()
		var cause error
		r := Start(Plan{[]Phase{{Name: "sweep", Budget: 30 * time.Second, List: items(killer(20*time.Second, &cause), takes("other", 5*time.Second), c.hang("task", "hung"))}}}, Options{Exit: noExit(t)})
		time.Sleep(time.Second)
		mustDo(t, r.ForceItem("sweep", "tree:t", "uid 1000"))
		mustDo(t, r.ForceItem("", "hung", "uid 1000"))
		<-r.Done()
		wantElapsed(t, began, 5*time.Second)
		p := r.Report().Phases[0]
		if it := itemOf(t, p, "t"); it.State != ops.StepDone || it.ElapsedMS != 1100 || !errors.Is(cause, ErrForced) {
			t.Errorf("the killer is %+v, its context's cause %v", it, cause)
		}
		if it := itemOf(t, p, "other"); it.State != ops.StepDone {
			t.Errorf("the other is %+v", it)
		}
		if it := itemOf(t, p, "hung"); it.State != ops.StepTimedOut || it.ElapsedMS != 2000 || it.Detail != "did not return after it was forced by uid 1000" {
			t.Errorf("the one that ignores its context is %+v, want it abandoned after %s", it, ForceGrace)
		}
	})
	bubble(t, "ends all items of the phase that runs", func(t *testing.T) {
		c := newCast(t)
		began := time.Now()
		r := Start(Plan{[]Phase{{Name: "drain", Budget: time.Minute, List: items(takes("a", time.Hour), c.hang("task", "b"))}}}, Options{Exit: noExit(t)})
		time.Sleep(time.Second)
		mustDo(t, r.ForceItem("drain", "", "uid 1000"))
		<-r.Done()
		wantElapsed(t, began, time.Second+ForceGrace)
		p := r.Report().Phases[0]
		if it := itemOf(t, p, "a"); it.State != ops.StepSkipped || it.Detail != "forced by uid 1000: forced by an operator" {
			t.Errorf("the one that heeds its context is %+v", it)
		}
		if it := itemOf(t, p, "b"); it.State != ops.StepTimedOut {
			t.Errorf("the one that does not is %+v", it)
		}
	})
	bubble(t, "never gives more time than there was", func(t *testing.T) {
		c := newCast(t)
		began := time.Now()
		r := Start(Plan{[]Phase{{Name: "drain", Budget: time.Second, List: items(c.hang("task", "b"))}}}, Options{Exit: noExit(t)})
		time.Sleep(900 * time.Millisecond)
		mustDo(t, r.ForceItem("drain", "b", "x"))
		<-r.Done()
		wantElapsed(t, began, time.Second)
	})
	bubble(t, "refuses a vital phase and one that has not begun", func(t *testing.T) {
		r := Start(Plan{[]Phase{{Name: "mark", Budget: time.Second, Vital: true, List: items(takes("a", time.Second))}, {Name: "next", Budget: time.Second}}}, Options{Exit: noExit(t)})
		synctest.Wait()
		wantCode(t, r.ForceItem("mark", "a", "x"), ops.CodeForbidden)
		wantCode(t, r.ForceItem("next", "", "x"), ops.CodeConflict)
		wantCode(t, r.ForceItem("nonsense", "", "x"), ops.CodeNotFound)
		<-r.Done()
	})
}
