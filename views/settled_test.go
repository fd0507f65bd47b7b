package views

import (
	"slices"
	"strings"
	"testing"

	"gatewaytui/core/ops"
)

// What a console has seen last of a stop is its last phase running: the gateway is gone before it can tell that it ended.
// Once the outcome is known that phase is over, and nobody is said to have been killed in it.
func TestTheLastPhaseOfAnEndedStopIsOver(t *testing.T) {
	s := stopStates()["done"]()
	s.W, s.H = 140, 40
	stop := *s.Stop
	stop.Phases = slices.Clone(stop.Phases)
	stop.Phases[len(stop.Phases)-1].State = ops.StepRunning
	s.Stop = &stop
	if got := strings.Join(shutdownBody(s, s.W, s.H), "\n"); strings.Contains(got, "killed") || !strings.Contains(got, "surrender") {
		t.Errorf("it says\n%s", got)
	}
	if s.Stop.Phases[len(stop.Phases)-1].State != ops.StepRunning {
		t.Error("drawing changed the caller's report")
	}
}
