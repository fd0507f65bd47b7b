package shutdown

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/soak"
)

var (
	planSeed  = flag.Uint64("plan.seed", 0, "run the random plan of this seed alone")
	planCount = flag.Int("plan.count", 0, "how many random plans to run; 0: as many as make test or make soak does")
)

// TestRandomPlans runs plans full of things that hang, panic, fail and dawdle while someone pulls every lever, and holds
// each to what the package promises: no plan takes longer than it said, and its report is complete.
func TestRandomPlans(t *testing.T) {
	if *planSeed != 0 {
		randomPlan(t, *planSeed)
		return
	}
	base, count := rand.Uint64(), *planCount
	if count == 0 {
		count = soak.Count(t, 2_000, 10_000)
	}
	workers := min(runtime.GOMAXPROCS(0), 4)
	var granted, abandoned, cut atomic.Int64
	t.Run("workers", func(t *testing.T) {
		for w := range workers {
			t.Run(fmt.Sprint(w), func(t *testing.T) {
				t.Parallel()
				for i := w; i < count && !t.Failed(); i += workers {
					s := randomPlan(t, base+uint64(i))
					granted.Add(int64(s.granted))
					abandoned.Add(int64(s.abandoned))
					if s.cut {
						cut.Add(1)
					}
				}
			})
		}
	})
	if granted.Load() == 0 || abandoned.Load() == 0 || cut.Load() == 0 {
		t.Errorf("the plans were too tame to show anything: %s granted, %d abandoned, %d escalated", time.Duration(granted.Load()), abandoned.Load(), cut.Load())
	}
}

// story is a random plan, what was done to it and what came of it.
type story struct {
	rng  *rand.Rand
	cast *cast
	plan Plan
	o    Options
	disk *disk
	// kept is whether the file and the followers of the stop are kept on disk; prompt is whether they and the log do as they
	// should.
	kept, prompt bool
	granted      time.Duration
	abandoned    int
	cut          bool
}

func randomPlan(t *testing.T, seed uint64) *story {
	t.Helper()
	s := &story{rng: rand.New(rand.NewPCG(seed, 1)), disk: &disk{}}
	synctest.Test(t, func(t *testing.T) {
		defer func() {
			if t.Failed() {
				t.Errorf("this was: go test ./core/shutdown -run TestRandomPlans -plan.seed %d", seed)
			}
		}()
		s.cast = &cast{make(chan struct{})}
		s.draw(t)
		began := time.Now()
		r := Start(s.plan, s.o)
		s.steer(t, r)
		<-r.Done()
		took := time.Since(began)
		rep := r.Report()
		s.judge(t, r, rep, took)
		s.abandoned = abandoned(r)
		close(s.cast.release)
		synctest.Wait()
		time.Sleep(time.Hour) // what dawdles is over then
		if n := abandoned(r); n != 0 {
			t.Errorf("%d goroutines are still counted as abandoned", n)
		}
		if again := r.Report(); s.abandoned > 0 && !reflect.DeepEqual(again, rep) {
			t.Errorf("what came late changed the report from\n%+v to\n%+v", rep, again)
		}
	})
	return s
}

func (s *story) chance(percent int) bool { return s.rng.IntN(100) < percent }

func (s *story) oneOf(ds ...time.Duration) time.Duration { return ds[s.rng.IntN(len(ds))] }

// while is a time that goes by in an item or before a lever.
func (s *story) while() time.Duration {
	return s.oneOf(0, 0, time.Millisecond, Instant, 300*time.Millisecond, time.Second, time.Duration(s.rng.Int64N(int64(10*time.Second))))
}

// draw makes up the plan and the options.
func (s *story) draw(t *testing.T) {
	modes := []ops.Mode{"", ops.ModeGraceful, ops.ModeGraceful, ops.ModeFast, ops.ModeImmediate}
	for i := range 1 + s.rng.IntN(5) {
		p := Phase{
			Name:   fmt.Sprint("phase", i),
			Budget: s.oneOf(0, time.Millisecond, 100*time.Millisecond, time.Second, 5*time.Second, 30*time.Second, Unbounded, s.while()),
			Vital:  s.chance(20), Elastic: s.chance(20), Critical: s.chance(15),
			CutBy: []ops.Mode{"", "", ops.ModeFast, ops.ModeImmediate}[s.rng.IntN(4)],
		}
		switch n := s.rng.IntN(100); {
		case n < 70:
		case n < 80:
			p.When = func(*Run) (bool, string) { return true, "" }
		case n < 90:
			p.When = func(*Run) (bool, string) { return false, "not needed" }
		case n < 95:
			p.When = func(*Run) (bool, string) { panic("when") }
		default:
			p.When = func(*Run) (bool, string) { <-s.cast.release; return true, "" }
		}
		var its []Item
		for j := range s.rng.IntN(5) {
			its = append(its, s.item(j))
		}
		switch n := s.rng.IntN(100); {
		case n < 5:
		case n < 10:
			p.List = func(context.Context, *Run) []Item { panic("list") }
		case n < 15:
			p.List = func(context.Context, *Run) []Item { <-s.cast.release; return its }
		case n < 25:
			d := s.while()
			p.List = func(context.Context, *Run) []Item { time.Sleep(d); return its } // virtual
		default:
			p.List = items(its...)
		}
		s.plan.Phases = append(s.plan.Phases, p)
	}
	s.o = Options{Mode: modes[s.rng.IntN(len(modes))], ExitCode: s.rng.IntN(2) * 75, Exit: noExit(t)}
	if s.chance(50) {
		s.o.Limit = s.oneOf(100*time.Millisecond, time.Second, 3*time.Second, 10*time.Second, 90*time.Second)
	}
	s.prompt = true
	s.kept = s.chance(40)
	if s.kept {
		s.o.Save, s.o.Observe = s.disk.save, s.disk.observe
		return
	}
	if s.prompt = s.chance(60); s.prompt {
		return
	}
	switch s.rng.IntN(4) {
	case 0:
		s.o.Save = func(ops.Shutdown) error { <-s.cast.release; return nil }
	case 1:
		d := s.while()
		s.o.Save = func(ops.Shutdown) error { time.Sleep(d); return errors.New("no space left on device") } // virtual
	case 2:
		s.o.Observe = func(Event) { <-s.cast.release }
	case 3:
		s.o.Log = slog.New(&hungHandler{release: s.cast.release})
	}
}

// item is one of the things that a gateway's parts were seen to do. Its kind says which.
func (s *story) item(i int) Item {
	d := s.while()
	obeys := func(ctx context.Context, then func() error) error {
		select {
		case <-time.After(d):
			return then()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	kinds := []struct {
		name string
		run  func(ctx context.Context) error
	}{
		{"quick", func(context.Context) error { return nil }},
		{"obeys", func(ctx context.Context) error { return obeys(ctx, func() error { return nil }) }},
		{"late", func(context.Context) error { time.Sleep(d); return nil }}, // virtual
		{"hang", func(context.Context) error { <-s.cast.release; return nil }},
		{"fail", func(ctx context.Context) error { return obeys(ctx, func() error { return errors.New("broken") }) }},
		{"panic", func(ctx context.Context) error { return obeys(ctx, func() error { panic("item") }) }},
		{"leave", func(context.Context) error { runtime.Goexit(); return nil }},
		{"child", func(ctx context.Context) error { // works in a context of its own
			ctx, cancel := context.WithTimeout(ctx, d)
			defer cancel()
			<-ctx.Done()
			return ctx.Err()
		}},
	}
	k := kinds[s.rng.IntN(len(kinds))]
	it := Item{Kind: k.name, ID: fmt.Sprint(i), Run: k.run}
	if s.chance(30) {
		it.Budget = s.while()
	}
	switch n := s.rng.IntN(100); {
	case n < 70:
	case n < 90:
		it.Progress = func() (string, time.Time) { return "moving", time.Now() }
	case n < 95:
		it.Progress = func() (string, time.Time) { panic("progress") }
	default:
		it.Progress = func() (string, time.Time) { <-s.cast.release; return "", time.Time{} }
	}
	return it
}

// steer pulls levers while the plan runs.
func (s *story) steer(t *testing.T, r *Run) {
	phase := func() string {
		if s.chance(50) {
			return ""
		}
		return fmt.Sprint("phase", s.rng.IntN(6))
	}
	item := func() string { return fmt.Sprint(s.rng.IntN(4)) }
	for range s.rng.IntN(8) {
		select {
		case <-time.After(s.while()):
		case <-r.Done():
			return
		}
		switch s.rng.IntN(8) {
		case 0:
			mode := []ops.Mode{ops.ModeFast, ops.ModeFast, ops.ModeImmediate}[s.rng.IntN(3)]
			s.cut = r.Escalate(mode, "someone") || s.cut
		case 1:
			_ = r.Skip(phase(), "", "someone") // refusals are the levers' tests' business
		case 2:
			_ = r.Skip(phase(), item(), "someone")
		case 3:
			got, _ := r.Extend(phase(), "", s.while())
			s.granted += got
		case 4:
			got, _ := r.Extend(phase(), item(), s.while())
			s.granted += got
		case 5:
			_ = r.ForceItem(phase(), item(), "someone")
		case 6:
			_ = r.ForceItem(phase(), "", "someone")
		case 7:
			s.killed(t, r)
		}
	}
}

// killed compares what a SIGKILL at this moment would leave on disk with what is waited for (A9).
func (s *story) killed(t *testing.T, r *Run) {
	t.Helper()
	synctest.Wait()
	if !s.kept {
		return
	}
	saves := s.disk.saved() // and not Report below: it waits for who is asked for progress, and meanwhile items end
	waits := func(rep ops.Shutdown) []string {
		p, _ := rep.Running()
		out := []string{p.Name}
		for _, b := range rep.Blockers() {
			out = append(out, b.Kind+":"+b.ID)
		}
		return out
	}
	if onDisk, real := waits(saves[len(saves)-1]), waits(r.report()); !slices.Equal(onDisk, real) {
		t.Errorf("a kill would leave %v on disk while the stop waits for %v", onDisk, real)
	}
}

// judge holds the stop that is over to the promises.
func (s *story) judge(t *testing.T, r *Run, rep ops.Shutdown, took time.Duration) {
	t.Helper()
	fitted, _ := s.plan.Fit(s.o.Limit)
	bound := s.granted
	for _, f := range fitted.Phases {
		bound += f.Budget
	}
	if !s.prompt {
		bound += slackFor(s.o.Limit) / 8 // Done waits that long for the file and the log
	}
	if took > bound {
		t.Errorf("took %s, of which %s were granted: the plan's sum is %s", took, s.granted, bound)
	}
	if s.o.Limit > 0 && took > s.o.Limit {
		t.Errorf("took %s under a limit of %s", took, s.o.Limit)
	}
	s.judgeReport(t, rep, fitted)
	if s.kept {
		s.judgeEvents(t, rep)
		saves := s.disk.saved()
		if len(saves) == 0 {
			t.Fatal("nothing was saved")
		}
		if last := saves[len(saves)-1]; !reflect.DeepEqual(last, rep) {
			t.Errorf("the last report on disk is\n%+v, the stop's\n%+v", last, rep)
		}
	}
}

// judgeReport checks that every phase and item came to an end, in order, within its budget, and that the outcome says so.
func (s *story) judgeReport(t *testing.T, rep ops.Shutdown, fitted Plan) {
	t.Helper()
	if len(rep.Phases) != len(s.plan.Phases) {
		t.Fatalf("the report has %d phases, the plan %d", len(rep.Phases), len(s.plan.Phases))
	}
	incomplete, exit := false, s.o.ExitCode
	last := rep.StartedAt.Time
	for i, p := range rep.Phases {
		spec := fitted.Phases[i]
		instant := int64(0) // what a phase without a budget may take of what is left over
		if spec.Budget == 0 {
			instant = ops.Millis(Instant)
		}
		bad := p.State == ops.StepTimedOut || p.State == ops.StepFailed
		switch {
		case p.Name != spec.Name:
			t.Errorf("phase %d is %s, want %s", i, p.Name, spec.Name)
		case !p.State.Over():
			t.Errorf("%s is left %s", p.Name, p.State)
		case p.StartedAt.Before(last.Truncate(time.Millisecond)):
			t.Errorf("%s began before the phase before it had ended", p.Name)
		case p.State == ops.StepSkipped && p.Detail == "":
			t.Errorf("%s was skipped without a reason", p.Name)
		case p.State == ops.StepSkipped && spec.Vital && p.Detail != "not needed":
			t.Errorf("the vital %s was skipped: %s", p.Name, p.Detail)
		case p.ElapsedMS > p.BudgetMS+instant:
			t.Errorf("%s took %d ms of %d", p.Name, p.ElapsedMS, p.BudgetMS)
		case p.BudgetMS < ops.Millis(spec.Budget):
			t.Errorf("the budget of %s fell from %s to %d ms", p.Name, spec.Budget, p.BudgetMS)
		}
		failed := p.State == ops.StepFailed
		last = p.StartedAt.Add(time.Duration(max(p.ElapsedMS-1, 0)) * time.Millisecond)
		for _, it := range p.Items {
			s.judgeItem(t, p, it, instant)
			incomplete = incomplete || it.State != ops.StepDone
			bad = bad || it.State == ops.StepTimedOut || it.State == ops.StepFailed
			failed = failed || it.State == ops.StepFailed
		}
		if p.State == ops.StepDone && bad {
			t.Errorf("%s is done and holds what is not: %+v", p.Name, p.Items)
		}
		cut := p.State == ops.StepSkipped && p.Detail != "not needed" && !strings.HasPrefix(p.Detail, "not part of")
		incomplete = incomplete || bad || cut
		if failed && spec.Critical {
			exit = ExitCritical
		}
	}
	want := ops.ShutdownClean
	if incomplete {
		want = ops.ShutdownIncomplete
	}
	if rep.Mode == ops.ModeImmediate {
		want = ops.ShutdownForced
	}
	if rep.Outcome != want || rep.ExitCode != exit || rep.EndedAt.IsZero() {
		t.Errorf("ended %s with %d at %v, want %s with %d: %+v", rep.Outcome, rep.ExitCode, rep.EndedAt, want, exit, rep.Phases)
	}
	if len(rep.Blockers()) != 0 {
		t.Errorf("a stop that is over waits for %+v", rep.Blockers())
	}
}

func (s *story) judgeItem(t *testing.T, p ops.Phase, it ops.Item, instant int64) {
	t.Helper()
	allowed := map[string][]ops.StepState{
		"quick": {ops.StepDone},
		"obeys": {ops.StepDone},
		"child": {ops.StepFailed},
		"late":  {ops.StepDone},
		"fail":  {ops.StepFailed},
		"panic": {ops.StepFailed},
		"leave": {ops.StepFailed},
	}[it.Kind]
	switch {
	case !it.State.Over():
		t.Errorf("%s of %s is left %s", it.Kind, p.Name, it.State)
	case it.ElapsedMS > it.BudgetMS+instant:
		t.Errorf("%s of %s took %d ms of %d", it.Kind, p.Name, it.ElapsedMS, it.BudgetMS)
	case it.ElapsedMS > p.ElapsedMS:
		t.Errorf("%s took %d ms, its phase %s %d ms", it.Kind, it.ElapsedMS, p.Name, p.ElapsedMS)
	case it.State == ops.StepTimedOut, it.State == ops.StepSkipped: // anything may be given up
		if it.Detail == "" || it.Next != "" {
			t.Errorf("%s of %s was given up and does not say why: %+v", it.Kind, p.Name, it)
		}
	case !slices.Contains(allowed, it.State):
		t.Errorf("%s of %s is %s: %s", it.Kind, p.Name, it.State, it.Detail)
	}
}

// judgeEvents checks that the phases were reported in order: each began at most once and ended once, its items between.
func (s *story) judgeEvents(t *testing.T, rep ops.Shutdown) {
	t.Helper()
	events := s.disk.received()
	if n := len(events); n == 0 || events[n-1].Type != ops.EventShutdownEnded {
		t.Fatalf("the last event is not the end: %+v", events)
	}
	next, begun, items := 0, false, 0
	for _, e := range events[:len(events)-1] {
		if next == len(rep.Phases) {
			t.Fatalf("an event came after the last phase had ended: %+v", e)
		}
		p := rep.Phases[next]
		switch {
		case e.Phase.Name != p.Name:
			t.Fatalf("an event is about %s while %s was up: %+v", e.Phase.Name, p.Name, e)
		case e.Type == ops.EventShutdownItem && !begun:
			t.Fatalf("an item of %s ended before the phase began: %+v", p.Name, e)
		case e.Type == ops.EventShutdownItem:
			items++
		case e.Phase.State == ops.StepRunning && begun:
			t.Fatalf("%s began twice", p.Name)
		case e.Phase.State == ops.StepRunning:
			begun = true
		default:
			if e.Phase.State != p.State || items != len(p.Items) {
				t.Fatalf("%s ended as %s after %d of its items, the report says %s and %d", p.Name, e.Phase.State, items, p.State, len(p.Items))
			}
			next, begun, items = next+1, false, 0
		}
	}
	if next != len(rep.Phases) {
		t.Errorf("only %d of %d phases were reported", next, len(rep.Phases))
	}
}

// hungHandler is a log on a dead disk or a terminal that is not read.
type hungHandler struct{ release chan struct{} }

func (h *hungHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h *hungHandler) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h *hungHandler) WithGroup(string) slog.Handler            { return h }

func (h *hungHandler) Handle(context.Context, slog.Record) error {
	<-h.release
	return nil
}
