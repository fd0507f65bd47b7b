package health

import (
	"fmt"
	"sync"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
	"gatewaytui/core/text"
)

// WarnClock is the code of the warning that the wall clock is doubted.
const WarnClock = "clock"

// The wall clock may be this far from where it is expected. Behind, a time service corrects it by seconds. Ahead, the
// gateway was down, which no clock measures: a clock that is wrong by less deletes a row at most clockAhead before its time,
// which is a twelfth of the retention. Within a life a clock that counts the machine's sleep leaves clockBehind both ways.
const (
	clockBehind = 10 * time.Minute
	clockAhead  = store.Retention / 12
)

// clock judges the wall clock (HF21). Deleting and expiring go by it, and one that a machine begins with after its battery
// died, or that was set by mistake, would end every conversation and delete the history. The clock is expected where the
// last life left it, and from then on where the monotonic clock takes it. One that is elsewhere is doubted until it comes
// back, or a time service or an operator vouches for it; meanwhile nothing is deleted and no conversation expires. Both
// wait, for neither can be undone: time spent down still counts, once the clock is trusted.
type clock struct {
	confirmed func(wall time.Time) bool // asked only of a clock that is elsewhere; nil: no time service vouches for it
	// booted is Host.Booted, nil where no clock measures that, bootedThen what it was at the start; with it elapsed counts the time that the machine sleeps.
	booted     func() time.Duration
	bootedThen time.Duration
	started    time.Time // of this life

	mu    sync.Mutex    // guards what follows
	wall  time.Time     // where the clock last agreed; zero: it was never compared
	at    time.Duration // of this life, by the monotonic clock, when it agreed
	ours  bool          // it agreed in this life
	doubt string        // empty: the clock agrees
	since time.Time
}

// look compares the wall clock with where it is expected, elapsed after the start of this life by the monotonic clock. It
// reports whether the verdict changed.
func (c *clock) look(wall time.Time, elapsed time.Duration) (doubted, changed bool) {
	wall = wall.Round(0) // without its monotonic part, by which Sub would go
	c.mu.Lock()
	expected, known, ahead := c.wall.Add(elapsed-c.at), !c.wall.IsZero(), clockAhead
	if c.booted != nil && c.ours {
		ahead = clockBehind
	}
	c.mu.Unlock()
	off := wall.Sub(expected)
	agrees := !known || -clockBehind <= off && off <= ahead || c.confirmed != nil && c.confirmed(wall)
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.doubt != ""
	if agrees {
		c.wall, c.at, c.doubt, c.ours = wall, elapsed, "", true
		return false, was
	}
	direction := "after"
	if off < 0 {
		direction, off = "before", -off
	}
	if !was {
		c.since = wall
	}
	c.doubt = fmt.Sprintf("the clock says %s, %s %s the time that this home expects: nothing is deleted and no conversation expires until they agree. "+
		"Set the clock, or turn on a time service such as timedatectl set-ntp true; if the clock is right, start once with --trust-clock",
		wall.UTC().Format("2006-01-02 15:04 UTC"), days(off), direction)
	return true, !was
}

// days is a long duration in days, a short one as it is.
func days(d time.Duration) string {
	if d < 48*time.Hour {
		return text.Exact(d.Round(time.Minute))
	}
	return fmt.Sprintf("%d days", int(d/(24*time.Hour)))
}

// expect sets where the clock is expected at the start of this life.
func (c *clock) expect(wall time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall, c.at, c.ours = wall.Round(0), 0, false
}

// ClockDoubted reports whether the wall clock is doubted: nothing may be done then that goes by it and cannot be undone.
func (c *clock) ClockDoubted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.doubt != ""
}

// warning is what an operator reads of a clock that is doubted; without a code it is not.
func (c *clock) warning() ops.Warning {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.doubt == "" {
		return ops.Warning{}
	}
	return ops.Warning{Code: WarnClock, Message: c.doubt, Since: ops.At(c.since)}
}

// elapsed is the time since this life began, by a clock that cannot be set.
func (c *clock) elapsed(now time.Time) time.Duration {
	if c.booted == nil {
		return now.Sub(c.started)
	}
	return c.booted() - c.bootedThen
}

// Started is the start of this life, as the wall clock was then.
func (c *clock) Started() time.Time { return c.started }

// StartedAt is the start of this life as the wall clock counts at now. A clock that was set since then, from 1970 or by
// mistake, says nothing of how long the life has lasted.
func (c *clock) StartedAt(now time.Time) time.Time {
	lasted := c.elapsed(now)
	if off := now.Round(0).Sub(c.started.Round(0)) - lasted; off < -clockBehind || off > clockAhead || off > clockBehind && c.booted != nil {
		return now.Add(-lasted)
	}
	return c.started
}
