package views

import (
	"slices"
	"strings"
	"testing"

	"gatewaytui/core/ops"
)

// The last phase of a stop is running in the last report that a console reads: the gateway has gone before that phase ends.
// Once the outcome is known, the phase is over, and the console does not say that the gateway was killed in it.
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
	last := &stop.Phases[len(stop.Phases)-1]
	last.Items, last.ItemsTotal, last.ItemsDone = nil, 1, 0 // as an event has it
	if got := strings.Join(shutdownBody(s, s.W, s.H), "\n"); strings.Contains(got, "0/1") || !strings.Contains(got, "1/1") {
		t.Errorf("the last phase is done, and its items are not:\n%s", got)
	}
}
