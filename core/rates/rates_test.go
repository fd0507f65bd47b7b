package rates

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/core/ops"
)

// turn is a turn that took so long.
func turn(id string, took time.Duration) ops.TurnEnded {
	return ops.TurnEnded{Turn: id, ElapsedMS: ops.Millis(took), State: "done"}
}

func TestStepsBeginWithTheLifeAndHaveNoGap(t *testing.T) {
	began := time.Now()
	r := New(began)
	r.TurnEnded(began.Add(3*time.Second), turn("a", time.Second))
	r.TurnEnded(began.Add(95*time.Second), turn("b", 2*time.Second))
	r.Called(began.Add(95*time.Second), 100, 20, 0.5)
	got := r.Show(began.Add(100*time.Second), 30*time.Minute)
	if got.SpanMS != 1_800_000 || got.StepMS != 30_000 {
		t.Errorf("the span is %d ms in steps of %d ms, promised 30 min in steps of 30 s", got.SpanMS, got.StepMS)
	}
	want := []ops.RateStep{{Turns: 1}, {}, {}, {Turns: 1, TokensIn: 100, TokensOut: 20, Cost: 0.5}}
	if !slices.Equal(got.Steps, want) {
		t.Errorf("the steps are %+v, promised %+v", got.Steps, want)
	}
	if len(got.Lately) != 2 || got.Lately[0].Turn != "b" || got.Lately[1].Turn != "a" {
		t.Errorf("the last turns are %+v, promised b and then a", got.Lately)
	}
}

func TestASpanThatIsNotKnownIsAnsweredByTheNextLonger(t *testing.T) {
	r := New(time.Now())
	for span, want := range map[time.Duration]time.Duration{
		time.Second: 5 * time.Minute, 5 * time.Minute: 5 * time.Minute, 10 * time.Minute: 30 * time.Minute, time.Hour: 6 * time.Hour, 7 * time.Hour: 24 * time.Hour, 90 * time.Hour: 24 * time.Hour,
	} {
		if got := r.Show(time.Now(), span); got.SpanMS != want.Milliseconds() {
			t.Errorf("%s is answered with %d ms, promised %s", span, got.SpanMS, want)
		}
	}
}

func TestTheSamplerKeepsThePeakOfEachStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(time.Now())
		ctx, cancel := context.WithTimeout(t.Context(), 31*time.Second)
		defer cancel()
		second := 0
		r.Run(ctx, func() Levels {
			second++
			l := Levels{Running: 1, RSSBytes: int64(second)}
			if second == 7 {
				l.Running, l.Processes, l.ToolsBytes, l.Queued = 9, 4, 1<<30, 3
			}
			return l
		})
		got := r.Show(time.Now(), 5*time.Minute).Steps
		want := []ops.RateStep{
			{Running: 1, RSSBytes: 5},
			{Running: 9, Queued: 3, Processes: 4, ToolsBytes: 1 << 30, RSSBytes: 10},
			{Running: 1, RSSBytes: 15},
			{Running: 1, RSSBytes: 20},
			{Running: 1, RSSBytes: 25},
			{Running: 1, RSSBytes: 30},
		}
		if !slices.Equal(got[:6], want) {
			t.Errorf("the peaks are %+v, promised %+v", got, want)
		}
	})
}

func TestAFirstTokenCountsWhenItCame(t *testing.T) {
	began := time.Now()
	r := New(began)
	r.Answered(began.Add(2*time.Second), 1500*time.Millisecond)
	r.Called(began.Add(12*time.Second), 1, 1, 0)
	got := r.Show(began.Add(12*time.Second), 5*time.Minute).Steps
	if len(got) != 3 || got[0].FirstTokenMS == 0 || got[2].FirstTokenMS != 0 || got[2].TokensIn != 1 {
		t.Errorf("the steps are %+v, promised the first token in the first step and the tokens in the third", got)
	}
}

// model is what the ring is compared with: everything that happened.
type model struct {
	at   []time.Duration
	took []int64
}

// over is how many turns the last steps of a span had, and their quantiles.
func (m model) over(now, each time.Duration, part float64) (turns int, quantile int64) {
	last := now / each
	var took []int64
	for i, at := range m.at {
		if n := at / each; n > last-ops.RateSteps && n <= last {
			took = append(took, m.took[i])
		}
	}
	if len(took) == 0 {
		return 0, 0
	}
	slices.Sort(took)
	return len(took), took[int(math.Ceil(part*float64(len(took))))-1]
}

func TestRatesAreThoseOfWhatHappened(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		began := time.Now()
		r, m, now := New(began), model{}, time.Duration(0)
		for range rapid.IntRange(0, 200).Draw(t, "turns") {
			now += time.Duration(rapid.Int64Range(0, int64(20*time.Minute)).Draw(t, "pause") >> rapid.IntRange(0, 20).Draw(t, "shorter"))
			took := rapid.Int64Range(0, 4*3_600_000).Draw(t, "took") >> rapid.IntRange(0, 22).Draw(t, "faster")
			m.at, m.took = append(m.at, now), append(m.took, took)
			r.TurnEnded(began.Add(now), ops.TurnEnded{ElapsedMS: took})
		}
		now += time.Duration(rapid.Int64Range(0, int64(3*time.Hour)).Draw(t, "later"))
		for _, span := range ops.RateSpans {
			got := r.Show(began.Add(now), span)
			turns := 0
			for _, s := range got.Steps {
				turns += s.Turns
			}
			each := span / ops.RateSteps
			want, p95 := m.over(now, each, 0.95)
			if turns != want || len(got.Steps) != int(min(now/each+1, ops.RateSteps)) {
				t.Fatalf("%s has %d turns in %d steps, promised %d", span, turns, len(got.Steps), want)
			}
			if off := math.Abs(float64(got.TurnP95MS - p95)); off > max(float64(p95)/8, 1) {
				t.Fatalf("%s has a p95 of %d ms, the exact one is %d", span, got.TurnP95MS, p95)
			}
		}
	})
}

func TestTheLastTurnsAreBounded(t *testing.T) {
	r := New(time.Now())
	for i := range 3 * ops.RateTurns {
		r.TurnEnded(time.Now(), turn(fmt.Sprint(i), 0))
	}
	got := r.Show(time.Now(), 0).Lately
	if len(got) != ops.RateTurns || got[0].Turn != fmt.Sprint(3*ops.RateTurns-1) || got[len(got)-1].Turn != fmt.Sprint(2*ops.RateTurns) {
		t.Errorf("the last turns are %d, from %s to %s", len(got), got[0].Turn, got[len(got)-1].Turn)
	}
}

func TestCountingAllocatesNothing(t *testing.T) {
	r, now := New(time.Now()), time.Now()
	ended := turn("a", time.Second)
	if n := testing.AllocsPerRun(100, func() {
		now = now.Add(time.Second)
		r.TurnEnded(now, ended)
		r.Called(now, 1, 1, 1)
		r.Answered(now, time.Second)
		r.Sampled(now, Levels{Running: 1})
	}); n > 0 {
		t.Errorf("a turn allocates %.0f times in the ring", n)
	}
}

// BenchmarkATurn is what the ring costs one turn with two model calls.
func BenchmarkATurn(b *testing.B) {
	r, now := New(time.Now()), time.Now()
	ended := turn("a", time.Second)
	for b.Loop() {
		now = now.Add(time.Millisecond)
		r.Sampled(now, Levels{Running: 1})
		for range 2 {
			r.Answered(now, time.Second)
			r.Called(now, 1, 1, 1)
		}
		r.TurnEnded(now, ended)
	}
}

// BenchmarkShow is an answer about a full day.
func BenchmarkShow(b *testing.B) {
	r, now := New(time.Now()), time.Now()
	for range 24 * 3600 {
		now = now.Add(time.Second)
		r.TurnEnded(now, turn("a", time.Second))
		r.Answered(now, time.Second)
	}
	for b.Loop() {
		r.Show(now, 24*time.Hour)
	}
}
