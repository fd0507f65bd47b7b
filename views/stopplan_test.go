package views

import (
	"testing"

	"gatewaytui/core/ops"
	"gatewaytui/core/shutdown"
)

func TestWhichPhasesRunAndWhichAreNeverSkippedIsWhatTheStandardPlanSays(t *testing.T) {
	strength := map[ops.Mode]int{ops.ModeGraceful: 1, ops.ModeFast: 2, ops.ModeImmediate: 3}
	for _, p := range shutdown.Standard(shutdown.Budgets{}).Phases {
		if vital[p.Name] != p.Vital {
			t.Errorf("phase %s: never skipped is %v here and %v in the plan", p.Name, vital[p.Name], p.Vital)
		}
		for mode, n := range strength {
			cut := !p.Vital && p.CutBy != "" && n >= strength[p.CutBy]
			v := stopAt{Shutdown: ops.Shutdown{Mode: mode}}
			if runs := v.willRun(ops.Phase{Name: p.Name, State: ops.StepPending}); runs == cut {
				t.Errorf("phase %s in a stop of mode %s: runs is %v here and %v in the plan", p.Name, mode, runs, !cut)
			}
		}
	}
}
