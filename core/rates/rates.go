// Package rates remembers what a gateway did in the last 24 hours, step by step, in a fixed amount of memory.
//
// A Ring counts turns and model calls as they end, and keeps the peaks of what a sampler reads once a second. Steps of 5 s
// reach back 30 minutes, steps of a minute 24 hours. Durations are kept as counts in buckets that are at most a quarter of
// their value wide. A life begins with an empty ring, and nothing of it is written to disk.
//
// Ring.mu is a leaf. It is held for some additions, never over a call of another room.
package rates

import (
	"context"
	"sync"
	"time"

	"gatewaytui/core/ops"
)

// sampleEvery is how often Run reads the levels.
const sampleEvery = time.Second

// Levels are what a gateway has at one moment, as in ops.RateStep.
type Levels struct {
	Running, Queued      int
	RSSBytes, ToolsBytes int64
	Processes            int
}

// Ring is the rates of one life. Its methods may be called from any goroutine, and never wait.
type Ring struct {
	began time.Time

	mu           sync.Mutex // guards what follows
	fine, coarse series
	lately       [ops.RateTurns]ops.TurnEnded
	ended        int // turns, of the life
}

// New returns the ring of a life that began at a moment.
func New(began time.Time) *Ring {
	spans := ops.RateSpans
	return &Ring{began: began, fine: newSeries(5*time.Second, spans[1]), coarse: newSeries(time.Minute, spans[len(spans)-1])}
}

// Run reads the levels once a second until ctx ends. read must not wait.
func (r *Ring) Run(ctx context.Context, read func() Levels) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		r.Sampled(time.Now(), read())
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Sampled notes the levels at now.
func (r *Ring) Sampled(now time.Time, l Levels) {
	r.each(now, func(s *step) {
		s.Running, s.Queued, s.Processes = max(s.Running, l.Running), max(s.Queued, l.Queued), max(s.Processes, l.Processes)
		s.RSSBytes, s.ToolsBytes = max(s.RSSBytes, l.RSSBytes), max(s.ToolsBytes, l.ToolsBytes)
	})
}

// TurnEnded counts a turn that ended at now.
func (r *Ring) TurnEnded(now time.Time, t ops.TurnEnded) {
	r.each(now, func(s *step) {
		s.Turns++
		s.turns.add(t.ElapsedMS)
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lately[r.ended%len(r.lately)] = t
	r.ended++
}

// Answered notes that a model call began to answer at a moment, after it had waited for so long.
func (r *Ring) Answered(at time.Time, after time.Duration) {
	r.each(at, func(s *step) { s.first.add(ops.Millis(after)) })
}

// Called counts the tokens and the money of a model call that ended at now.
func (r *Ring) Called(now time.Time, in, out int64, cost float64) {
	r.each(now, func(s *step) {
		s.TokensIn, s.TokensOut, s.Cost = s.TokensIn+max(in, 0), s.TokensOut+max(out, 0), s.Cost+max(cost, 0)
	})
}

// each changes the steps of a moment.
func (r *Ring) each(at time.Time, change func(*step)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range []*series{&r.fine, &r.coarse} {
		if now := s.step(at.Sub(r.began)); now != nil {
			change(now)
		}
	}
}

// Show is the rates of the span that ends at now: the shortest of ops.RateSpans that is not shorter than span, else the longest.
func (r *Ring) Show(now time.Time, span time.Duration) ops.Rates {
	chosen := ops.RateSpans[len(ops.RateSpans)-1]
	for _, s := range ops.RateSpans {
		if s >= span {
			chosen = s
			break
		}
	}
	each := chosen / ops.RateSteps
	out := ops.Rates{At: ops.At(now), SpanMS: ops.Millis(chosen), StepMS: ops.Millis(each), Steps: []ops.RateStep{}}
	from := &r.coarse
	if chosen <= ops.RateSpans[1] {
		from = &r.fine
	}
	var turns, first sum
	last := int64(max(now.Sub(r.began), 0) / each)
	for n := max(last-ops.RateSteps+1, 0); n <= last; n++ {
		out.Steps = append(out.Steps, r.join(from, n, int64(each/from.every), &turns, &first))
	}
	out.TurnP50MS, out.TurnP95MS = turns.quantile(0.5), turns.quantile(0.95)
	out.FirstTokenP50MS, out.FirstTokenP95MS = first.quantile(0.5), first.quantile(0.95)
	out.Lately = r.last()
	return out
}

// join is the nth group of so many steps of a series; their durations are added to turns and first. The lock is taken for each
// group alone, so that no turn waits for a long answer.
func (r *Ring) join(from *series, n, steps int64, turns, first *sum) ops.RateStep {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out ops.RateStep
	var firsts sum
	for i := n * steps; i < (n+1)*steps; i++ {
		s := from.at(i)
		if s == nil {
			continue
		}
		out.Turns, out.TokensIn, out.TokensOut, out.Cost = out.Turns+s.Turns, out.TokensIn+s.TokensIn, out.TokensOut+s.TokensOut, out.Cost+s.Cost
		out.Running, out.Queued, out.Processes = max(out.Running, s.Running), max(out.Queued, s.Queued), max(out.Processes, s.Processes)
		out.RSSBytes, out.ToolsBytes = max(out.RSSBytes, s.RSSBytes), max(out.ToolsBytes, s.ToolsBytes)
		turns.add(&s.turns)
		firsts.add(&s.first)
		first.add(&s.first)
	}
	out.FirstTokenMS = firsts.quantile(0.5)
	return out
}

// last is the turns that ended last, newest first.
func (r *Ring) last() []ops.TurnEnded {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := []ops.TurnEnded{}
	for n := r.ended - 1; n >= max(r.ended-len(r.lately), 0); n-- {
		out = append(out, r.lately[n%len(r.lately)])
	}
	return out
}
