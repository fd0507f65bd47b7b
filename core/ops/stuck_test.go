package ops

import (
	"testing"
	"time"
)

func TestATurnIsStuckAfterAMinuteWithoutAByteOrWhenTheGatewaySaysSo(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	before := func(d time.Duration) Time { return At(now.Add(-d)) }
	for _, c := range []struct {
		name string
		row  Session
		want bool
		says string
	}{
		{"a model may think for most of a minute", Session{
			State: SessionRunning, Turn: "t", Doing: DoingModelCall, DoingSince: before(59 * time.Second), LastProgressAt: before(59 * time.Second),
		}, false, "waiting for the model 0:59"},
		{"a minute without a byte from the model is stuck", Session{
			State: SessionRunning, Turn: "t", Doing: DoingModelCall, DoingSince: before(time.Minute), LastProgressAt: before(time.Minute),
		}, true, "no output for 1:00: waiting for the model"},
		{"a long command that writes is not stuck", Session{
			State: SessionRunning, Turn: "t", Doing: "terminal: pytest", DoingSince: before(40 * time.Minute), LastProgressAt: before(time.Second),
		}, false, "running pytest 40:00"},
		{"a turn that never moved counts from its start", Session{State: SessionRunning, Turn: "t", TurnStartedAt: before(2 * time.Minute)}, true, "no output for 2:00: running"},
		{"what the gateway calls stalled is stuck at once", Session{
			State: SessionStalled, Turn: "t", Doing: DoingModelCall, LastProgressAt: before(5 * time.Second),
		}, true, "no output for 0:05: waiting for the model"},
		{"a turn that waits for a bound of the gateway is not stuck", Session{
			State: SessionWaiting, Turn: "t", Doing: DoingModelCall, WaitingFor: "limits.model_calls", LastProgressAt: before(time.Hour),
		}, false, "waiting for limits.model_calls 1:00:00"},
		{"an idle session is never stuck", Session{State: SessionIdle, LastProgressAt: before(time.Hour)}, false, ""},
		{"text that arrives differs from silence", Session{
			State: SessionRunning, Turn: "t", Doing: DoingModelAnswer, DoingSince: before(5 * time.Second), LastProgressAt: before(0),
		}, false, "receiving the answer 0:05"},
	} {
		if got := c.row.Stuck(now); got != c.want {
			t.Errorf("%s: stuck is %v", c.name, got)
		}
		if got := c.row.Activity(now); got != c.says {
			t.Errorf("%s: it says %q, want %q", c.name, got, c.says)
		}
	}
}

func TestThePaceOfAnItem(t *testing.T) {
	const sec = time.Second
	for _, c := range []struct {
		name string
		w    Wait
		want Pace
	}{
		{"a turn in the drain does its work for as long as it has time", Wait{Phase: Phase{Name: "drain", PhaseRules: PhaseRules{Then: ThenInterrupted}}, Item: Item{Kind: "turn", BudgetMS: 60_000}, Used: 59 * sec, Quiet: 59 * sec}, PaceNormal},
		{"a turn in the drain without a byte for a minute is stuck", Wait{Phase: Phase{Name: "drain", PhaseRules: PhaseRules{Then: ThenInterrupted}}, Item: Item{Kind: "turn", BudgetMS: 90_000}, Used: 61 * sec, Quiet: 60 * sec}, PaceStuck},
		{"a turn that the gateway calls stalled is stuck", Wait{Phase: Phase{Name: "drain", PhaseRules: PhaseRules{Then: ThenInterrupted}}, Item: Item{Kind: "turn", BudgetMS: 60_000}, Session: SessionStalled, Used: sec, Quiet: sec}, PaceStuck},
		{"a turn that was interrupted should end soon", Wait{Phase: Phase{Name: "interrupt"}, Item: Item{Kind: "turn", BudgetMS: 4500}, Used: 3 * sec, Quiet: sec}, PaceSlow},
		{"a turn over its grace is stuck", Wait{Phase: Phase{Name: "interrupt"}, Item: Item{Kind: "turn", BudgetMS: 4500}, Used: 5 * sec, Quiet: sec}, PaceStuck},
		{"an adapter that is silent for 3 s is slow", Wait{Phase: Phase{Name: "adapters"}, Item: Item{Kind: "adapter", BudgetMS: 20_000}, Used: 4 * sec, Quiet: 3 * sec}, PaceSlow},
		{"an adapter that is silent for 5 s is stuck", Wait{Phase: Phase{Name: "adapters"}, Item: Item{Kind: "adapter", BudgetMS: 20_000}, Used: 6 * sec, Quiet: 5 * sec}, PaceStuck},
		{"an item without a budget is not over it", Wait{Phase: Phase{Name: "adapters"}, Item: Item{Kind: "adapter"}, Used: sec}, PaceNormal},
	} {
		if got := c.w.Pace(); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
