package delivery

import (
	"time"

	"gatewaytui/core/adapter"
)

// What calls of a platform cost of a chat's bucket. A platform counts messages; what it shows for seconds is cheaper.
const (
	messageCost = 1
	typingCost  = 0.25
	// reserved stays in the bucket for the answer.
	reserved = 1
)

// pace is the token bucket of one chat. Outbox.mu guards it.
type pace struct {
	tokens, burst float64
	rate          float64 // tokens a second; 0: the platform sets no bound
	at            time.Time
	shows         int // turns that are shown in the chat
}

// newPace is a full bucket. Its burst and what comes back in a minute are together what the chat takes in a minute.
func newPace(b adapter.Bounds, now time.Time) *pace {
	most := float64(b.Messages)
	burst := max(most/4, reserved+messageCost)
	return &pace{tokens: burst, burst: burst, rate: max(most-burst, 0) / 60, at: now}
}

func (p *pace) fill(now time.Time) {
	if d := now.Sub(p.at); d > 0 {
		p.tokens, p.at = min(p.burst, p.tokens+p.rate*d.Seconds()), now
	}
}

// take takes cost if that leaves the tokens of the answers. Otherwise it takes nothing and returns how long it is until then.
func (p *pace) take(now time.Time, cost float64) (wait time.Duration) {
	if p.rate == 0 {
		return 0
	}
	p.fill(now)
	if lack := cost + reserved - p.tokens; lack > 0 {
		return max(time.Duration(lack/p.rate*float64(time.Second)), time.Millisecond) // never 0: nothing was taken
	}
	p.tokens -= cost
	return 0
}

// spend takes the cost of a message that waits for nothing. What it overdraws, later drafts wait for.
func (p *pace) spend(now time.Time, messages int) {
	if p.rate == 0 {
		return
	}
	p.fill(now)
	p.tokens = max(p.tokens-messageCost*float64(messages), -p.burst)
}
