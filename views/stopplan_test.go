package views

import (
	"testing"

	"gatewaytui/core/ops"
	"gatewaytui/core/shutdown"
)

// No table here says which phases run: the rows of the plan and of the report do.
func TestWhichPhasesRunAndWhichAreNeverSkippedIsWhatTheStandardPlanSays(t *testing.T) {
	strength := map[ops.Mode]int{ops.ModeGraceful: 1, ops.ModeFast: 2, ops.ModeImmediate: 3}
	plan := shutdown.Standard(shutdown.Budgets{})
	rows := plan.Rows(0).Phases
	for i, p := range plan.Phases {
		if rows[i].Vital != p.Vital {
			t.Errorf("phase %s: never skipped is %v in the row and %v in the plan", p.Name, rows[i].Vital, p.Vital)
		}
		for mode, n := range strength {
			cut := !p.Vital && p.CutBy != "" && n >= strength[p.CutBy]
			v := stopAt{Shutdown: ops.Shutdown{Mode: mode}}
			if runs := v.WillRun(ops.Phase{Name: p.Name, State: ops.StepPending, PhaseRules: rows[i].PhaseRules}); runs == cut {
				t.Errorf("phase %s in a stop of mode %s: runs is %v here and %v in the plan", p.Name, mode, runs, !cut)
			}
		}
	}
}
