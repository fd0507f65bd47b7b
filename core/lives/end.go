package lives

import (
	"gatewaytui/core/ops"
	"gatewaytui/core/shutdown"
)

// Ended is how a life ended that did not record its end. report is the report of its stop, zero where there is none or
// where it cannot be used. stopped means that a stop had begun, because there is a report, readable or not, or the
// clean-shutdown marker. A completed stop decides. Without completion the life was cut short in the running phase.
// Without a stop it crashed.
func Ended(report ops.Shutdown, stopped bool) (outcome ops.Outcome, phase string) {
	switch {
	case report.Outcome != "" && report.Outcome != ops.ShutdownRunning:
		return EndOf(report)
	case stopped:
		if p, running := report.Running(); running {
			phase = p.Name
		}
		return ops.OutcomeCutShort, phase
	}
	return ops.OutcomeCrashed, ""
}

// EndOf is how a life ended whose stop was completed. It is clean only if nothing of the life was left: a sweep that did
// not find everything gone counts as cut short (A11).
func EndOf(report ops.Shutdown) (outcome ops.Outcome, phase string) {
	for _, p := range report.Phases {
		if p.Name == shutdown.PhaseSweep && (p.State == ops.StepFailed || p.State == ops.StepTimedOut) {
			return ops.OutcomeCutShort, p.Name
		}
	}
	return ops.OutcomeClean, ""
}
