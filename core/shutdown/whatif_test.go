package shutdown

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/ops"
)

// meets runs the stop that a load describes, with items that behave as those of package phases do: turns that end when they
// are interrupted, platforms that ignore their context, a kill that waits for its grace, a disk with slow fsyncs.
func meets(t *testing.T, plan Plan, limit time.Duration, l Load) (took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		c := &cast{make(chan struct{})}
		defer synctest.Wait()
		defer close(c.release)
		grace := plan.killGrace()
		var left time.Duration // of the grace, for the sweep
		sync := func(n int) Item { return takes("fsyncs", time.Duration(n)*l.Sync) }
		plan.Phase(PhaseMark).List = items(sync(markSyncs))
		plan.Phase(PhaseStores).List = items(sync(storeSyncs))
		var turns, adapters, drained []Item
		for i := range l.Turns {
			turns = append(turns, c.hang("turn", fmt.Sprint(i)))
			drained = append(drained, takes(fmt.Sprint(i), 0))
		}
		for _, name := range l.Hangs {
			adapters = append(adapters, c.hang("adapter", name))
		}
		plan.Phase(PhaseDrain).List = items(turns...)
		plan.Phase(PhaseInterrupt).List = items(drained...)
		plan.Phase(PhaseAdapters).List = items(adapters...)
		kill := func(phase string, d time.Duration) {
			plan.Phase(phase).List = func(context.Context, *Run) []Item { return []Item{takes("kill", d)} }
		}
		switch {
		case l.Processes == 0:
		case l.Turns > 0:
			kill(PhaseReap, grace)
		default:
			plan.Phase(PhaseAgents).List = items(Item{Kind: "processes", ID: "all", Run: func(ctx context.Context) error {
				deadline, _ := ctx.Deadline()
				own := max(min(grace, time.Until(deadline)-handOver), 0)
				left = grace - own
				time.Sleep(own)
				return nil
			}})
			plan.Phase(PhaseSweep).List = func(context.Context, *Run) []Item { return []Item{takes("join", left)} }
		}
		r := Start(plan, Options{Limit: limit, Exit: noExit(t)})
		<-r.Done()
		took = time.Duration(r.Report().ElapsedMS) * time.Millisecond
	})
	return took
}

// What the plan expects under assumptions is what the executor then takes, and the worst case bounds it.
func TestOP9_WhatAPlanExpectsIsWhatTheStopTakes(t *testing.T) {
	for _, ifs := range [][]string{
		nil,
		{"turns=2"},
		{"turns=2", "drain=10s"},
		{"hang=telegram"},
		{"hang=telegram", "hang=slack", "adapters=2s"},
		{"processes=100"},
		{"processes=100", "turns=1", "drain=3s"},
		{"processes=3", "kill_grace=8s"},
		{"processes=3", "agents=100ms"},
		{"fsync=150ms"},
		{"fsync=2s"},
		{"turns=1", "processes=9", "hang=telegram", "fsync=80ms", "limit=20s"},
		{"turns=1", "processes=9", "hang=telegram", "limit=3s"},
		{"turns=1", "limit=10m"},
	} {
		t.Run(strings.Join(ifs, " "), func(t *testing.T) {
			plan, limit, load, err := WhatIf(Standard(defaults()), 90*time.Second, Load{}, ifs)
			if err != nil {
				t.Fatal(err)
			}
			rows := plan.RowsUnder(limit, load)
			want := time.Duration(rows.ExpectedMS) * time.Millisecond
			got := meets(t, Plan{slices.Clone(plan.Phases)}, limit, load)
			if off := (got - want).Abs(); off > 10*time.Millisecond {
				t.Errorf("expected were %s, it took %s\n%+v", want, got, rows.Phases)
			}
			if worst := time.Duration(rows.WorstCaseMS) * time.Millisecond; want > worst+slackFor(limit)/4 || rows.Fits != (worst <= limit) {
				t.Errorf("the worst case is %s, expected are %s, and it fits: %v", worst, want, rows.Fits)
			}
		})
	}
}

func TestOP9_AnAssumptionThatCannotBeUsedIsRefused(t *testing.T) {
	for _, bad := range []string{"", "drain", "drain=", "drain=-1s", "drain=long", "drains=3s", "processes=-1", "processes=many", "hang=", "limit=9999999h", "fsync=1"} {
		if _, _, _, err := WhatIf(Standard(defaults()), 0, Load{}, []string{bad}); !ops.HasCode(err, ops.CodeInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	plan := Standard(defaults())
	if _, _, _, err := WhatIf(plan, 0, Load{}, []string{"drain=1s", "kill_grace=9s"}); err != nil || plan.Phase(PhaseDrain).Budget != time.Minute {
		t.Errorf("%v; the drain of the plan itself is %s", err, plan.Phase(PhaseDrain).Budget)
	}
}
