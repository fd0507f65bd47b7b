// Package reload compares two configs and says of each changed key when it holds (OP4): at once, at once but never without an
// operator because it may loosen security, or after a restart. It does no I/O.
//
// What it promises: every key of the config has a class (classes.go). A value that is not known to be harmless counts as one that
// loosens security. No change shows a secret.
package reload

import (
	"slices"
	"strings"

	"gatewaytui/core/config"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// maxValue bounds a value in a change, in cells.
const maxValue = 120

// Plan is what a reload of a config does.
type Plan struct {
	// Digest names the content of the file; empty: there is none.
	Digest string
	// Changes are all keys that differ, in the order of the example.
	Changes []ops.ConfigChange
	// Next is the config that would be in force: the file's, but for the keys that need a restart.
	Next config.Loaded
}

// Compare makes the plan of a reload from the config in force to the file's. Both are valid.
func Compare(inForce, file *config.Loaded) Plan {
	p := Plan{Digest: file.Digest()}
	for _, d := range config.Differences(inForce, file) {
		p.Changes = append(p.Changes, ops.ConfigChange{Key: term.Clean(d.Key, maxValue), Old: shown(d.Old), New: shown(d.New), Class: classOf(d)})
	}
	p.Next = config.Holding(inForce, file, needsRestart)
	return p
}

// Of are the changes of some classes.
func (p Plan) Of(classes ...ops.ChangeClass) []ops.ConfigChange {
	return slices.DeleteFunc(slices.Clone(p.Changes), func(c ops.ConfigChange) bool { return !c.Of(classes...) })
}

// Applies reports whether a reload changes anything.
func (p Plan) Applies() bool { return len(p.Of(ops.ChangeNow, ops.ChangeSecurity)) > 0 }

// Loosens reports whether a change may loosen security: only an operator applies the plan then, as a whole.
func (p Plan) Loosens() bool { return len(p.Of(ops.ChangeSecurity)) > 0 }

// Remakes reports whether the plan changes what agents are made from: their models, tools, prompts and rules.
func (p Plan) Remakes() bool {
	return slices.ContainsFunc(p.Changes, func(c ops.ConfigChange) bool {
		return c.Class != ops.ChangeRestart && !slices.ContainsFunc(apart, func(table string) bool { return strings.HasPrefix(c.Key, table) })
	})
}

// apart are the tables that no agent is made from.
var apart = []string{"routes[", "session.", "limits.", "access.", "budgets.", "adapters.", "retention.", "log.", "config.", "console."}

// shown is a value of the config for people.
func shown(value string) string { return term.Clean(term.Redact(value), maxValue) }
