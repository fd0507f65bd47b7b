package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
)

// maxReport bounds what is read of a report, in bytes. One with 10,000 items has some 3 MB.
const maxReport = 32 << 20

// lastReport is the report of the shutdown of an earlier life; false if it left none. One that cannot be read, or that
// says what cannot be, is set aside; the error says why and where it is kept.
func (f files) lastReport(life string) (ops.Shutdown, bool, error) {
	r, found, err := f.readReport(life)
	if err != nil {
		return ops.Shutdown{}, true, errors.New(f.aside(f.report(life), err).String())
	}
	return r, found, nil
}

// readReport is lastReport for whoever may only look.
func (f files) readReport(life string) (r ops.Shutdown, found bool, err error) {
	text, err := instance.ReadFile(f.report(life), maxReport)
	if errors.Is(err, fs.ErrNotExist) {
		return r, false, nil
	}
	if err == nil {
		r, err = parseReport(text, life)
	}
	return r, err == nil, err
}

// parseReport reads the report of a life's shutdown. What no gateway writes is an error.
func parseReport(text []byte, life string) (ops.Shutdown, error) {
	var r ops.Shutdown
	if err := json.Unmarshal(text, &r); err != nil {
		return ops.Shutdown{}, err
	}
	if err := checkReport(r, life); err != nil {
		return ops.Shutdown{}, err
	}
	return r, nil
}

var (
	outcomes  = []string{ops.ShutdownRunning, ops.ShutdownClean, ops.ShutdownIncomplete, ops.ShutdownForced}
	strengths = []ops.Mode{ops.ModeGraceful, ops.ModeFast, ops.ModeImmediate}
	states    = []ops.StepState{ops.StepPending, ops.StepRunning, ops.StepDone, ops.StepTimedOut, ops.StepFailed, ops.StepSkipped}
)

func checkReport(r ops.Shutdown, life string) error {
	switch {
	case r.Life != life:
		return fmt.Errorf("it is of life %.40q", r.Life)
	case r.ID == "":
		return errors.New("it names no shutdown")
	case !slices.Contains(outcomes, r.Outcome):
		return fmt.Errorf("%.40q is no outcome of a shutdown", r.Outcome)
	case !slices.Contains(strengths, r.Mode):
		return fmt.Errorf("%.40q is no mode of a shutdown", string(r.Mode))
	case r.StartedAt.IsZero():
		return errors.New("it began at no time")
	case r.Outcome != ops.ShutdownRunning && r.EndedAt.IsZero():
		return errors.New("it is over and ended at no time")
	case len(r.Phases) == 0:
		return errors.New("it has no phases")
	}
	for _, p := range r.Phases {
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

func checkStep(kind, name string, state ops.StepState, elapsed, budget int64) error {
	switch {
	case name == "":
		return fmt.Errorf("a %s has no name", kind)
	case !slices.Contains(states, state):
		return fmt.Errorf("%s %.40q: %.40q is no state", kind, name, string(state))
	case elapsed < 0 || budget < 0:
		return fmt.Errorf("%s %.40q took a negative time", kind, name)
	}
	return nil
}
