package ops

import (
	"errors"
	"fmt"
	"slices"
)

// What a report can say.
var (
	reportOutcomes = []string{ShutdownRunning, ShutdownClean, ShutdownIncomplete, ShutdownForced}
	reportModes    = []Mode{ModeGraceful, ModeFast, ModeImmediate}
	stepStates     = []StepState{StepPending, StepRunning, StepDone, StepTimedOut, StepFailed, StepSkipped}
)

// Validate checks a report that was read from a file, as that of a life. What no gateway writes is an error that says what is
// wrong.
func (s Shutdown) Validate(life string) error {
	switch {
	case s.Life != life:
		return fmt.Errorf("it is of life %.40q", s.Life)
	case s.ID == "":
		return errors.New("it names no shutdown")
	case !slices.Contains(reportOutcomes, s.Outcome):
		return fmt.Errorf("unknown outcome of a shutdown %.40q", s.Outcome)
	case !slices.Contains(reportModes, s.Mode):
		return fmt.Errorf("unknown mode of a shutdown %.40q", string(s.Mode))
	case s.StartedAt.IsZero():
		return errors.New("it began at no time")
	case s.Outcome != ShutdownRunning && s.EndedAt.IsZero():
		return errors.New("it is over and ended at no time")
	case len(s.Phases) == 0:
		return errors.New("it has no phases")
	}
	for _, p := range s.Phases {
		if err := checkStep("phase", p.Name, p.State, p.ElapsedMS, p.BudgetMS); err != nil {
			return err
		}
		for _, it := range p.Items {
			if err := checkStep("item", it.Kind+" "+it.ID, it.State, it.ElapsedMS, it.BudgetMS); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkStep(kind, name string, state StepState, elapsed, budget int64) error {
	switch {
	case name == "":
		return fmt.Errorf("a %s has no name", kind)
	case !slices.Contains(stepStates, state):
		return fmt.Errorf("%s %.40q: unknown state %.40q", kind, name, string(state))
	case elapsed < 0 || budget < 0:
		return fmt.Errorf("%s %.40q took a negative time", kind, name)
	}
	return nil
}
