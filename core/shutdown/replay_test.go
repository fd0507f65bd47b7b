package shutdown

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/ops"
)

// What a replay shows at a moment is what a console saw at that moment.
func TestOP6_AReplayShowsTheStopAsItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCast(t)
		plan := Standard(defaults())
		plan.Phase(PhaseMark).List = items(takes("marker", 30*time.Millisecond))
		plan.Phase(PhaseNotify).When = func(*Run) (bool, string) { return false, "no turn runs" }
		plan.Phase(PhaseDrain).List = items(takes("quick", 4*time.Second), takes("slow", 9*time.Second))
		plan.Phase(PhaseAgents).List = items(fails("agent"), takes("other", 700*time.Millisecond))
		plan.Phase(PhaseAdapters).List = items(takes("telegram", time.Second), c.hang("adapter", "feishu"))
		r := Start(plan, Options{ID: "s", Life: "l", Limit: 90 * time.Second, Exit: noExit(t)})
		seen := map[time.Duration]ops.Shutdown{}
		for at := 77 * time.Millisecond; ; at += 77 * time.Millisecond { // never in the moment of a change
			time.Sleep(77 * time.Millisecond)
			if s := r.Report(); s.EndedAt.IsZero() {
				seen[at] = s
			} else {
				break
			}
		}
		<-r.Done()
		report := r.Report()
		for at, was := range seen {
			now := report.At(at)
			if now.Outcome != was.Outcome || now.ElapsedMS != was.ElapsedMS || now.Mode != was.Mode || now.Left(0) != was.Left(0) {
				t.Fatalf("after %s the replay is %s at %dms with %s left, the stop was %s at %dms with %s left", at, now.Outcome, now.ElapsedMS, now.Left(0), was.Outcome, was.ElapsedMS, was.Left(0))
			}
			for i, p := range was.Phases {
				if got := now.Phases[i]; got.State != p.State || got.ElapsedMS != p.ElapsedMS || !got.StartedAt.Equal(p.StartedAt.Time) || len(got.Items) != len(p.Items) {
					t.Fatalf("after %s phase %s is %+v in the replay, and was %+v", at, p.Name, got, p)
				}
				for j, it := range p.Items {
					got := now.Phases[i].Items[j]
					if got.Detail = it.Detail; got != it {
						t.Fatalf("after %s an item is %+v in the replay, and was %+v", at, got, it)
					}
				}
			}
		}
		if len(seen) < 150 {
			t.Errorf("%d moments were compared", len(seen))
		}
		if end := report.At(time.Hour); end.Outcome != report.Outcome || end.ElapsedMS != report.ElapsedMS {
			t.Errorf("at the end it is %+v", end)
		}
	})
}

func TestOP6_AReplayKnowsWhenAStopBecameStrongerAndWhatItDoesNotKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan := Standard(defaults())
		plan.Phase(PhaseDrain).List = items(takes("slow", time.Minute))
		plan.Phase(PhaseStores).List = func(context.Context, *Run) []Item { return []Item{takes("db", time.Second)} }
		r := Start(plan, Options{ID: "s", Life: "l", Exit: noExit(t)})
		time.Sleep(3 * time.Second)
		r.Escalate(ops.ModeFast, "uid 0")
		<-r.Done()
		report := r.Report()
		if before, after := report.At(2*time.Second), report.At(3500*time.Millisecond); before.Mode != ops.ModeGraceful || len(before.Escalations) != 0 || after.Mode != ops.ModeFast || len(after.Escalations) != 1 {
			t.Errorf("it became stronger from %s to %s", before.ModeText(), after.ModeText())
		}
		report.Phases[2].StartedAt = ops.Time{} // a report of another version
		if p := report.At(2 * time.Second).Phases[2]; p.State != ops.StepPending || p.Detail != ops.WhenUnknown {
			t.Errorf("a phase without a beginning is %+v", p)
		}
		moments := report.Moments()
		if moments[0] != 0 || moments[len(moments)-1] != report.Took() {
			t.Errorf("its moments are %v", moments)
		}
	})
}
