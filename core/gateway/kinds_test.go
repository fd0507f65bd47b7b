package gateway

import (
	"testing"

	"gatewaytui/core/ops"
	"gatewaytui/core/shutdown"
)

// levers are by which verb a person ends or restarts what is held of each kind.
var levers = map[ops.HeldKind]ops.Verb{
	ops.HeldServer: ops.VerbRestartServer, ops.HeldBrowser: ops.VerbRestartServer, ops.HeldAgent: ops.VerbEvict,
	ops.HeldHook: ops.VerbReload, // its config decides; a command of it is a row of processes, which process.kill ends
}

// All that is held, of any kind, has a row in held, a lever, and an end of its own in the report of the stop, for a session and for
// the gateway. A new kind of ops.HeldKinds fails here until it has them.
func TestEachKindThatIsHeldHasARowALeverAndAnEnd(t *testing.T) {
	h := &holdings{}
	l := start(t, func(s *setup) { s.holder = h })
	l.ask("cli:a", "hello")
	for _, kind := range ops.HeldKinds {
		if _, known := levers[kind].Spec(); !known {
			t.Errorf("%s has no lever", kind)
		}
		h.hold(kind, "one", "cli:a")
		h.hold(kind, "own", "")
	}
	page, err := l.g.Held(t.Context(), ops.Query{})
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, row := range page.Items {
		shown[string(row.Kind)+" "+row.ID] = true
	}
	report := l.stop(ops.ModeGraceful)
	ended := map[string]ops.StepState{}
	for _, item := range phaseOf(t, report, shutdown.PhaseAgents).Items {
		ended[item.Kind+" "+item.ID] = item.State
	}
	for _, kind := range ops.HeldKinds {
		for row, item := range map[string]string{"one": "one@cli:a", "own": "own"} {
			if !shown[string(kind)+" "+row] {
				t.Errorf("%s %s has no row in held", kind, row)
			}
			if state := ended[string(kind)+" "+item]; state != ops.StepDone {
				t.Errorf("%s %s is %q in the report of the stop", kind, item, state)
			}
		}
	}
	if rows := h.Rows(); len(rows) > 0 {
		t.Errorf("the stop left %+v", rows)
	}
}
