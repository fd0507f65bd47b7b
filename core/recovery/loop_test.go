package recovery

import (
	"testing"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

// B8, B9: three unclean lives that follow each other within minutes are a loop.
func TestB9_ThreeUncleanLivesInARowAreALoop(t *testing.T) {
	now := time.Now()
	life := func(began, ended time.Duration, o ops.Outcome) store.Life {
		return store.Life{StartedAt: now.Add(-began), HeartbeatAt: now.Add(-ended), Outcome: o}
	}
	ended := func(l store.Life) store.Life {
		l.EndedAt = l.HeartbeatAt
		return l
	}
	crashed, clean := ops.OutcomeCrashed, ops.OutcomeClean
	for _, tc := range []struct {
		name  string
		lives []store.Life // newest first
		loop  bool
	}{
		{"none", nil, false},
		{"two crashes", []store.Life{life(60e9, 30e9, crashed), life(120e9, 90e9, crashed)}, false},
		{"three in a row", []store.Life{life(60e9, 30e9, crashed), life(120e9, 90e9, crashed), life(180e9, 150e9, ops.OutcomeCutShort)}, true},
		{"a clean one between them", []store.Life{life(60e9, 30e9, crashed), life(120e9, 90e9, clean), life(180e9, 150e9, crashed)}, false},
		{"one that came to its own end among them, though not a clean one", []store.Life{ended(life(60e9, 30e9, ops.OutcomeCutShort)), life(120e9, 90e9, crashed), life(180e9, 150e9, crashed)}, false},
		{"three, with an hour between two", []store.Life{life(60e9, 30e9, crashed), life(3700e9, 3690e9, crashed), life(3800e9, 3750e9, crashed)}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := inLoop(tc.lives, now); got != tc.loop {
				t.Fatalf("a loop: %v, want %v", got, tc.loop)
			}
		})
	}
}
