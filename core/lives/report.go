package lives

import (
	"encoding/json"
	"errors"
	"io/fs"

	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
)

// maxReport bounds what is read of a report, in bytes. One with 10,000 items has some 3 MB.
const maxReport = 32 << 20

// LastReport is the report of the shutdown of an earlier life; false: it left none. A report that is unreadable or
// invalid is moved to quarantine; the error names the reason and the new path.
func (f Files) LastReport(life string) (ops.Shutdown, bool, error) {
	r, found, err := f.ReadReport(life)
	if err != nil {
		return ops.Shutdown{}, true, errors.New(f.Quarantine(f.ReportPath(life), err).String())
	}
	return r, found, nil
}

// ReadReport is LastReport for readers without the lock.
func (f Files) ReadReport(life string) (r ops.Shutdown, found bool, err error) {
	text, err := instance.ReadFile(f.ReportPath(life), maxReport)
	if errors.Is(err, fs.ErrNotExist) {
		return r, false, nil
	}
	if err == nil {
		r, err = parseReport(text, life)
	}
	return r, err == nil, err
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
