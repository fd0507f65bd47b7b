package shutdown

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/core/ops"
)

// The forecast of a stop and its executor agree, for any items that hang.
func TestS2_AStopTakesWhatIsExpectedOfItsItems(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		while := rapid.Custom(func(rt *rapid.T) time.Duration {
			return time.Duration(rapid.Int64Range(0, 9000).Draw(rt, "ms")) * time.Millisecond
		})
		b := Budgets{
			Drain: 7 * while.Draw(rt, "drain"), Notify: while.Draw(rt, "notify"), InterruptGrace: while.Draw(rt, "interrupt"), KillGrace: while.Draw(rt, "kill"),
			Agent: while.Draw(rt, "agent"), Adapter: while.Draw(rt, "adapter"), Background: while.Draw(rt, "background"), Store: while.Draw(rt, "store"),
		}
		var limit time.Duration
		if rapid.Bool().Draw(rt, "limited") {
			limit = 2*time.Second + 6*while.Draw(rt, "limit")
		}
		mode := rapid.SampledFrom(ops.Modes).Draw(rt, "mode")
		var expected []Expected
		for _, name := range names(Standard(b)) {
			for range rapid.IntRange(0, 3).Draw(rt, name) {
				e := Expected{Phase: name, Takes: while.Draw(rt, "takes")}
				if rapid.IntRange(0, 3).Draw(rt, "hangs") == 0 {
					e.Takes = Hangs
				}
				expected = append(expected, e)
			}
		}
		want := Sum(Standard(b).Expect(limit, mode, expected))
		got := executed(t, Standard(b), limit, mode, expected)
		if off := (got - want).Abs(); off > 10*time.Millisecond {
			rt.Errorf("the stop took %s, expected were %s", got, want)
		}
	})
}

// executed is how long a stop takes whose items are as expected and look at no context, in virtual time.
func executed(t *testing.T, plan Plan, limit time.Duration, mode ops.Mode, expected []Expected) (took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer synctest.Wait()
		defer close(release)
		for _, e := range expected {
			p := plan.Phase(e.Phase)
			earlier := p.List
			p.List = func(ctx context.Context, r *Run) (all []Item) {
				if earlier != nil {
					all = earlier(ctx, r)
				}
				return append(all, Item{Kind: "task", ID: "x", Run: func(context.Context) error {
					var over <-chan time.Time // never, for one that hangs
					if e.Takes >= 0 {
						over = time.After(e.Takes)
					}
					select {
					case <-over:
					case <-release:
					}
					return nil
				}})
			}
		}
		r := Start(plan, Options{Mode: mode, Limit: limit, Exit: noExit(t)})
		<-r.Done()
		took = time.Duration(r.Report().ElapsedMS) * time.Millisecond
	})
	return took
}
