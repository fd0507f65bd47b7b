package shutdown

import (
	"context"
	"testing"
	"time"

	"gatewaytui/core/ops"
)

// lateBy is an item that waits for nothing and is run late, as on a machine with other work.
func lateBy(d time.Duration) Item {
	return Item{Kind: "sessions", ID: "all", Run: func(ctx context.Context) error {
		time.Sleep(d) // in virtual time
		return ctx.Err()
	}}
}

// A phase that only drops memory leaves a stop complete, however late the machine runs it; the plan's sum has
// nothing for it, and the phases after it keep their time.
func TestAPhaseOfMemoryAloneMayBeRunLate(t *testing.T) {
	for _, tt := range []struct {
		name    string
		late    time.Duration
		outcome string
		state   ops.StepState
		took    time.Duration
	}{
		{"at once", 0, ops.ShutdownClean, ops.StepDone, 0},
		{"later than a phase without a budget may", 10 * Instant, ops.ShutdownClean, ops.StepDone, 10 * Instant},
		{"as late as its leeway allows", releaseLeeway - time.Millisecond, ops.ShutdownClean, ops.StepDone, releaseLeeway - time.Millisecond},
		{"later: then it hangs", time.Minute, ops.ShutdownIncomplete, ops.StepTimedOut, releaseLeeway},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			p := standing(map[string][]Item{PhaseRelease: {lateBy(tt.late)}, PhaseStores: {takes("db", time.Second)}})
			r := Start(p, Options{Exit: noExit(t)})
			<-r.Done()
			rep := r.Report()
			release := phaseOf(t, rep, PhaseRelease)
			if rep.Outcome != tt.outcome || release.State != tt.state || release.ElapsedMS != ops.Millis(tt.took) {
				t.Errorf("the stop is %s, the phase %s after %d ms: %s; want %s, %s after %s", rep.Outcome, release.State, release.ElapsedMS, release.Detail, tt.outcome, tt.state, tt.took)
			}
			if stores := phaseOf(t, rep, PhaseStores); stores.State != ops.StepDone {
				t.Errorf("the stores are %+v", stores)
			}
			time.Sleep(tt.late) // the item returns; in virtual time
		})
	}
	bubble(t, "where the phases before left nothing over, it has a quarter of the slack", func(t *testing.T) {
		c := newCast(t)
		began := time.Now()
		r := Start(Plan{[]Phase{
			{Name: "first", Budget: time.Second, List: items(c.hang("task", "hangs"))},
			{Name: "memory", Leeway: time.Second, List: items(lateBy(200 * time.Millisecond))},
			{Name: "next", Budget: time.Second, List: items(c.hang("task", "hangs too"))},
		}}, Options{Exit: noExit(t)})
		<-r.Done()
		if p := phaseOf(t, r.Report(), "memory"); p.State != ops.StepDone {
			t.Errorf("the phase is %+v", p)
		}
		if took, most := time.Since(began), 2*time.Second+Slack/4; took > most {
			t.Errorf("the stop took %s, want %s at most", took, most)
		}
	})
	t.Run("the sum of the plan has nothing for it", func(t *testing.T) {
		p := standing(nil)
		with := p.WorstCase()
		p.Phase(PhaseRelease).Leeway = 0
		if without := p.WorstCase(); with != without {
			t.Errorf("the plan costs %s with a leeway and %s without", with, without)
		}
	})
}
