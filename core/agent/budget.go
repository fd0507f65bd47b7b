package agent

import (
	"errors"
	"fmt"
	"sync/atomic"

	"gatewaytui/core/limit"
)

// Calls is the budget of model calls of one turn, which the turn shares with the child agents that it delegates to, and
// they with theirs (limits.calls_per_turn, HF5). A call is debited before it is made, so the budget is never exceeded.
// Its methods may be called from any goroutine. A nil *Calls has no limit.
type Calls struct {
	most int64
	used atomic.Int64
	// reached is called once, when a call is refused.
	reached func()
	refused atomic.Bool
}

// NewCalls returns a budget of most calls. reached is called when the first call is refused, and must not block; it may be
// nil.
func NewCalls(most int, reached func()) *Calls {
	return &Calls{most: int64(most), reached: reached}
}

// take debits one call. It reports false where none is left.
func (c *Calls) take() bool {
	if c == nil {
		return true
	}
	for used := c.used.Load(); used < c.most; used = c.used.Load() {
		if c.used.CompareAndSwap(used, used+1) {
			return true
		}
	}
	if !c.refused.Swap(true) && c.reached != nil {
		c.reached()
	}
	return false
}

// spent reports whether no call is left.
func (c *Calls) spent() bool { return c != nil && c.used.Load() >= c.most }

// Used is how many calls were made.
func (c *Calls) Used() int { return int(c.used.Load()) }

// Most is how many calls the turn and its children may make.
func (c *Calls) Most() int { return int(c.most) }

// errCallsSpent is the error for a model that delegates with no call left.
var errCallsSpent = errors.New("this turn has no model call left for a child agent (" + limit.CallsPerTurn + "); finish without one")

// stopped is the answer of a turn that has used up a bound on its model calls. The turn ends as with an answer: the user
// sees the reason, and the work so far is kept.
func stopped(whose string, calls int, bound string) string {
	return fmt.Sprintf("I stopped here without finishing: %s has used all of its %d model calls (%s). What was done so far is kept; send a message to continue.", whose, calls, bound)
}
