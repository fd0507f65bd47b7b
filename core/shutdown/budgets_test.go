package shutdown

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/core/ops"
)

// defaults are the settings of CONTRACT.md, 3.
func defaults() Budgets {
	return Budgets{
		Drain: 60 * time.Second, Notify: 3 * time.Second, InterruptGrace: 4500 * time.Millisecond, KillGrace: 2 * time.Second,
		Agent: 3 * time.Second, Adapter: 5 * time.Second, Background: time.Second, Store: 3 * time.Second,
	}
}

func names(p Plan) []string {
	var out []string
	for _, f := range p.Phases {
		out = append(out, f.Name)
	}
	return out
}

func TestS1_TreesAreKilledBeforeAnyAdapterDisconnectsAndAgainAfterEverything(t *testing.T) {
	want := []string{
		PhaseMark, PhaseNotify, PhaseDrain, PhaseInterrupt, PhaseReap, PhaseAgents, PhaseAdapters, PhaseBackground, PhaseRelease,
		PhaseSweep, PhaseStores, PhaseSurrender,
	}
	if got := names(Standard(defaults())); !slices.Equal(got, want) {
		t.Errorf("the phases are\n%v, want\n%v", got, want)
	}
}

func TestEachModeRunsItsPhases(t *testing.T) {
	all := names(Standard(defaults()))
	without := func(names ...string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(n string) bool { return slices.Contains(names, n) })
	}
	for _, tt := range []struct {
		name string
		mode ops.Mode
		want []string
	}{
		{"a stop of no mode is graceful: all of them", "", all},
		{"a graceful one runs all of them", ops.ModeGraceful, all},
		{"a fast one runs all but the drain", ops.ModeFast, without(PhaseDrain)},
		{"an immediate one runs what must happen", ops.ModeImmediate, []string{PhaseMark, PhaseReap, PhaseSweep, PhaseStores, PhaseSurrender}},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			plan := Standard(defaults())
			for i := range plan.Phases {
				plan.Phases[i].List = items(Item{Kind: "task", ID: "x", Run: func(context.Context) error { return nil }})
			}
			r := Start(plan, Options{Mode: tt.mode, Exit: noExit(t)})
			<-r.Done()
			var ran []string
			for _, p := range r.Report().Phases {
				switch p.State {
				case ops.StepDone:
					ran = append(ran, p.Name)
				case ops.StepSkipped:
				default:
					t.Errorf("phase %s is %s", p.Name, p.State)
				}
			}
			if !slices.Equal(ran, tt.want) {
				t.Errorf("ran %v, want %v", ran, tt.want)
			}
		})
	}
}

func TestS2_TheDefaultsAddUpTo28SecondsWithoutTheDrain(t *testing.T) {
	p := Standard(defaults())
	if got := p.WorstCase() - 60*time.Second; got != 28*time.Second {
		t.Errorf("everything but the drain adds up to %s, want 28s", got)
	}
	want := map[string]time.Duration{
		PhaseMark: 2 * time.Second, PhaseNotify: 3 * time.Second, PhaseDrain: 60 * time.Second, PhaseInterrupt: 4500 * time.Millisecond,
		PhaseReap: 3 * time.Second, PhaseAgents: 3 * time.Second, PhaseAdapters: 5 * time.Second, PhaseBackground: time.Second,
		PhaseRelease: 0, PhaseSweep: 3 * time.Second, PhaseStores: 3 * time.Second, PhaseSurrender: 500 * time.Millisecond,
	}
	for _, f := range p.Phases {
		if f.Budget != want[f.Name] {
			t.Errorf("phase %s has %s, want %s", f.Name, f.Budget, want[f.Name])
		}
		if f.Bound == "" {
			t.Errorf("phase %s does not say what sets its budget", f.Name)
		}
	}
}

func TestS2_TimeoutStopSecIsTheDrainAnd30Seconds(t *testing.T) {
	for _, tt := range []struct {
		name        string
		drain, want time.Duration
	}{
		{"90 s by default", 60 * time.Second, 90 * time.Second},
		{"no drain", 0, 30 * time.Second},
		{"a negative drain is zero", -time.Second, 30 * time.Second},
		{"a short one", 10 * time.Second, 40 * time.Second},
		{"whole seconds", 1500 * time.Millisecond, 32 * time.Second},
		{"three minutes", 3 * time.Minute, 210 * time.Second},
		{"an hour", time.Hour, time.Hour + 30*time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := defaults()
			b.Drain = tt.drain
			p := Standard(b)
			if got := p.TimeoutStopSec(); got != tt.want {
				t.Errorf("TimeoutStopSec is %s, want %s", got, tt.want)
			}
			if worst := p.WorstCase(); worst+Slack > p.TimeoutStopSec() {
				t.Errorf("the worst case %s and the watchdog's %s exceed TimeoutStopSec %s", worst, Slack, p.TimeoutStopSec())
			}
		})
	}
}

// anyDuration is one that a config may hold, the absurd included.
func anyDuration() *rapid.Generator[time.Duration] {
	return rapid.OneOf(
		rapid.SampledFrom([]time.Duration{-1 << 63, -time.Second, 0, 1, time.Millisecond, time.Second, time.Minute, 1<<63 - 1}),
		rapid.Map(rapid.Int64Range(0, int64(5*time.Minute)), func(n int64) time.Duration { return time.Duration(n) }),
	)
}

func anyBudgets(t *rapid.T) Budgets {
	d := anyDuration()
	return Budgets{
		Drain: d.Draw(t, "drain"), Notify: d.Draw(t, "notify"), InterruptGrace: d.Draw(t, "interrupt"), KillGrace: d.Draw(t, "kill"),
		Agent: d.Draw(t, "agent"), Adapter: d.Draw(t, "adapter"), Background: d.Draw(t, "background"), Store: d.Draw(t, "store"),
	}
}

// A3: for any config, what the service manager is asked for covers it.
func TestS2_TheWorstCaseIsAlwaysBelowTimeoutStopSec(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Standard(anyBudgets(t))
		worst, ask := p.WorstCase(), p.TimeoutStopSec()
		if worst <= 0 || worst+Slack > ask {
			t.Fatalf("the worst case is %s, TimeoutStopSec %s", worst, ask)
		}
		if ask%time.Second != 0 {
			t.Fatalf("TimeoutStopSec is %s, which is not a whole number of seconds", ask)
		}
		if _, shrunk := p.Fit(ask); len(shrunk) > 0 && p.Phase(PhaseAdapters).Budget != Unbounded {
			t.Fatalf("under the limit that it asked for the plan shrinks: %+v", shrunk)
		}
	})
}

func TestFitShrinksTheDrainFirstThenTheRestInProportion(t *testing.T) {
	p := Standard(defaults())
	budgets := func(p Plan) map[string]time.Duration {
		out := map[string]time.Duration{}
		for _, f := range p.Phases {
			out[f.Name] = f.Budget
		}
		return out
	}
	full := budgets(p)

	t.Run("an unknown limit changes nothing", func(t *testing.T) {
		got, shrunk := p.Fit(0)
		if len(shrunk) != 0 || got.WorstCase() != p.WorstCase() {
			t.Errorf("the worst case is %s, shrunk %+v", got.WorstCase(), shrunk)
		}
	})
	t.Run("systemd's 90 s leave it whole", func(t *testing.T) {
		if _, shrunk := p.Fit(90 * time.Second); len(shrunk) != 0 {
			t.Errorf("shrunk %+v", shrunk)
		}
	})
	t.Run("45 s take from the drain alone, and say so", func(t *testing.T) {
		got, shrunk := p.Fit(45 * time.Second)
		for name, d := range budgets(got) {
			want := full[name]
			if name == PhaseDrain {
				want = 45*time.Second - Slack - 28*time.Second
			}
			if d != want {
				t.Errorf("phase %s gets %s, want %s", name, d, want)
			}
		}
		if want := (ops.ShrunkPhase{Name: PhaseDrain, WantedMS: 60_000, GotMS: 16_000}); len(shrunk) != 1 || shrunk[0] != want {
			t.Errorf("shrunk is %+v, want %+v", shrunk, want)
		}
	})
	t.Run("15 s leave no drain and take from the graces in proportion", func(t *testing.T) {
		got, shrunk := p.Fit(15 * time.Second)
		b := budgets(got)
		if b[PhaseDrain] != 0 {
			t.Errorf("the drain keeps %s", b[PhaseDrain])
		}
		share := float64(b[PhaseNotify]) / float64(full[PhaseNotify])
		for _, name := range []string{PhaseInterrupt, PhaseAgents, PhaseAdapters, PhaseBackground, PhaseSweep} {
			if got := float64(b[name]) / float64(full[name]); got < share-0.001 || got > share+0.001 {
				t.Errorf("phase %s keeps %.3f of its time, notify %.3f", name, got, share)
			}
		}
		for _, name := range []string{PhaseMark, PhaseReap, PhaseStores, PhaseSurrender} {
			if got := float64(b[name]) / float64(full[name]); got <= share {
				t.Errorf("the vital phase %s keeps %.3f of its time, notify %.3f", name, got, share)
			}
		}
		if len(shrunk) != 11 { // all but release, which has no budget
			t.Errorf("%d phases say that they shrank, want 11: %+v", len(shrunk), shrunk)
		}
	})
	t.Run("the plan itself is not changed", func(t *testing.T) {
		if got := budgets(p); got[PhaseDrain] != 60*time.Second || got[PhaseNotify] != 3*time.Second {
			t.Errorf("Fit wrote into the plan: %v", got)
		}
	})
}

func TestALongTimeForTheStoresTakesNoneFromTheMarkerAndTheKills(t *testing.T) {
	b := defaults()
	b.Store = 5 * time.Minute
	got, _ := Standard(b).Fit(3 * time.Second)
	for name, want := range map[string]time.Duration{PhaseMark: 100 * time.Millisecond, PhaseReap: 600 * time.Millisecond} {
		if d := got.Phase(name).Budget; d < want {
			t.Errorf("phase %s gets %s of 3s, want %s", name, d, want)
		}
	}
}

func TestFitAlwaysFitsAndNeverDropsAVitalPhase(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Standard(anyBudgets(t))
		limit := rapid.OneOf(rapid.Just(time.Duration(0)), rapid.Map(rapid.Int64Range(int64(100*time.Millisecond), int64(10*time.Minute)),
			func(n int64) time.Duration { return time.Duration(n) })).Draw(t, "limit")
		got, shrunk := p.Fit(limit)
		worst := got.WorstCase()
		if limit > 0 && worst+slackFor(limit) > limit {
			t.Fatalf("the worst case %s and the watchdog's %s exceed the limit %s", worst, slackFor(limit), limit)
		}
		others := false
		for i, f := range got.Phases {
			switch was := p.Phases[i].Budget; {
			case f.Budget < 0:
				t.Fatalf("phase %s is still unbounded", f.Name)
			case f.Vital && was >= time.Millisecond && f.Budget == 0:
				t.Fatalf("the vital phase %s vanished, of %s, under %s", f.Name, was, limit)
			case was >= 0 && f.Budget > was:
				t.Fatalf("phase %s grew from %s to %s", f.Name, was, f.Budget)
			case was > 0 && f.Budget < min(was, longest) && f.Name != PhaseDrain:
				others = true
			}
		}
		if drain := got.Phase(PhaseDrain).Budget; others && drain > 0 {
			t.Fatalf("others shrank while the drain keeps %s", drain)
		}
		if limit == 0 && len(shrunk) != 0 {
			t.Fatalf("shrunk without a limit: %+v", shrunk)
		}
		rows := p.Rows(limit)
		var sum int64
		for _, r := range rows.Phases {
			sum += r.BudgetMS
		}
		if !rows.Fits || rows.WorstCaseMS != ops.Millis(worst) || rows.SupervisorBudgetMS != ops.Millis(limit) {
			t.Fatalf("the rows say %+v, the worst case is %s", rows, worst)
		}
		if n := int64(len(rows.Phases)); sum < rows.WorstCaseMS || sum > rows.WorstCaseMS+n {
			t.Fatalf("the rows' budgets add up to %d ms, the worst case is %d ms", sum, rows.WorstCaseMS)
		}
	})
}

// Under s6's 3 s, the shortest grace found in practice (DESIGN.md, 3), with everything hung: marker, turns and trees had
// their time within it, and the process ends by itself.
func TestAStopIsUsefulWithinThreeSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCast(t)
		began := time.Now()
		var killed time.Duration
		plan := Standard(defaults())
		for i := range plan.Phases {
			plan.Phases[i].List = items(c.hang("task", "x"))
		}
		plan.Phase(PhaseMark).List = items(takes("marker", 10*time.Millisecond))
		plan.Phase(PhaseReap).List = items(takes("trees", 300*time.Millisecond), Item{Kind: "clock", ID: "x", Run: func(ctx context.Context) error {
			killed = time.Since(began)
			return nil
		}})
		r := Start(plan, Options{Limit: 3 * time.Second, Exit: noExit(t)})
		<-r.Done()
		if took := time.Since(began); took >= 3*time.Second {
			t.Errorf("took %s", took)
		}
		rep := r.Report()
		for _, name := range []string{PhaseMark, PhaseReap} {
			if p := phaseOf(t, rep, name); p.State != ops.StepDone {
				t.Errorf("phase %s is %s with %d ms: %s", name, p.State, p.BudgetMS, p.Detail)
			}
		}
		if killed > time.Second {
			t.Errorf("the kill began after %s", killed)
		}
		if p := phaseOf(t, rep, PhaseDrain); p.BudgetMS != 0 {
			t.Errorf("the drain kept %d ms", p.BudgetMS)
		}
	})
}
