package shutdown

import (
	"cmp"
	"time"

	"gatewaytui/core/ops"
)

// Hangs is the time of an Expected item that does not return.
const Hangs time.Duration = -1

// Expected is one item of a stop that has not begun: how long it takes from the beginning of its phase, or Hangs.
type Expected struct {
	Phase string
	Takes time.Duration
	// Why says for people what it is; Expect does not read it.
	Why string
}

// Expect is how long each phase of p takes, in order, in a stop of mode m under a service manager that kills after limit
// (0: unknown), if its items are as expected. A phase without an expected item takes no time. The executor keeps to the
// same rules: a phase costs its slowest item and at most its budget, and one without a budget costs at most what the
// earlier ones have left.
func (p Plan) Expect(limit time.Duration, m ops.Mode, items []Expected) []time.Duration {
	fitted, _ := p.Fit(limit)
	slowest := map[string]time.Duration{}
	for _, it := range items {
		switch was := slowest[it.Phase]; {
		case it.Takes < 0:
			slowest[it.Phase] = Hangs
		case was >= 0:
			slowest[it.Phase] = max(was, it.Takes)
		}
	}
	took := make([]time.Duration, len(fitted.Phases))
	var now time.Duration
	end := fitted.sum(m)
	rest := end // of the phases to come
	for i := range fitted.Phases {
		f := &fitted.Phases[i]
		if !f.runsIn(m) {
			continue
		}
		rest -= f.Budget
		most := allowed(f, end-rest-now, slackFor(limit))
		if took[i] = slowest[f.Name]; took[i] < 0 || took[i] > most {
			took[i] = most
		}
		now += took[i]
	}
	return took
}

// allowed is the longest that f may take. last is how long the phases after it, which keep their time, leave it. A phase
// with a budget or a leeway has its own as well, less the cost of scheduling on a busy machine beyond a quarter of the
// slack. Any other phase has what is left over.
func allowed(f *Phase, last, slack time.Duration) time.Duration {
	budget := cmp.Or(f.Budget, max(f.Leeway, 0))
	if budget > 0 {
		return min(budget, last+slack/4)
	}
	return max(min(Instant, last), 0)
}

// Sum is the sum of some durations.
func Sum(ds []time.Duration) (sum time.Duration) {
	for _, d := range ds {
		sum += d
	}
	return sum
}
