package tui

import (
	"testing"

	"gatewaytui/core/ops"
)

func TestAPreviewSaysTheLatestEndWithoutZeroParts(t *testing.T) {
	for ms, want := range map[int64]string{60_000: "1m", 90_040: "1m30s", 2_500: "2.5s", 3_600_000: "1h"} {
		facts := merge([]ops.Preview{{WorstCaseMS: ms}, {WorstCaseMS: 1}})
		if len(facts) != 1 || facts[0].Text != want {
			t.Errorf("%d ms: %+v, want %q", ms, facts, want)
		}
	}
}
