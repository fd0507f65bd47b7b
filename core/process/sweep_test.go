package process

import (
	"testing"
	"time"
)

func TestThePauseAfterASweepFollowsFromItsTimeWithinBounds(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{
		0: sweepPause, time.Millisecond: sweepPause, 10 * time.Millisecond: 200 * time.Millisecond, time.Second: 20 * time.Second,
		2 * time.Second: sweepMost, time.Hour: sweepMost,
	} {
		if got := restAfter(took); got != want {
			t.Errorf("after a sweep of %s the pause is %s, want %s", took, got, want)
		}
	}
}
