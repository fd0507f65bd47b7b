package health

import (
	"testing"
	"time"
)

const day = 24 * time.Hour

// HF21: the clock is expected where the last life left it, and from then on where the monotonic clock takes it.
func TestHF21_AClockThatIsElsewhereIsDoubted(t *testing.T) {
	left := time.Date(2026, 11, 22, 4, 0, 0, 0, time.UTC)
	type look struct {
		wall    time.Time
		elapsed time.Duration
		doubted bool
	}
	for _, tc := range []struct {
		name      string
		confirmed bool
		looks     []look
	}{
		{"a restart", false, []look{{left.Add(time.Minute), 0, false}}},
		{"a night down", false, []look{{left.Add(10 * time.Hour), 0, false}}},
		{"a week down", false, []look{{left.Add(7 * day), 0, false}}},
		{"two months down, and no time service", false, []look{{left.Add(60 * day), 0, true}}},
		{"two months down, and a time service vouches for it", true, []look{{left.Add(60 * day), 0, false}, {left.Add(60*day + time.Hour), time.Hour, false}}},
		{"a battery that died: 1970", false, []look{{time.Unix(0, 0), 0, true}}},
		{"a correction of seconds", false, []look{{left.Add(-30 * time.Second), 0, false}}},
		{"a year ahead, then corrected", false, []look{
			{left.Add(365 * day), 0, true}, {left.Add(365*day + time.Minute), time.Minute, true}, {left.Add(2 * time.Minute), 2 * time.Minute, false},
		}},
		{"a step of a year while it runs", false, []look{
			{left, 0, false}, {left.Add(time.Hour), time.Hour, false}, {left.Add(365 * day), 2 * time.Hour, true}, {left.Add(3 * time.Hour), 3 * time.Hour, false},
		}},
		{"a year of running", false, []look{{left, 0, false}, {left.Add(365 * day), 365 * day, false}}},
		{"a machine asleep for a day, whose monotonic clock stood", false, []look{{left, 0, false}, {left.Add(day), time.Minute, false}, {left.Add(day + time.Minute), 2 * time.Minute, false}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &clock{confirmed: func(time.Time) bool { return tc.confirmed }}
			c.expect(left)
			was := false
			for i, l := range tc.looks {
				doubted, changed := c.look(l.wall, l.elapsed)
				if doubted != l.doubted || changed != (doubted != was) || c.ClockDoubted() != doubted || (c.warning().Code != "") != doubted {
					t.Errorf("look %d: doubted %v, changed %v, warning %+v; want doubted %v", i, doubted, changed, c.warning(), l.doubted)
				}
				was = doubted
			}
		})
	}
	fresh := &clock{}
	if doubted, _ := fresh.look(time.Unix(0, 0), 0); doubted {
		t.Error("a home without a life doubts its first clock")
	}
}

// A clock that counts the machine's sleep tells a sleep from a clock that was set: within a life every jump is doubted, and
// what the life before left is still compared as a time that no clock measured.
func TestAClockThatCountsSleepDoubtsEveryJumpOfItsLife(t *testing.T) {
	left := time.Date(2026, 11, 22, 4, 0, 0, 0, time.UTC)
	c := &clock{booted: func() time.Duration { return 0 }}
	c.expect(left)
	for _, look := range []struct {
		name    string
		wall    time.Time
		elapsed time.Duration
		doubted bool
	}{
		{"a start after two days down", left.Add(2 * day), 0, false},
		{"a sleep of a day", left.Add(3 * day), day, false},
		{"a jump of two days", left.Add(5*day + time.Minute), day + time.Minute, true},
		{"back in time", left.Add(3*day + 2*time.Minute), day + 2*time.Minute, false},
	} {
		if doubted, _ := c.look(look.wall, look.elapsed); doubted != look.doubted {
			t.Errorf("%s: doubted %v, want %v: %s", look.name, doubted, look.doubted, c.warning().Message)
		}
	}
}

// A life whose clock was set while it ran has lasted what the monotonic clock says.
func TestALifeWhoseClockWasSetHasLastedItsTime(t *testing.T) {
	slept := 10 * day // of which the monotonic clock knows nothing
	now := time.Now()
	for _, tc := range []struct {
		name    string
		started time.Time // by the wall clock of then
		elapsed time.Duration
		moved   bool
	}{
		{"no jump", now.Add(-time.Hour), time.Hour, false},
		{"a sleep of ten days", now.Add(-time.Hour - slept), time.Hour + slept, false},
		{"set back by ten years", now.Add(3652 * day), time.Hour, true},
		{"begun in 1970", time.Unix(0, 0), time.Hour, true},
		{"set ahead by two days", now.Add(-2 * day), time.Hour, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &clock{started: tc.started, booted: func() time.Duration { return tc.elapsed }}
			began := c.StartedAt(now)
			if moved := !began.Equal(tc.started); moved != tc.moved || moved && now.Sub(began) != tc.elapsed {
				t.Errorf("it is said to have begun at %s, %v before now", began, now.Sub(began))
			}
		})
	}
}
