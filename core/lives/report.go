package lives

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
	"gatewaytui/core/shutdown"
)

// maxReport bounds what is read of a report, in bytes. One with 10,000 items has some 3 MB.
const maxReport = 32 << 20

// LastReport is the report of the shutdown of an earlier life; false: it left none. A report that is unreadable or
// invalid is moved to quarantine; the error names the reason and the new path.
func (f Files) LastReport(life string) (ops.Shutdown, bool, error) {
	r, found, err := f.ReadReport(life)
	if err != nil {
		return ops.Shutdown{}, true, errors.New(f.Quarantine(f.reportPath(life), err).String())
	}
	return r, found, nil
}

// ReadReport is LastReport for readers without the lock.
func (f Files) ReadReport(life string) (r ops.Shutdown, found bool, err error) {
	text, err := instance.ReadFile(f.reportPath(life), maxReport)
	if errors.Is(err, fs.ErrNotExist) {
		return r, false, nil
	}
	if err == nil {
		r, err = parseReport(text, life)
	}
	return r, err == nil, err
}

// Earlier are the reports of the stops before that of life, newest first, at most so many. A report that cannot be used
// counts as none.
func (f Files) Earlier(life string, most int) (out []ops.Shutdown) {
	entries, err := os.ReadDir(f.Dir)
	if err != nil {
		return nil
	}
	for _, e := range slices.Backward(entries) { // ids are in the order of time
		id, is := strings.CutPrefix(strings.TrimSuffix(e.Name(), ".json"), "shutdown-")
		if !is || id >= life || len(out) == most {
			continue
		}
		if r, found, err := f.ReadReport(id); found && err == nil {
			out = append(out, r)
		}
	}
	return out
}

// parseReport reads the report of a life's shutdown. A report that no gateway writes is an error.
func parseReport(text []byte, life string) (ops.Shutdown, error) {
	var r ops.Shutdown
	if err := json.Unmarshal(text, &r); err != nil {
		return ops.Shutdown{}, err
	}
	if err := r.Validate(life); err != nil {
		return ops.Shutdown{}, err
	}
	return r, nil
}

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
