package search

import (
	"testing"
	"testing/synctest"
	"time"
)

// CV13: turns go first: new messages wait until the store is quiet for a moment. Turns that never end keep them waiting for a bounded time.
func TestCV13_TheIndexYieldsToTurnsForABoundedTime(t *testing.T) {
	for name, tc := range map[string]struct {
		every, lasts time.Duration // a commit each, for so long
		want         time.Duration // from the first commit to when its message is taken
	}{
		"one turn":                 {every: time.Hour, lasts: time.Millisecond, want: gather},
		"a burst of turns":         {every: 10 * time.Millisecond, lasts: time.Second, want: time.Second - 10*time.Millisecond + gather},
		"turns that never end":     {every: 10 * time.Millisecond, lasts: time.Hour, want: mostBehind},
		"a turn now and then":      {every: gather + 20*time.Millisecond, lasts: time.Hour, want: gather},
		"commits just in a gather": {every: gather - 20*time.Millisecond, lasts: time.Hour, want: mostBehind},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := make(chan struct{}, 1)
				p := &pace{store: store}
				if !p.ripe(time.Now()) {
					t.Error("what was there before the start has to wait")
				}
				began := time.Now()
				const look = 10 * time.Millisecond
				for next := began; ; time.Sleep(look) { // modelled: the goroutine looks again and again
					now := time.Now()
					if now.Sub(began) < tc.lasts && !now.Before(next) {
						next = next.Add(tc.every)
						select {
						case store <- struct{}{}:
						default:
						}
					}
					if p.ripe(now) {
						if got := now.Sub(began); got < tc.want || got > tc.want+look {
							t.Errorf("its message was taken after %v, want %v", got, tc.want)
						}
						return
					}
				}
			})
		})
	}
}
