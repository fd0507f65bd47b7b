package health

import (
	"context"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// Check looks for what no request asks about: the wall clock, resources that run low, bounds that are reached.
func (h *Health) Check(ctx context.Context, now time.Time) {
	h.checkClock(ctx)
	h.checkResources(now)
	h.checkLimits(now)
}

// Warnings returns what an operator should fix at now: what was kept, then the trouble of store, clock, resources and config
// file. The caller owns what is returned; it is never nil.
func (h *Health) Warnings(now time.Time) []ops.Warning {
	trouble, _, _ := h.storeTrouble(now)
	clock := h.clock.warning()
	_, config := h.ConfigFile()
	h.mu.Lock()
	defer h.mu.Unlock()
	all := append([]ops.Warning{}, h.warnings...)
	for _, w := range []ops.Warning{trouble, clock} {
		if w.Code != "" {
			all = append(all, w)
		}
	}
	all = append(all, h.lowResources...)
	return append(all, config...)
}

// BeginClock compares the clock with the last time at which the clock of an earlier life agreed; zero: there is none.
func (h *Health) BeginClock(last time.Time) {
	if !last.IsZero() {
		h.expect(last)
	}
	h.compareClock()
}

// checkClock compares the clock, and saves a changed verdict with the row of this life: the next life compares its clock
// with the last one that agreed.
func (h *Health) checkClock(ctx context.Context) {
	if !h.compareClock() || h.Damage() != "" {
		return
	}
	h.o.Background.Start(ctx, "record the clock", "", func(ctx context.Context) {
		st := h.store.Load()
		ctx, cancel := st.Patience(ctx, store.Stall)
		defer cancel()
		if err := st.JudgeClock(ctx, h.o.Life, h.ClockDoubted(), time.Now()); err != nil {
			h.log.Warn("the verdict on the clock is not saved", "error", term.Clean(err.Error(), 300))
		}
	})
}

// compareClock compares the clock with where it is expected, and logs a change.
func (h *Health) compareClock() (changed bool) {
	now := time.Now()
	doubted, changed := h.look(now, h.elapsed(now))
	switch {
	case changed && doubted:
		h.log.Warn("warning", "code", WarnClock, "text", h.clock.warning().Message)
	case changed:
		h.log.Info("the clock agrees again")
	}
	return changed
}

// checkLimits logs each bound that has become a warning since the last check.
func (h *Health) checkLimits(now time.Time) {
	warnings := h.o.Limits.Warnings(now)
	h.mu.Lock()
	before := h.limitsReached
	h.limitsReached = warnings
	h.mu.Unlock()
	h.logNew(warnings, before)
}
