// Package doctor checks a gateway's config, home, store, adapters, service definition and clock, and looks for what is dangerous in
// how it is set up.
//
// What it promises: a check returns findings and prints nothing; each finding that is not well comes with a fix; each danger has an
// id that does not change and a severity; no finding carries a secret; a config that was not changed has no finding of severity
// High. Nothing is changed and the lock of the home is not touched. The verb doctor prints all findings, and a gateway warns of
// those of severity High in its status.
package doctor

import "gatewaytui/core/ops"

// Severity is how dangerous a finding is.
type Severity string

// The severities.
const (
	// High gives another user a shell or a secret. The gateway warns of it while it runs.
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
