package rates

import (
	"math"
	"math/bits"
	"time"

	"gatewaytui/core/ops"
)

// step is what was counted in one step, with how long its turns and the first bytes of its model calls took.
type step struct {
	ops.RateStep
	turns, first histogram
}

// series is the newest steps of one length. Steps are numbered from the begin of the life.
type series struct {
	every  time.Duration
	newest int64 // the newest step that was written
	steps  []step
}

// newSeries reaches back for span, and a little longer: an answer is still whole if the next steps begin while it is made.
func newSeries(every, span time.Duration) series {
	n := int(span / every)
	return series{every: every, steps: make([]step, n+n/ops.RateSteps)}
}

// step is the step at a moment of the life, to be written; nil: it is no longer kept.
func (s *series) step(at time.Duration) *step {
	n := int64(max(at, 0) / s.every)
	if n <= s.newest-int64(len(s.steps)) {
		return nil
	}
	for s.newest < n {
		s.newest = max(s.newest+1, n-int64(len(s.steps))+1)
		s.steps[s.newest%int64(len(s.steps))] = step{}
	}
	return &s.steps[n%int64(len(s.steps))]
}

// at is the nth step, to be read; nil: nothing of it is kept.
func (s *series) at(n int64) *step {
	if n < 0 || n > s.newest || n <= s.newest-int64(len(s.steps)) {
		return nil
	}
	return &s.steps[n%int64(len(s.steps))]
}

// buckets is how many a histogram has: one for each millisecond below 4, then four for each doubling, up to 4 h 39 min.
const buckets = 92

// histogram counts durations.
type histogram struct {
	n      uint32
	counts [buckets]uint16
}

// add counts a duration, in milliseconds. A full bucket stays full.
func (h *histogram) add(ms int64) {
	if i := bucket(ms); h.counts[i] < math.MaxUint16 {
		h.counts[i]++
		h.n++
	}
}

// bucket is where a duration is counted.
func bucket(ms int64) int {
	if ms < 4 {
		return int(max(ms, 0))
	}
	exp := bits.Len64(uint64(ms)) - 1
	return min(4*(exp-1)+int(ms>>(exp-2)&3), buckets-1)
}

// bounds are the first duration of a bucket, in milliseconds, and how many the bucket has.
func bounds(i int) (from, width int64) {
	if i < 4 {
		return int64(i), 1
	}
	exp := i/4 + 1
	return int64(4+i%4) << (exp - 2), 1 << (exp - 2)
}

// sum is the counts of several histograms.
type sum struct {
	n      int64
	counts [buckets]int64
}

func (s *sum) add(h *histogram) {
	if h.n == 0 {
		return
	}
	s.n += int64(h.n)
	for i, n := range h.counts {
		s.counts[i] += int64(n)
	}
}

// quantile is the duration, in milliseconds, that a part of all does not exceed, within an eighth; 0: there is none.
func (s *sum) quantile(part float64) int64 {
	rank := int64(math.Ceil(part * float64(s.n)))
	for i, n := range s.counts {
		if rank -= n; n > 0 && rank <= 0 {
			from, width := bounds(i)
			return from + width/2
		}
	}
	return 0
}
