package recovery

import (
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

const (
	// loopLives unclean lives, each begun within loopGap of the end of the one before, are a loop: whatever takes the gateway
	// down may be what it takes up again (B8, B9).
	loopLives = 3
	loopGap   = 5 * time.Minute
)

// inLoop says whether the lives before this one, newest first, are a loop.
func inLoop(lives []store.Life, started time.Time) bool {
	if len(lives) < loopLives {
		return false
	}
	next := started
	for _, l := range lives[:loopLives] {
		end := l.EndedAt
		if end.IsZero() {
			end = l.HeartbeatAt
		}
		// One that recorded its own end was ended by a stop, however that went.
		if !l.EndedAt.IsZero() || l.Outcome == ops.OutcomeClean || next.Sub(end) > loopGap {
			return false
		}
		next = l.StartedAt
	}
	return true
}
