// Package doctor looks for what is dangerous in how a gateway is set up: its config, the files that hold its secrets, and
// the user that it runs as.
//
// What it promises: each danger has an id that does not change, a severity and a fix; no finding carries a secret; a
// config that was not changed has no finding of severity High. The verb doctor prints all findings, and a gateway warns of
// those of severity High in its status.
package doctor

import "gatewaytui/core/ops"

// Severity is how dangerous a finding is.
type Severity string

// The severities.
const (
	// High gives somebody else's hands a shell or a secret. The gateway warns of it while it runs.
	High Severity = "high"
	// Medium does so under a further condition, or makes another fault worse.
	Medium Severity = "medium"
	// Low is a habit that a careful operator avoids.
	Low Severity = "low"
)

// Finding is one danger.
type Finding struct {
	// ID names the kind of danger, for instance "api.plain_http". Scripts may rely on it.
	ID       string
	Severity Severity
	// Text says what is dangerous and why, Fix what to do about it.
	Text, Fix string
}

// Warning is the finding as a warning of the gateway; its code is "security." and the id.
func (f Finding) Warning() ops.Warning {
	return ops.Warning{Code: WarningPrefix + f.ID, Message: f.Text + "; " + f.Fix}
}

// WarningPrefix begins the code of every warning of this package.
const WarningPrefix = "security."
